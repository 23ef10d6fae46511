"""What the package as a whole promises: it is light to import, its names are there, and its documentation is
true."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import ragcore
from lectern import settings

ROOT = Path(__file__).parents[1]
PACKAGES = ["ragcore", *(f"ragcore.{found.name}" for found in pkgutil.iter_modules(ragcore.__path__))]
NAMED_MODELS = """
import ragcore.telemetry
from ragcore.embeddings import HuggingFaceEmbedding, OllamaEmbedding, OpenAIEmbedding
from ragcore.llms import Ollama, OpenAI, ScriptedLLM
from ragcore.observe import add_listener

HuggingFaceEmbedding("BAAI/bge-base-en-v1.5")
Ollama(model="llama3", request_timeout=360.0)
"""
HEAVY = {
    "torch",
    "streamlit",
    "tiktoken",
    "transformers",
    "sentence_transformers",
    "pandas",
    "lxml",
    "httpx",
    "tokenizers",
}


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def loaded_by(program: str) -> set[str]:
    names = json.loads(
        run(f"import sys, json\n{program}\nprint(json.dumps(sorted(sys.modules)))").splitlines()[-1]
    )
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("import ragcore, ragcore.evaluation, ragcore.query_engine", HEAVY | {"numpy", "pydantic"}),
        (NAMED_MODELS, HEAVY - {"httpx"} | {"numpy", "openai", "opentelemetry"}),
        ("from ragcore import *", HEAVY),
    ],
)
def test_import_loads_nothing_heavy(program: str, heavy: set[str]) -> None:
    assert not loaded_by(program) & heavy


def test_import_is_fast() -> None:
    program = "import time; began = time.process_time(); import ragcore; print(time.process_time() - began)"
    seconds = [float(run(program)) for _ in range(3)]
    assert min(seconds) < 0.15


def test_opening_a_library_and_listing_it_loads_no_model(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from lectern.library import Library\n"
        f"library = Library.open(Path({str(tmp_path)!r})); library.files.all(); "
        "library.conversations.all(); library.status()"
    )
    assert not loaded_by(program) & HEAVY


def test_the_bundled_embedder_loads_no_more_than_it_needs() -> None:
    loaded = loaded_by("from ragcore.embeddings import HuggingFaceEmbedding; HuggingFaceEmbedding().warm()")
    assert "torch" in loaded
    # "sympy" comes with torch's compiler, which takes longer than the model.
    assert not loaded & {"transformers", "sentence_transformers", "sklearn", "scipy", "pandas", "sympy"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_exists_and_a_wrong_one_is_reported(package: str) -> None:
    module = import_module(package)
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert {*getattr(module, "__all__", ())} <= names.keys()
    with pytest.raises(AttributeError, match="VectorStorIndex"):
        _ = module.VectorStorIndex


def test_the_documentation_gives_the_licence_of_every_dependency() -> None:
    licences = (ROOT / "docs" / "licences.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(one for extra in extras.values() for one in extra)]:
        name = re.split(r"[<>=\[]", requirement)[0]
        assert re.search(rf"\| {re.escape(name)} \| [^|]*\| [A-Z]", licences), (
            f"{name} is not in the table of licences"
        )


def test_the_documentation_gives_the_defaults_of_the_settings() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    defaults = settings.AppSettings()
    for line, value in [
        ("context window", f"{defaults.llm.context_window:,}"),
        ("Room for the answer", str(defaults.llm.num_output)),
        ("temperature", str(defaults.llm.temperature)),
        ("time-out", f"{defaults.llm.timeout:.0f}"),
        ("Passages per answer", str(defaults.answers.top_k)),
        ("Passage size, overlap", f"{defaults.ingest.chunk_size}, {defaults.ingest.chunk_overlap}"),
        ("Largest file, largest text", f"{defaults.ingest.max_file_mb}, {defaults.ingest.max_text_mb}"),
    ]:
        assert re.search(rf"{line}\W.*\| {re.escape(value)} \|", page), line
