import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.indices.keyword_table.base import (
    BaseKeywordTableIndex,
    KeywordTableIndex,
    RAKEKeywordTableIndex,
    SimpleKeywordTableIndex,
)
from ragcore.llamaindex.retrievers import KeywordTableSimpleRetriever
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from tests.ragcore.indices.doubles import by_line, document, found


def index_of(
    kind: type[BaseKeywordTableIndex], *lines: str, llm: ScriptedLLM | None = None, most: int = 10
) -> BaseKeywordTableIndex:
    return kind(
        [document("d", *lines)],
        transformations=[by_line],
        embed_model=HashEmbedding(8),
        llm=llm or ScriptedLLM(),
        max_keywords_per_chunk=most,
    )


def test_model_names_keywords_of_each_passage_and_the_question() -> None:
    replies = {
        "a text": "KEYWORDS: Machine Learning, Ada Lovelace",
        "another": "KEYWORDS: learning, poems",
        "the question": "KEYWORDS: machine learning, poem",
    }
    llm = ScriptedLLM(lambda call: replies[str(call.variables["text"])])
    index = index_of(KeywordTableIndex, "a text", "another", llm=llm)
    with span("root") as root:
        hits = index.as_retriever(max_keywords_per_query=7).retrieve("the question")
    # "machine learning" whole, "machine" and "learning"; against "learning" and "poems"
    assert found(hits) == [("d#0", 3.0), ("d#1", 2.0)]
    assert root.spans("retrieve")[0].facts["terms"] == ["machin learn", "machin", "learn", "poem"]
    assert [(call.prompt, call.variables["max_keywords"]) for call in llm.calls] == [
        ("keyword_extract", "10"),
        ("keyword_extract", "10"),
        ("query_keyword_extract", "7"),
    ]


def test_no_more_keywords_are_stored_than_the_maximum() -> None:
    llm = ScriptedLLM(lambda call: "KEYWORDS: one, two, three")
    index = index_of(KeywordTableIndex, "x", llm=llm, most=2)
    assert index.nodes_with(["one", "two", "three"]) == {"one": ["d#0"], "two": ["d#0"]}
    assert index_of(SimpleKeywordTableIndex, "cats cats dogs dogs owls", most=2).nodes_with(
        ["cat", "owl"]
    ) == {"cat": ["d#0"]}


@given(
    st.lists(st.text("ab c", min_size=1, max_size=12), max_size=12),
    st.text("abc ", max_size=8),
    st.integers(0, 5),
)
def test_passages_rank_by_shared_words_with_the_question(lines: list[str], question: str, most: int) -> None:
    # words like "xaxb", none a stop word
    lines = [re.sub("([abc])", r"x\1", line) for line in lines if line.strip()]
    question = re.sub("([abc])", r"x\1", question) + " xz"
    index = index_of(SimpleKeywordTableIndex, *lines, most=99) if lines else None
    shared = {
        f"d#{place}": len(set(line.split()) & set(question.split())) for place, line in enumerate(lines)
    }
    hits = index.as_retriever(num_chunks_per_query=most).retrieve(question) if index else []
    # stable: ties as they came
    best = sorted((id_ for id_ in shared if shared[id_]), key=lambda id_: -shared[id_])[:most]
    assert found(hits) == [(id_, shared[id_]) for id_ in best]


def test_at_most_ten_passages_by_default() -> None:
    index = index_of(SimpleKeywordTableIndex, *(f"cats {number}" for number in range(15)))
    assert len(index.as_retriever().retrieve("cats")) == 10
    assert len(KeywordTableSimpleRetriever(index, num_chunks_per_query=3).retrieve("cats")) == 3
    assert len(index.as_retriever(num_chunks_per_query=12).retrieve("cats")) == 12


def test_rake_finds_phrases_without_a_model() -> None:
    index = index_of(RAKEKeywordTableIndex, "the history of natural language processing", "a history of wine")
    assert found(index.as_retriever().retrieve("natural language")) == [("d#0", 2.0)]
    assert index.nodes_with(["natur languag process", "histori"]) == {
        "natur languag process": ["d#0"],
        "histori": ["d#0", "d#1"],
    }


def test_words_compare_without_case_and_endings_in_any_script() -> None:
    index = index_of(SimpleKeywordTableIndex, "Running Dogs", "Гончие собаки", "机器学习")
    for question, line in (("dog", 0), ("СОБАКИ", 1), ("学习", 2)):
        assert [hit.node.id_ for hit in index.as_retriever().retrieve(question)] == [f"d#{line}"]
    assert index.as_retriever().retrieve("nothing of it") == []


def test_a_new_passage_comes_behind_those_with_the_same_keywords() -> None:
    index = index_of(SimpleKeywordTableIndex, "cats purr", "dogs bark")
    index.insert(document("e", "cats and dogs"))
    assert index.nodes_with(["cat", "dog", "owl"]) == {"cat": ["d#0", "e#0"], "dog": ["d#1", "e#0"]}


def test_deleting_leaves_no_row_behind() -> None:
    index = index_of(SimpleKeywordTableIndex, "cats purr", "cats hiss")
    index.insert(document("e", "cats sleep"))
    index.delete_ref_doc("d")
    assert {key: value for key, value in index.entries().items() if key != "next"} == {
        "term:cat": [(2, "e#0")],
        "term:sleep": [(2, "e#0")],
        "node:e#0": ["cat", "sleep"],
    }
    index.delete_ref_doc("e")
    assert set(index.entries()) == {"next"}


def test_asking_for_no_keywords_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="max_keywords_per_chunk is 0"):
        index_of(SimpleKeywordTableIndex, "x", most=0)
