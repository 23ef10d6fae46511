"""The model's server: OpenAI's wire format on a port of loopback, and what llama.cpp tells beyond it.

`python -m benchmarks.written_answers.model_server FILE.gguf THREADS` serves the file with xllamacpp, prints
the address, and ends when its standard input does.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

LOAD_SECONDS = 120.0
CALL_SECONDS = 280.0
WINDOW = 8192  # tokens, as the application's settings have it by default
SLOTS = 2
MOST_LIKELY = 20  # tokens that the server lists with their probabilities
ANSWERABLE = "\n\nDo the passages hold the answer to this question? Reply with yes or no alone."


class ModelServer:
    """One that is running at `url`, such as http://127.0.0.1:8080."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self._client = httpx.Client(base_url=self.url, timeout=CALL_SECONDS)
        self.model: str = Path(
            str(self._client.get("/v1/models").raise_for_status().json()["data"][0]["id"])
        ).name

    def verdict(self, messages: Sequence[Sequence[str]]) -> dict[str, float] | None:
        """Whether the passages of these messages, pairs of role and text, answer their question: natural-log
        probabilities of yes and no as first token, and their difference. None where the server gives no
        probabilities."""
        *others, (role, text) = messages
        sent = [{"role": each[0], "content": each[1]} for each in others] + [
            {"role": role, "content": text + ANSWERABLE}
        ]
        options = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": MOST_LIKELY}
        reply = self._client.post(
            "/v1/chat/completions", json={"model": self.model, "messages": sent, **options}
        )
        listed = (reply.raise_for_status().json()["choices"][0].get("logprobs") or {}).get("content")
        return _verdict(listed[0]["top_logprobs"]) if listed else None

    def prompt_seconds(self) -> float | None:
        """What the server has spent on reading prompts since it started; None where it does not tell."""
        reply = self._client.get("/metrics")
        match = re.search(r"^llamacpp:prompt_seconds_total (\S+)$", reply.text, re.MULTILINE)
        return float(match.group(1)) if reply.is_success and match else None


def _verdict(likely: Sequence[Mapping[str, float | str]]) -> dict[str, float]:
    lowest = min(float(each["logprob"]) for each in likely)

    def log_probability(word: str) -> float:
        shares = [
            math.exp(float(each["logprob"])) for each in likely if str(each["token"]).strip().lower() == word
        ]
        return math.log(sum(shares)) if shares else lowest  # less likely than all that are listed

    yes, no = log_probability("yes"), log_probability("no")
    return {"yes": yes, "no": no, "log_odds": yes - no}


@contextmanager
def run_server(model: Path, threads: int) -> Iterator[str]:
    """The address of a server of this file, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.written_answers.model_server", str(model), str(threads)]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        address = next((line.strip() for line in server.stdout if line.startswith("http://")), "")
        if not address:
            raise SystemExit(f"{model} could not be served: run {' '.join(command)} to see why")
        _wait_until_loaded(address)
        yield address
    finally:
        server.stdin.close()
        server.wait(timeout=30)


def _wait_until_loaded(address: str) -> None:
    give_up = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < give_up:
        try:
            if httpx.get(f"{address}/health", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"the server at {address} has not loaded its model in {LOAD_SECONDS:.0f} s")


def serve(model: str, threads: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel = WINDOW * SLOTS, SLOTS
    params.use_jinja, params.offline, params.ui, params.endpoint_metrics = True, True, False, True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
