"""The process in which llama.cpp runs, with a tiny model of random weights: its beginning, its end, and what
it answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from ragcore.errors import LLMServerError
from ragcore.llms import llama_cpp_runtime, local_resources
from ragcore.llms.base import LLMCall
from ragcore.llms.call_queue import CallCancelledError, Cancellation, cancellable
from ragcore.llms.gguf_header import ModelFileError, read_header
from ragcore.llms.http_errors import BrokenOffError
from ragcore.llms.llama_cpp import LlamaCPP
from ragcore.llms.llama_cpp_runtime import NotEnoughMemoryError
from ragcore.prompts.wording import GENERATION
from tests.tiny_model import CONTEXT, HEADS, LAYERS, WIDTH, write_tiny_model

pytest.importorskip("xllamacpp")

ROOT = Path(__file__).parents[3]
CALL = LLMCall(GENERATION, {"query_str": "Hello"})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture
def opened(model: Path) -> Iterator[Callable[..., LlamaCPP]]:
    llms: list[LlamaCPP] = []

    def open_it(path: Path = model, **options: object) -> LlamaCPP:
        llms.append(LlamaCPP(model_path=path, **{"max_new_tokens": 30, "threads": 1, **options}))  # type: ignore[arg-type]
        return llms[-1]

    yield open_it
    for llm in llms:
        llm.runtime.stop()


def pid_of(llm: LlamaCPP) -> int:
    assert llm.runtime.pid is not None
    return llm.runtime.pid


def ends_within(seconds: float, pid: int) -> bool:
    give_up = time.monotonic() + seconds
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.02)
    return True


def test_process_starts_with_the_first_question_and_is_shared(opened: Callable[..., LlamaCPP]) -> None:
    first, second = opened(), opened(temperature=0.9)
    assert first.runtime.pid is None
    answer = first.complete("Hello")
    pid = pid_of(first)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda llm: llm.complete("Hello").text, [first, second] * 3))
    assert all(answers)
    assert pid_of(second) == pid
    assert answer.raw.usage.prompt_tokens > 5
    assert not answer.raw.usage.estimated
    assert first.speed is not None
    assert first.speed.completion_tokens_per_second > 1


def test_what_a_server_remembers_of_a_prompt_is_counted(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened()
    llm.complete("word " * 100)
    again = llm.complete("word " * 100)
    assert again.raw.usage.cached_tokens > again.raw.usage.prompt_tokens / 2


def test_it_has_a_key_and_listens_on_this_computer_only(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened()
    llm.complete("Hello")
    (listening,) = [
        at.laddr for at in psutil.Process(pid_of(llm)).net_connections() if at.status == psutil.CONN_LISTEN
    ]
    assert listening.ip == "127.0.0.1"
    url = f"http://127.0.0.1:{listening.port}"
    assert httpx.post(f"{url}/v1/chat/completions", json={"messages": []}).status_code == 401
    assert httpx.get(f"{url}/props").status_code == 401
    shown = " ".join(psutil.Process(pid_of(llm)).cmdline())
    assert llm.runtime._running is not None
    assert llm.runtime._running.server._key not in shown


def test_a_model_that_can_think_first_does_not(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened()
    llm.complete("Hello")
    assert llm.runtime._running is not None
    server = llm.runtime._running.server
    headers = {"Authorization": f"Bearer {server._key}"}
    asked = {"messages": [{"role": "user", "content": "Hello"}]}
    reply = httpx.post(f"{server.url.removesuffix('/v1')}/apply-template", json=asked, headers=headers)
    assert "</think>" in reply.raise_for_status().json()["prompt"]


def test_process_ends_when_idle_and_starts_again(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened(idle_seconds=1.0)
    llm.complete("Hello")
    pid = pid_of(llm)
    time.sleep(0.6)
    llm.complete("Hello")  # which begins the while anew
    time.sleep(0.6)
    assert pid_of(llm) == pid
    assert ends_within(3, pid)
    assert llm.complete("Hello").text
    assert pid_of(llm) != pid


def test_it_does_not_end_while_an_answer_is_written(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened(idle_seconds=0.3, max_new_tokens=3900)
    with closing(llm.stream(CALL)) as pieces:
        next(pieces)
        pid = pid_of(llm)
        time.sleep(0.8)
        assert "".join(pieces)
    assert ends_within(3, pid)


def test_a_question_is_repeated_after_a_crash(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened()
    llm.complete("Hello")
    pid = pid_of(llm)
    os.kill(pid, signal.SIGKILL)
    assert llm.complete("Hello").text
    assert pid_of(llm) != pid


def test_a_crash_in_mid_answer_is_reported_after_its_text(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened(max_new_tokens=3000)
    with closing(llm.stream(CALL)) as pieces:
        said = [next(pieces)]
        os.kill(pid_of(llm), signal.SIGKILL)
        with pytest.raises(BrokenOffError) as caught:
            said.extend(pieces)
    assert caught.value.partial == "".join(said) != ""
    assert "stopped in the middle of the answer" in caught.value.what
    assert llm.complete("Hello").text


def test_crash_before_the_first_word_is_retried_unnoticed(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened(max_new_tokens=3900)
    llm.complete("Hello")
    killed = pid_of(llm)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(llm.generate, CALL)
        time.sleep(0.15)
        os.kill(killed, signal.SIGKILL)
        assert answer.result(30).usage.completion_tokens == 3900
    assert pid_of(llm) != killed


def test_two_questions_at_once(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened(max_new_tokens=300)
    first, second = llm.stream(CALL), llm.stream(CALL)

    def read(pieces: Iterator[str]) -> list[float]:
        return [time.monotonic() for _ in pieces]

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(read, (first, second))
    assert max(one[0], other[0]) < min(one[-1], other[-1])


def test_stop_in_mid_answer_frees_the_server(opened: Callable[..., LlamaCPP]) -> None:
    llm = opened(max_new_tokens=3900, calls_at_once=1)
    llm.complete("Hello")
    pid, cancellation = pid_of(llm), Cancellation()

    def long_answer() -> str:
        with cancellable(cancellation):
            return llm.generate(CALL).text

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(long_answer)
        time.sleep(0.2)
        cancellation.cancel()
        with pytest.raises(CallCancelledError):
            running.result(2)
    began = time.monotonic()
    with closing(llm.stream(CALL)) as pieces:
        assert next(pieces)
    assert time.monotonic() - began < 1
    assert pid_of(llm) == pid


@pytest.mark.parametrize("how", ["ends", "is killed", "forks and is killed"])
def test_it_ends_with_the_process_that_started_it(model: Path, how: str) -> None:
    script = textwrap.dedent(f"""
        import os, sys, time
        from ragcore.llms.llama_cpp import LlamaCPP
        llm = LlamaCPP(model_path={str(model)!r}, max_new_tokens=5, threads=1)
        llm.complete("Hello")
        print(llm.runtime.pid, flush=True)
        if {how == "forks and is killed"} and os.fork() == 0:
            time.sleep(20)  # it holds all that its parent had open
        if {how != "ends"}:
            time.sleep(60)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        children = psutil.Process(parent.pid).children()
        if how != "ends":
            assert psutil.pid_exists(pid)
            parent.kill()
        assert ends_within(5, pid)
        for child in children:
            if child.pid != pid:
                child.kill()


