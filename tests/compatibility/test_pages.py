"""What the measure reads of a page, and what it takes for imported."""

import json
from pathlib import Path

import pytest

from tests.compatibility.pages import cells, data_paths, imports
from tests.compatibility.server import example_of
from tests.compatibility.shim import _Missing, strictly
from tests.compatibility.suite import names_aside


def test_the_cells_of_a_page_are_its_python(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text\n\n  ```python\n  %pip install x\n  a = 1\n  ```\n\n```bash\nls\n```\n", "utf-8")
    assert [cell.strip() for cell in cells(page)] == ["a = 1"]
    notebook = tmp_path / "page.ipynb"
    notebook.write_text(
        json.dumps(
            {"cells": [{"cell_type": "code", "source": ["b = 2\n", "!ls"]}, {"cell_type": "markdown"}]}
        )
    )
    assert cells(notebook) == ["b = 2\n"]


def test_imports_are_read_in_every_form() -> None:
    code = (
        "from llama_index.core.llms import (\n    ChatMessage as Message,  # it\n    LLM,\n)\nimport "
        "llama_index.core.tools\n"
    )
    assert imports(code) == {
        ("llama_index.core.llms", "ChatMessage"),
        ("llama_index.core.llms", "LLM"),
        ("llama_index.core.tools", ""),
    }


def test_a_name_counts_where_its_own_path_has_it() -> None:
    assert strictly("llama_index.core.vector_stores.types", "MetadataFilters")
    assert strictly("llama_index.core", "VectorStoreIndex")
    assert not strictly("llama_index.core", "MetadataFilters")
    assert not strictly("llama_index.core.nothing")


def test_data_paths_are_extracted_and_examples_fit_a_schema() -> None:
    assert list(data_paths("read('./data/essay.txt')\nsay('data is all')")) == ["./data/essay.txt"]
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"enum": ["a"]}}},
    }
    assert example_of(schema, {}) == {"n": 1, "tags": ["a"]}


def test_tests_of_private_or_missing_parts_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "from llama_index.core.x import _hidden\ndef test_a():\n  _hidden()\ndef test_b(x):\n  x._y\n"
        "def test_c(x):\n  x.y\n"
        "def test_d():\n  SQLDatabase()\ndef test_e(x):\n  x.sql_store\ndef test_f():\n  ImageNode()\n"
        "def test_g():\n  ImageBlock()\n"
    )
    assert names_aside(file) == {"test_a", "test_b", "test_d", "test_e", "test_f"}


def test_a_placeholder_can_be_patched_and_fails_when_it_is_used() -> None:
    placeholder = type("LLMPredictor", (_Missing,), {})
    for use in (placeholder, placeholder.predict):
        with pytest.raises(NotImplementedError, match="ragcore has no LLMPredictor"):
            use()
