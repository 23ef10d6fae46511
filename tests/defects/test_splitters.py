"""Splitting without the defects of the reference: late tokenizers, repeated counting, slow trees, lost and
overlong chunks."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ragcore import VectorStoreIndex
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.node_parser import (
    HierarchicalNodeParser,
    NodeTree,
    SentenceSplitter,
    TokenTextSplitter,
    get_child_nodes,
    get_deeper_nodes,
    get_leaf_nodes,
)
from ragcore.node_parser.text_pieces import BeforeEach, Cutter, chunk_spans
from ragcore.schema import Document, TextNode
from tests.word_tokenizer import WordTokenizer


def loaded_after(code: str) -> set[str]:
    watched = "{'tiktoken', 'tokenizers', 'transformers', 'torch', 'numpy', 'tree_sitter', 'nltk', 'pandas'}"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*({watched} & set(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_d2_making_any_splitter_imports_no_tokenizer() -> None:
    code = """
from ragcore.node_parser import *
from ragcore.llamaindex.node_parser import CodeSplitter, SemanticSplitterNodeParser, SentenceWindowNodeParser
SentenceSplitter(); TokenTextSplitter(); HierarchicalNodeParser.from_defaults(); CodeSplitter("python")
SentenceWindowNodeParser(); MarkdownNodeParser(); HTMLNodeParser(); JSONNodeParser(); SimpleFileNodeParser()
SemanticSplitterNodeParser(embed_model=object())
"""
    assert loaded_after(code) == set()


def test_d2_markup_and_sentence_splitting_needs_no_tokenizer() -> None:
    code = """
from ragcore.node_parser import *
from ragcore.llamaindex.node_parser import SentenceWindowNodeParser
from ragcore.schema import Document
for parser in (SentenceWindowNodeParser(), MarkdownNodeParser(), HTMLNodeParser(), SimpleFileNodeParser()):
    assert parser([Document("# One\\n<p>Two.</p> Three.")])
"""
    assert loaded_after(code) == set()


def test_d2_opening_and_searching_an_index_imports_no_tokenizer(tmp_path: Path) -> None:
    index = VectorStoreIndex.from_documents([Document("Herons eat fish.")], embed_model=HashEmbedding())
    index.storage_context.persist(persist_dir=str(tmp_path))
    code = f"""
