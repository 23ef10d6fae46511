"""LlamaIndex's side, in its own interpreter: `python -m benchmarks.written_answers.peer URL MODEL`.

Each line of JSON is a request with "do", see `Peer`; the line that comes back is its outcome, or {"problem":
...}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TEMPERATURE, OUTPUT, WINDOW = 0.1, 768, 8192  # as in the application's settings
SECONDS = 280.0  # for a call
ROOT = Path(__file__).parents[2]


class PeerProcess:
    """Talks to it."""

    def __init__(self, python: str, url: str, model: str) -> None:
        command = [python, "-W", "ignore", "-m", "benchmarks.written_answers.peer", url, model]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "IS_TESTING": "1"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment,
            cwd=ROOT,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            print(json.dumps(request), file=self._process.stdin, flush=True)
        if not (line := self._process.stdout.readline()):
            raise SystemExit("the peer ended; what it says stands above. It needs llama-index-core 0.14.25")
        outcome: dict[str, Any] = json.loads(line)
        return outcome

    def close(self) -> None:
        self._process.communicate()


def model(url: str, name: str) -> Any:
    import httpx
    from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata

    class Served(CustomLLM):
        @property
        def metadata(self) -> Any:
            return LLMMetadata(context_window=WINDOW, num_output=OUTPUT, is_chat_model=True, model_name=name)

        def chat(self, messages: Any, **options: Any) -> Any:
            sent = [{"role": each.role.value, "content": each.content or ""} for each in messages]
            body = {"model": name, "messages": sent, "temperature": TEMPERATURE, "max_tokens": OUTPUT}
            reply = (
                httpx.post(f"{url}/v1/chat/completions", json=body, timeout=SECONDS).raise_for_status().json()
            )
            return ChatResponse(
                message=ChatMessage(role="assistant", content=reply["choices"][0]["message"]["content"] or "")
            )

        def complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
            return CompletionResponse(
                text=self.chat([ChatMessage(role="user", content=prompt)]).message.content or ""
            )

        def stream_chat(self, messages: Any, **options: Any) -> Any:
            yield self.chat(messages)

        def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
            yield self.complete(prompt)

    return Served()


class Peer:
    """The requests: each is a method, and its arguments are those of the line."""

    def __init__(self, llm: Any) -> None:
        self._llm = llm

    def answer(self, question: str, passages: list[str], mode: str) -> dict[str, Any]:
        from llama_index.core import get_response_synthesizer
        from llama_index.core.response_synthesizers import ResponseMode
        from llama_index.core.schema import NodeWithScore, TextNode

        nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in passages]
        synthesizer = get_response_synthesizer(self._llm, response_mode=ResponseMode(mode))
        return {"answer": str(synthesizer.synthesize(question, nodes))}

    def select(self, question: str, choices: Mapping[str, str]) -> dict[str, Any]:
        from llama_index.core.selectors import LLMMultiSelector

        result = LLMMultiSelector.from_defaults(llm=self._llm).select(self._tools(choices), question)
        names = list(choices)
        return {"chosen": [names[each.index] for each in result.selections if 0 <= each.index < len(names)]}

    def divide(self, question: str, choices: Mapping[str, str]) -> dict[str, Any]:
        from llama_index.core.question_gen import LLMQuestionGenerator
        from llama_index.core.schema import QueryBundle

        sub_questions = LLMQuestionGenerator.from_defaults(llm=self._llm).generate(
            self._tools(choices), QueryBundle(question)
        )
        parts = [{"sub_question": each.sub_question, "tool_name": each.tool_name} for each in sub_questions]
        return {"chosen": list(dict.fromkeys(part["tool_name"] for part in parts)), "parts": parts}

    def _tools(self, choices: Mapping[str, str]) -> Any:
        from llama_index.core.tools import ToolMetadata

        return [ToolMetadata(name=name, description=description) for name, description in choices.items()]


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the peer prints is no outcome
    core = find_spec("llama_index.core")
    assert core is not None, "needs llama-index-core==0.14.25"
    assert core.origin is not None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(core.origin).parent / "_static" / "tiktoken_cache")
    peer = Peer(model(*sys.argv[1:3]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            outcome = getattr(peer, request.pop("do"))(**request)
        except Exception as error:  # noqa: BLE001 whatever it raises is its outcome
            outcome = {"problem": f"{type(error).__name__}: {error}"}
        print(json.dumps(outcome), file=out, flush=True)


if __name__ == "__main__":
    main()
