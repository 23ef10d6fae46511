"""What every splitter promises: exact offsets, nothing lost, never too long, the same ids for the same input."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.node_parser.splitter import TokenSplitter
from ragcore.node_parser.token import TokenTextSplitter
from ragcore.schema import Document, MetadataMode, TextNode
from ragcore.text.tokens import Tokenizer, WordTokenizer, default_tokenizer, has_vocabulary, tiktoken_tokenizer
from tests.unit.text.vocabulary import find_vocabulary

find_vocabulary()
UDHR = sorted(Path("../shared/data/udhr/txt").glob("*.txt"))
ESSAY = Path("../shared/data/paul_graham/paul_graham_essay.txt")

Make = Callable[[int, int, Tokenizer], TokenSplitter]


@pytest.fixture(params=["sentence", "token"])
def make(request: pytest.FixtureRequest) -> Make:
    kind = SentenceSplitter if request.param == "sentence" else TokenTextSplitter
    return lambda size, overlap, tokenizer: kind(size, overlap, tokenizer=tokenizer)


def tokenizers() -> list[Tokenizer]:
    exact = [tiktoken_tokenizer()] if has_vocabulary("cl100k_base") else []
    return [WordTokenizer(), default_tokenizer(), *exact]


def check(text: str, splitter: TokenSplitter, size: int) -> None:
    spans = splitter.split_spans(text)
    reached = 0
    for start, end in spans:
        chunk = text[start:end]
        assert chunk
        assert chunk == chunk.strip()
        assert splitter.tokenizer.count(chunk) <= size or len(chunk) == 1
        assert not text[reached:start].strip()
        assert end > reached
        reached = end
    assert not text[reached:].strip()


PARTS = st.sampled_from(
    [
        "One two. ",
        "word",
        " ",
        "\n",
        "\n\n\n",
        "...",
        ", ",
        "漢字。",
        "😀",
        "👨\u200d👩\u200d👧",
        "é",
        "e\u0301",
        "x" * 30,
        "ภาษา",
        "1.5",
        "\t",
        "\ud800",
    ]
)


@given(
    text=st.lists(PARTS, max_size=40).map("".join) | st.text(max_size=120), size=st.integers(1, 12), share=st.integers(0, 12)
)
@settings(max_examples=120, deadline=None)
def test_nothing_is_lost_and_no_chunk_is_too_long(text: str, size: int, share: int) -> None:
    for tokenizer in tokenizers():
        check(text, SentenceSplitter(size, min(share, size), tokenizer=tokenizer), size)
        check(text, TokenTextSplitter(size, min(share, size), tokenizer=tokenizer), size)


@pytest.mark.parametrize("path", UDHR, ids=lambda path: path.stem)
def test_every_script_is_split_without_loss(path: Path) -> None:
    text = path.read_text("utf-8")
    for tokenizer in tokenizers()[1:]:
        check(text, SentenceSplitter(64, 16, tokenizer=tokenizer), 64)


@given(words=st.lists(st.sampled_from(["a", "bb", "ccc."]), max_size=80), size=st.integers(1, 20), share=st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_chunks_share_no_more_than_the_overlap(words: list[str], size: int, share: int) -> None:
    text, overlap = " ".join(words), min(share, size)
    for splitter in (
        SentenceSplitter(size, overlap, tokenizer=WordTokenizer()),
        TokenTextSplitter(size, overlap, tokenizer=WordTokenizer()),
    ):
        spans = splitter.split_spans(text)
        for (_, end), (start, _) in pairwise(spans):
            assert len(text[start:end].split()) <= overlap


def test_nodes_are_stretches_of_their_document(make: Make) -> None:
    text = "\n\n One two three. Four five.\n\n\nSix seven. Six seven. " * 9
    document = Document(text, id_="doc", metadata={"file_name": "a.txt"}, excluded_embed_metadata_keys=("file_name",))
    nodes = make(7, 2, WordTokenizer()).get_nodes_from_documents([document])
    assert len(nodes) > 9
    for node in nodes:
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        assert (node.ref_doc_id, dict(node.metadata)) == ("doc", {"file_name": "a.txt"})
        assert node.excluded_embed_metadata_keys == ("file_name",)
    assert [node.prev_id for node in nodes] == [None, *(node.id_ for node in nodes[:-1])]
    assert [node.next_id for node in nodes] == [*(node.id_ for node in nodes[1:]), None]
    assert len({node.id_ for node in nodes}) == len(nodes)


def test_the_same_input_gives_the_same_ids_and_another_document_gives_others(make: Make) -> None:
    splitter = make(3, 0, WordTokenizer())
    ids = [[node.id_ for node in splitter([Document("a b c d e f", id_=name)])] for name in ("one", "one", "two")]
    assert ids[0] == ids[1]
    assert not set(ids[0]) & set(ids[2])


def test_neighbours_are_linked_inside_one_document_only(make: Make) -> None:
    first, second = make(8, 0, WordTokenizer())([Document("a b c"), Document("d e f")])
    assert (first.prev_id, first.next_id, second.prev_id, second.next_id) == (None,) * 4


def test_splitting_a_node_counts_from_the_beginning_of_its_document(make: Make) -> None:
    document = Document("zero. " + "a b c d e f", id_="doc")
    node = TextNode(document.text[6:], id_="part", ref_doc_id="doc", start_char_idx=6, end_char_idx=17)
    parts = make(2, 0, WordTokenizer())([node])
    assert [document.text[part.start_char_idx : part.end_char_idx] for part in parts] == ["a b", "c d", "e f"]
    assert {part.ref_doc_id for part in parts} == {"doc"}


def test_text_and_visible_metadata_together_are_no_longer_than_the_chunk_size(make: Make) -> None:
    document = Document(
        "word " * 50,
        metadata={"title": "three word title", "secret": "s " * 90},
        excluded_llm_metadata_keys=("secret",),
        excluded_embed_metadata_keys=("secret",),
    )
    nodes = make(10, 0, WordTokenizer())([document])
    assert {len(node.get_content(MetadataMode.EMBED).split()) for node in nodes} == {10, 6}
    with pytest.raises(ValueError, match=r"metadata of document .* 4 tokens .* chunks of 4 tokens"):
        make(4, 0, WordTokenizer())([document])


@pytest.mark.parametrize(
    ("size", "overlap", "said"), [(5, 6, "6 tokens.* larger than chunk_size"), (0, 0, "at least 1"), (5, -1, "negative")]
)
def test_sizes_that_cannot_work_are_refused(make: Make, size: int, overlap: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make(size, overlap, WordTokenizer())


def test_no_text_gives_no_nodes(make: Make) -> None:
    splitter = make(5, 0, WordTokenizer())
    assert splitter.split_text("") == [""]
    assert splitter.split_text(" \n\n ") == []
    assert splitter([Document(""), Document("  ")]) == []


def test_metadata_and_links_can_be_left_out() -> None:
    document = Document("a b c d", metadata={"k": "v"})
    for kind in (SentenceSplitter, TokenTextSplitter):
        nodes = kind(2, 0, tokenizer=WordTokenizer(), include_metadata=False, include_prev_next_rel=False)([document])
        assert [(node.text, dict(node.metadata), node.next_id) for node in nodes] == [("a b", {}, None), ("c d", {}, None)]


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "漢字" * 60_000, "😀" * 60_000, "a\u0301" * 60_000, "a. " * 60_000, "a " * 60_000, "\n" * 200_000]
)
def test_hard_texts_take_a_moment_and_no_deep_recursion(make: Make, text: str) -> None:
    began = time.process_time()
    spans = make(50, 5, default_tokenizer()).split_spans(text)
    assert time.process_time() - began < 6
    covered = 0
    for start, end in spans:
        assert not text[covered:start].strip()
        covered = end
    assert not text[covered:].strip()


def test_time_grows_with_the_length_and_not_with_its_square() -> None:
    def seconds(copies: int) -> float:
        text = "The heron stood in the water. It waited for a fish, and none came. " * copies
        began = time.process_time()
        SentenceSplitter(200, 20, tokenizer=WordTokenizer()).split_spans(text)
        return time.process_time() - began

    seconds(100)
    assert min(seconds(8_000) for _ in range(3)) < 16 * min(seconds(1_000) for _ in range(3))


@pytest.mark.skipif(not ESSAY.exists() or not has_vocabulary("cl100k_base"), reason="needs the essay and tiktoken's vocabulary")
def test_the_essay_has_as_many_chunks_as_the_reference_makes() -> None:
    chunks = SentenceSplitter(tokenizer=tiktoken_tokenizer()).split_text(ESSAY.read_text("utf-8"))
    assert len(chunks) == 21
    assert max(map(tiktoken_tokenizer().count, chunks)) <= 1024