from ragcore import StorageContext, load_index_from_storage
from ragcore.embeddings.hashing import HashEmbedding
context = StorageContext.from_defaults(persist_dir={str(tmp_path)!r})
index = load_index_from_storage(context, embed_model=HashEmbedding())
assert [hit.text for hit in index.as_retriever().retrieve("What do herons eat?")] == ["Herons eat fish."]
"""
    assert loaded_after(code) <= {"numpy"}


class Counting(WordTokenizer):
    """Words, and how many characters it was asked to read."""

    def __init__(self) -> None:
        self.read = 0

    def count(self, text: str) -> int:
        self.read += len(text)
        return super().count(text)

    def starts(self, text: str) -> array[int]:
        self.read += len(text)
        return super().starts(text)


PROSE = "The heron stood in the water, and waited. No fish came by; none at all. " * 400


@pytest.mark.parametrize("kind", [SentenceSplitter, TokenTextSplitter])
def test_d3_text_is_counted_a_few_times_however_many_pieces(
    kind: type[SentenceSplitter] | type[TokenTextSplitter],
) -> None:
    tokenizer = Counting()
    spans = kind(20, 5, tokenizer=tokenizer).split_spans(PROSE)
    assert len(spans) > 300
    assert tokenizer.read <= 4 * len(PROSE)


def test_d3_three_level_tree_counts_text_a_few_times_per_level() -> None:
    tokenizer = Counting()
    HierarchicalNodeParser([400, 100, 25], 0, tokenizer=tokenizer)([Document(PROSE)])
    assert tokenizer.read <= 3 * 4 * len(PROSE)


def steps_of(copies: int) -> int:
    """How many lines of Python it takes to split so many copies of a sentence."""
    text = "One two, three four. " * copies
    steps = 0

    def count(frame: object, event: str, argument: object) -> Callable[..., object]:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        SentenceSplitter(8, 4, tokenizer=WordTokenizer()).split_spans(text)
    finally:
        sys.settrace(before)
    return steps


def test_d10_the_work_is_linear_in_the_text() -> None:
    small, large = steps_of(50), steps_of(400)
    assert large < 8.5 * small


def test_d10_each_place_to_cut_is_looked_at_once() -> None:
    looked: list[int] = []

    def watched(cut: Cutter) -> Cutter:
        def places(text: str) -> Iterator[int]:
            looked.append(len(text))
            return cut(text)

        return places

    chunk_spans(PROSE, size=20, overlap=5, tokenizer=WordTokenizer(), cutters=[watched(BeforeEach(" "))])
    assert looked == [len(PROSE)]


def forest(documents: int) -> NodeTree:
    parser = HierarchicalNodeParser([64, 16, 4], 0, tokenizer=WordTokenizer())
    return parser([Document("one two three four. " * 32, id_=f"doc {number}") for number in range(documents)])


class Seen(list[TextNode]):
    """A list that counts how often it is gone through, and how often a node is compared or looked for in
    it."""

    def __init__(self, nodes: NodeTree) -> None:
        super().__init__(nodes)
        self.gone_through = self.looked_into = 0

    def __iter__(self) -> Iterator[TextNode]:
        self.gone_through += 1
        return super().__iter__()

    def __contains__(self, node: object) -> bool:
        self.looked_into += 1
        return super().__contains__(node)


def test_d11_node_helpers_make_one_pass_per_level_without_search() -> None:
    nodes = Seen(forest(20))
    assert len(get_deeper_nodes(nodes, depth=2)) == 20 * 32
    assert (nodes.gone_through, nodes.looked_into) == (3, 0)
    nodes = Seen(forest(20))
    leaves = get_leaf_nodes(nodes)
    assert get_child_nodes(leaves, nodes) == []
    assert (nodes.gone_through, nodes.looked_into) == (2, 0)


def test_d12_node_tree_is_no_list_and_gives_its_leaves() -> None:
    tree = forest(2)
    assert isinstance(tree, NodeTree)
    assert not isinstance(tree, list)  # so that an index must say which level it means
    leaves = tree.leaves()
    assert len(leaves) < len(tree)
    words = [word for leaf in leaves for word in leaf.text.split()]
    assert words == ["one", "two", "three", "four."] * 64  # each word once


def test_d12_index_of_a_tree_holds_only_its_leaves() -> None:
    tree = forest(2)
    index = VectorStoreIndex(tree, embed_model=HashEmbedding())
    assert {hit.node_id for hit in index.as_retriever(similarity_top_k=999).retrieve("one")} == {
        leaf.id_ for leaf in tree.leaves()
    }


def test_d27_tree_leaves_are_linked_to_their_neighbours() -> None:
    leaves = [leaf for leaf in forest(2).leaves() if leaf.ref_doc_id == "doc 1"]
    assert len(leaves) == 32
    by_id = {leaf.id_: leaf for leaf in leaves}
    for before, after in pairwise(leaves):
        assert before.next_id is not None
        assert by_id[before.next_id] is after
        assert after.prev_id == before.id_
    assert sum(leaf.next_id is None for leaf in leaves) == 1


def test_d32_overlap_makes_no_chunk_longer_than_its_size() -> None:
    text = " ".join(f"{'word ' * length}end{length}." for length in (8, 3, 9, 2, 7, 1, 9, 4))
    chunks = SentenceSplitter(10, 4, tokenizer=WordTokenizer()).split_text(text)
    assert max(len(chunk.split()) for chunk in chunks) == 10


@pytest.mark.parametrize(
    "text", ["Wait... what?! no,,, yes;; so. ", "One... two... three... ", "a,.;b。。c？？d！！e "]
)
def test_d32_chunks_are_stretches_of_the_text_without_loss(text: str) -> None:
    document = Document(text * 30)
    for size in (1, 2, 3, 5):
        nodes = SentenceSplitter(size, 0, tokenizer=WordTokenizer())([document])
        assert all(document.text[node.start_char_idx : node.end_char_idx] == node.text for node in nodes)
        assert "".join("".join(node.text.split()) for node in nodes) == "".join(document.text.split())


def test_d32_equal_sentences_have_their_own_places() -> None:
    document = Document("Same again. " * 40)
    starts = [node.start_char_idx for node in SentenceSplitter(2, 0, tokenizer=WordTokenizer())([document])]
    assert starts == [12 * number for number in range(40)]


@pytest.mark.parametrize("kind", [SentenceSplitter, TokenTextSplitter])
def test_d32_character_of_many_tokens_stands_alone(
    kind: type[SentenceSplitter] | type[TokenTextSplitter],
) -> None:
    def tokens(text: str) -> list[int]:
        return list(text.encode())  # a rocket is four of them

    assert kind(3, 0, tokenizer=tokens).split_text("🚀🚀") == ["🚀", "🚀"]
    assert kind(2, 0, tokenizer=tokens).split_text("漢字") == ["漢", "字"]
