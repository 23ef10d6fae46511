"""llama.cpp with a real model: it answers, two at once, goes on after a crash, and stops when it is told
to."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ragcore.llms.base import LLMCall
from ragcore.llms.call_queue import CallCancelledError, Cancellation, cancellable
from ragcore.llms.http_errors import BrokenOffError
from ragcore.llms.llama_cpp import LlamaCPP
from ragcore.prompts.wording import GENERATION
from tests.real_model import real_model

pytestmark = pytest.mark.timeout(240)

FRANCE = LLMCall(GENERATION, {"query_str": "What is the capital of France? One word."})
TALE = LLMCall(GENERATION, {"query_str": "Tell a long fairy tale."})


@pytest.fixture(scope="module")
def llm() -> Iterator[LlamaCPP]:
    llm = LlamaCPP(model_path=real_model(), max_new_tokens=200, context_window=4096)
    yield llm
    llm.runtime.stop()


def test_two_parallel_questions_are_answered_and_speed_measured(llm: LlamaCPP) -> None:
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(llm.generate, [FRANCE, FRANCE])
    assert "Paris" in first.text
    assert "Paris" in second.text
    assert llm.speed is not None
    assert llm.speed.prompt_tokens_per_second > 1
    again = llm.generate(FRANCE)
    assert again.usage.cached_tokens
    assert again.usage.cached_tokens > again.usage.prompt_tokens / 2


def test_a_crash_in_mid_answer_and_the_next_question(llm: LlamaCPP) -> None:
    with closing(llm.stream(TALE)) as pieces:
        said = [next(pieces), next(pieces)]
        assert llm.runtime.pid is not None
        os.kill(llm.runtime.pid, signal.SIGKILL)
        with pytest.raises(BrokenOffError) as caught:
            said.extend(pieces)
    assert caught.value.partial == "".join(said)
    assert "Paris" in llm.generate(FRANCE).text


def test_stop_while_a_long_prompt_is_read(llm: LlamaCPP) -> None:
    llm.generate(FRANCE)
    cancellation = Cancellation()
    long = LLMCall(GENERATION, {"query_str": "The ferry leaves at nine. " * 400 + "When does it leave?"})

    def ask() -> str:
        with cancellable(cancellation):
            return llm.generate(long).text

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(ask)
        time.sleep(1.0)
        began = time.monotonic()
        cancellation.cancel()
        with pytest.raises(CallCancelledError):
            running.result(2)
        assert time.monotonic() - began < 1
    assert "Paris" in llm.generate(FRANCE).text
    assert time.monotonic() - began < 60  # the rest of the prompt, which has 2,400 tokens, was not read
