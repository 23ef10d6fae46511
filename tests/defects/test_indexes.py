"""What goes wrong in the indexes that people know, and does not here."""

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.indices.tree.index import TreeIndex
from ragcore.schema import Document
from tests.ragcore.indices.doubles import by_line, document, obliging

LINES = [f"line number {number} of the text" for number in range(12)]


def build_tree(given: Document) -> TreeIndex:
    return TreeIndex(
        [given], transformations=[by_line], embed_model=HashEmbedding(8), llm=obliging(), num_children=3
    )


def summaries(index: TreeIndex) -> list[str]:
    return [hit.text for hit in index.as_retriever("root").retrieve("?")]


def test_d26_summaries_written_at_the_same_time_stay_whole() -> None:
    index = build_tree(document("d", *LINES))
    assert summaries(index) == [
        "<" + "|".join("<" + "|".join(LINES[first : first + 3]) + ">" for first in (0, 3, 6)) + ">",
        "<<" + "|".join(LINES[9:]) + ">>",
    ]


def test_d26_summaries_above_a_new_passage_are_rewritten() -> None:
    index = build_tree(document("d", *LINES[:11]))
    index.insert(document("new", "a line that is new"))
    assert "a line that is new" in "".join(summaries(index))
    index.delete_ref_doc("new")
    assert "a line that is new" not in str(index.entries())
