"""What the packages of models offer by their own name, and what that costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize("package", ["ragcore.llms", "ragcore.embeddings"])
def test_every_name_is_there(package: str) -> None:
    module = import_module(package)
    for name in module.__all__:
        # types of generators, of several classes, and an alias
        if not name.endswith(("Gen", "Block", "CallingLLM")):
            assert getattr(module, name).__name__.startswith(name.removesuffix("Like"))
    with pytest.raises(AttributeError, match="Olama"):
        _ = module.Olama


def test_naming_a_model_loads_nothing_heavy() -> None:
    code = (
        "import sys; from ragcore.llms import Ollama, OpenAI, ScriptedLLM; from ragcore.observe import "
        "add_listener\n"
        "from ragcore.embeddings import HuggingFaceEmbedding, OllamaEmbedding, OpenAIEmbedding; import "
        "ragcore.telemetry\n"
        "HuggingFaceEmbedding('BAAI/bge-base-en-v1.5'); Ollama(model='llama3', request_timeout=360.0)\n"
        "heavy = {'torch', 'transformers', 'tiktoken', 'pandas', 'opentelemetry', 'openai', 'numpy'} & "
        "set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