def test_memory_limits_the_slots_each_with_the_full_context(
    opened: Callable[..., LlamaCPP], model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = read_header(model)
    for slots in (1, 2, 4):
        free = header.memory(CONTEXT * slots) + llama_cpp_runtime.RESERVE
        monkeypatch.setattr(llama_cpp_runtime, "free_memory", lambda free=free: free)
        llm = opened(idle_seconds=100 + slots)
        assert llm.metadata.context_window == CONTEXT
        llm.complete("Hello")
        assert llm.runtime._running is not None
        with (
            llm.runtime.in_use() as server,
            server._send("GET", server.url.replace("/v1", "/props"), None) as response,
        ):
            response.read()
            props = response.json()
        assert props["total_slots"] == slots
        assert props["default_generation_settings"]["n_ctx"] == CONTEXT
        llm.runtime.stop()


def test_too_little_memory_is_reported_before_the_start(
    opened: Callable[..., LlamaCPP], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_cpp_runtime, "free_memory", lambda: 400_000_000)
    llm = opened()
    with pytest.raises(
        NotEnoughMemoryError, match=r"tiny\.gguf needs about 0\.3 GB of memory, but only 0\.1 GB are free\."
    ):
        llm.complete("Hello")
    assert llm.runtime.pid is None
    monkeypatch.undo()
    assert llm.complete("Hello").text


def test_a_model_that_loads_too_long_is_aborted(
    opened: Callable[..., LlamaCPP], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "server.py"
    hanging.write_text("import time\ntime.sleep(60)", "utf-8")
    monkeypatch.setattr(llama_cpp_runtime, "SERVER", hanging)
    monkeypatch.setattr(llama_cpp_runtime, "LOAD_SECONDS", 0.2)
    with pytest.raises(LLMServerError, match="stopped while it was loading"):
        opened().complete("Hello")


def test_a_model_that_nobody_uses_gives_way_to_another(
    opened: Callable[..., LlamaCPP], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = opened(), opened(write_tiny_model(tmp_path / "other.gguf"))
    first.complete("Hello")
    pid = pid_of(first)
    monkeypatch.setattr(llama_cpp_runtime, "free_memory", lambda: 0 if psutil.pid_exists(pid) else 10**9)
    assert second.complete("Hello").text
    assert first.runtime.pid is None


def test_context_is_the_trained_one_or_less_in_little_memory(
    opened: Callable[..., LlamaCPP], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = write_tiny_model(tmp_path / "long.gguf", trained_context=100_000)
    assert opened(long, context_window=60_000).metadata.context_window == 60_000
    assert opened(long, context_window=200_000).metadata.context_window == 100_000
    free = read_header(long).memory(10_000) + llama_cpp_runtime.RESERVE
    monkeypatch.setattr(llama_cpp_runtime, "free_memory", lambda: free)
    assert opened(long, context_window=32_768).metadata.context_window == 8192
    monkeypatch.setattr(llama_cpp_runtime, "free_memory", lambda: 0)
    assert opened(long, context_window=32_767).metadata.context_window == 32_767 // 4
    assert opened(long, context_window=3000).metadata.context_window == 3000


def test_the_header_says_how_much_memory_it_takes(model: Path) -> None:
    header = read_header(model)
    assert (header.name, header.trained_context) == ("Tiny", CONTEXT)
    keys_and_values = 2 * LAYERS * HEADS * (WIDTH // HEADS) * 2  # of 2 bytes each
    assert header.cache_per_token == keys_and_values
    assert header.memory(1000) - header.memory(0) == 1000 * keys_and_values
    assert header.file_size == model.stat().st_size


@pytest.mark.parametrize(
    "kind", ["nothing", "missing", "text", "cut head", "cut tensors", "folder", "unknown kind"]
)
def test_a_file_that_is_no_model_is_reported(
    kind: str, model: Path, tmp_path: Path, opened: Callable[..., LlamaCPP]
) -> None:
    path, data = tmp_path / "broken.gguf", model.read_bytes()
    if kind == "folder":
        path.mkdir()
    elif kind == "unknown kind":
        write_tiny_model(path, architecture="nobody-knows")
    elif kind != "missing":
        contents = {
            "nothing": b"",
            "text": b"Dear all, " * 1000,
            "cut head": data[:300],
            "cut tensors": data[:-1000],
        }
        path.write_bytes(contents[kind])
    with pytest.raises(ModelFileError, match=r"broken\.gguf") as caught:
        opened(path).complete("Hello")
    assert caught.value.hint
    assert not caught.value.retryable


def test_a_missing_package_is_reported_with_its_install_line(
    opened: Callable[..., LlamaCPP], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_cpp_runtime, "find_spec", lambda name: None)
    with pytest.raises(Exception, match="The package xllamacpp is not installed") as caught:
        opened().complete("Hello")
    assert caught.value.hint == "Install it with: pip install xllamacpp"  # type: ignore[attr-defined]


def test_memory_of_a_container_counts_where_it_is_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < local_resources.free_memory() <= psutil.virtual_memory().total
    group = tmp_path / "cgroup" / "outer" / "inner"
    group.mkdir(parents=True)
    for folder, limit in ((group, "max"), (group.parent, "1000000")):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("700000\n")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 50000\n")
    (tmp_path / "own").write_text("0::/outer/inner\n")
    monkeypatch.setattr(local_resources, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(local_resources, "OWN_CGROUPS", tmp_path / "own")
    assert local_resources.free_memory() == 350_000


def test_no_more_threads_than_physical_cores() -> None:
    assert 1 <= local_resources.physical_cores() <= (os.cpu_count() or 1)
