"""CodeSplitter: whole functions where they fit, never too long, nothing lost, and plain words where a package
is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragcore.node_parser.html
from ragcore.errors import ConfigError, MissingPackageError
from ragcore.llamaindex.node_parser import CodeSplitter
from ragcore.schema import Document

CODE = '''\
import os


def first(name):
    """The first."""
    return os.path.join("é", name)


class Second:
    """The second."""

    def one(self):
        return 1

    def two(self):
        return 2
'''


def test_chunks_are_whole_functions_with_their_indentation() -> None:
    assert CodeSplitter("python", chunk_lines=6, chunk_lines_overlap=0).split_text(CODE) == [
        'import os\n\n\ndef first(name):\n    """The first."""\n    return os.path.join("é", name)',
        'class Second:\n    """The second."""\n\n    def one(self):\n        return 1',
        "    def two(self):\n        return 2",
    ]


def test_the_overlap_repeats_whole_pieces_of_no_more_lines() -> None:
    chunks = CodeSplitter("python", chunk_lines=5, chunk_lines_overlap=2).split_text(CODE)
    assert chunks == [
        "import os",
        'def first(name):\n    """The first."""\n    return os.path.join("é", name)',
        'class Second:\n    """The second."""\n\n    def one(self):\n        return 1',
        "    def one(self):\n        return 1\n\n    def two(self):\n        return 2",
    ]


def test_what_fits_is_one_chunk() -> None:
    assert CodeSplitter.from_defaults("python").split_text(f"\n{CODE}\n") == [CODE.strip()]


def test_too_long_line_is_cut_at_its_parts_or_anywhere() -> None:
    splitter = CodeSplitter("python", max_chars=12, chunk_lines_overlap=0)
    assert splitter.split_text("a = 111; bcd = 222; e = 3") == ["a = 111;", "bcd = 222;", "e = 3"]
    assert splitter.split_text("x" * 30) == ["x" * 12, "x" * 12, "x" * 6]


LINES = st.sampled_from(
    [
        "def f(x):",
        "    return x",
        "class A:",
        "",
        "x = (1,",
        "   2)",
        "# é 漢字 😀",
        "y" * 50,
        "((((",
        "\tz = 1",
    ]
)


@given(
    lines=st.lists(LINES, max_size=25),
    chunk_lines=st.integers(1, 8),
    overlap=st.integers(0, 8),
    max_chars=st.integers(1, 60),
)
def test_nothing_is_lost_and_no_chunk_is_too_long(
    lines: list[str], chunk_lines: int, overlap: int, max_chars: int
) -> None:
    text = "\n".join(lines)
    splitter = CodeSplitter("python", chunk_lines, min(overlap, chunk_lines), max_chars)
    reached = 0
    for node in splitter([Document(text)]):
        assert node.start_char_idx is not None
        assert node.end_char_idx is not None
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        assert len(node.text) <= max_chars
        assert node.text.count("\n") < chunk_lines
        assert not text[reached : node.start_char_idx].strip()
        assert node.end_char_idx > reached
        reached = node.end_char_idx
    assert not text[reached:].strip()


def test_real_code_is_split_at_its_functions() -> None:
    source = Path(ragcore.node_parser.html.__file__ or "").read_text("utf-8")
    chunks = CodeSplitter("python", chunk_lines=30, chunk_lines_overlap=0).split_text(source)
    assert len(chunks) > 2
    assert sum(chunk.startswith(("class ", "def ", "    def ")) for chunk in chunks) >= len(chunks) - 2


def test_deeply_nested_code_is_no_trouble() -> None:
    text = "x = " + "+".join(["a"] * 20_000)
    assert len(CodeSplitter("python", chunk_lines_overlap=0).split_text(text)) == pytest.approx(
        40_004 / 1500, abs=2
    )


def test_no_code_gives_no_chunks() -> None:
    assert CodeSplitter("python").split_text(" \n\n") == []


def test_a_language_without_its_grammar_says_what_to_install() -> None:
    splitter = CodeSplitter("brain_flak")
    with pytest.raises(ConfigError, match="no grammar for the language 'brain_flak'") as caught:
        splitter.split_text("{}")
    assert "pip install tree-sitter-brain-flak" in caught.value.hint


def test_without_the_parser_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    with pytest.raises(MissingPackageError, match="tree-sitter") as caught:
        CodeSplitter("python").split_text("x = 1")
    assert "lectern[code]" in caught.value.hint


def test_a_parser_of_ones_own_takes_the_place_of_the_packages() -> None:
    import tree_sitter
    import tree_sitter_python

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
    splitter = CodeSplitter("anything", chunk_lines=6, chunk_lines_overlap=0, parser=parser)
    assert len(splitter.split_text(CODE)) == 3


@pytest.mark.parametrize(
    ("sizes", "said"),
    [((0, 0, 5), "chunk_lines is 0"), ((5, 6, 5), "overlap is 6"), ((5, 0, 0), "max_chars 0")],
)
def test_sizes_that_cannot_work_are_refused(sizes: tuple[int, int, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CodeSplitter("python", *sizes)
