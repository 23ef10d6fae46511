"""The OpenAI-compatible client against a server that others wrote: `transformers serve`, with a tiny model of
random weights.

It needs the packages of `pip install "transformers[serving]"`, and is skipped without them.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from lectern.models import check_connection
from lectern.settings import LLMSettings
from ragcore.errors import UnknownModelError
from ragcore.llms.base import LLMCall
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.prompts.wording import SIMPLE_CHAT

MISSING = [
    name for name in ("fastapi", "openai", "accelerate", "uvicorn") if importlib.util.find_spec(name) is None
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"transformers serve needs {', '.join(MISSING)}")

WORDS = [
    "the",
    "ferry",
    "leaves",
    "at",
    "nine",
    "system",
    "user",
    "assistant",
    "hello",
    "when",
    "be",
    "brief",
    ":",
    ".",
    "?",
]
CALL = LLMCall(SIMPLE_CHAT, {"system_prompt": "be brief .", "query_str": "hello when ?"})


@dataclass(frozen=True)
class Running:
    url: str
    model: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("served")
    model = folder / "tiny"
    make_model(model)
    (folder / "home" / "hub").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(model)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "home"),
    }
    log = folder / "log"
    with log.open("w") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield Running(f"http://127.0.0.1:{port}", str(model))
        finally:
            process.kill()


def make_model(folder: Path) -> None:
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokens = ["<unk>", "<s>", "</s>", *WORDS]
    tokenizer = Tokenizer(WordLevel({token: index for index, token in enumerate(tokens)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    fast.chat_template = (
        "{% for message in messages %}{{ message.role }} : {{ message.content }}\n{% endfor %}assistant :"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=256,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[:3] = (
            0.0  # words, and neither the end nor anything unknown, are what it likes to say
        )
    model.save_pretrained(folder)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(url, timeout=1, trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"transformers serve did not start: {log.read_text()[-2000:]}")


@pytest.fixture
def llm(running: Running) -> Iterator[OpenAICompatibleLLM]:
    with closing(OpenAICompatibleLLM(running.model, running.url, num_output=12, temperature=0.0)) as client:
        yield client


def test_an_answer_comes_whole_with_usage(llm: OpenAICompatibleLLM) -> None:
    generation = llm.generate(CALL)
    assert set(generation.text.split()) <= set(WORDS)
    assert generation.usage.prompt_tokens == 12  # system : be brief . user : hello when ? assistant :
    assert generation.usage.completion_tokens == 12
    assert not generation.usage.estimated
    assert generation.cut_short


def test_an_answer_comes_in_pieces_with_usage(llm: OpenAICompatibleLLM) -> None:
    whole = llm.generate(CALL)
    pieces, stream = [], llm.stream(CALL)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as stop:
            streamed = stop.value
            break
    assert len(pieces) > 1
    assert "".join(pieces) == streamed.text
    assert streamed.text.strip() == whole.text.strip()
    assert streamed.usage == whole.usage
    assert streamed.cut_short


def test_a_stream_closed_early_leaves_the_server_well(llm: OpenAICompatibleLLM) -> None:
    stream = llm.stream(CALL)
    next(stream)
    stream.close()
    assert llm.generate(CALL).text


def test_another_model_is_unknown(running: Running) -> None:
    with (
        closing(OpenAICompatibleLLM("gpt-9", running.url)) as llm,
        pytest.raises(UnknownModelError, match="no model 'gpt-9'"),
    ):
        llm.generate(CALL)


def test_the_connection_is_reported_as_working(running: Running) -> None:
    settings = LLMSettings(provider="openai_compatible", base_url=running.url, model=running.model)
    report = check_connection(settings, "")
    assert report.ok, report
    assert report.message.startswith("It works: ")
