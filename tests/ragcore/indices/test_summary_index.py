import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.indices.summary.index import SummaryIndex
from ragcore.llms.scripted import ScriptedLLM
from ragcore.schema import IndexNode, TextNode
from tests.ragcore.indices.doubles import by_line, document, found, obliging

LINES = [
    f"{animal} {does}"
    for animal, does in zip(("cats", "dogs", "owls"), ("purr", "bark", "hunt"), strict=True)
]


def index_of(*lines: str, llm: ScriptedLLM | None = None) -> SummaryIndex:
    return SummaryIndex(
        [document("d", *lines)],
        transformations=[by_line],
        embed_model=HashEmbedding(64),
        llm=llm or ScriptedLLM(),
    )


def test_default_gives_all_passages_in_order_without_score() -> None:
    assert found(index_of(*LINES).as_retriever().retrieve("?")) == [
        ("d#0", None),
        ("d#1", None),
        ("d#2", None),
    ]


def test_nearest_come_with_their_cosine_and_one_by_default() -> None:
    index = index_of(*LINES)
    embedder = HashEmbedding(64)
    cosines = [float(embedder.embed_query(line) @ embedder.embed_query("dogs hunt dogs")) for line in LINES]
    order = sorted(range(3), key=lambda place: -cosines[place])
    best = index.as_retriever("embedding", similarity_top_k=2).retrieve("dogs hunt dogs")
    assert found(best) == [(f"d#{place}", pytest.approx(cosines[place], abs=1e-6)) for place in order[:2]]
    assert found(index.as_retriever("embedding").retrieve("dogs hunt dogs")) == found(best)[:1]


def test_model_chooses_among_ten_passages_per_call_best_first() -> None:
    llm = obliging()
    lines = [f"line {number}" for number in range(23)] + ["the red fox"]
    index = index_of(*lines, llm=llm)
    hits = index.as_retriever("llm").retrieve("the red fox on line 7")
    assert found(hits)[:2] == [("d#23", 3.0), ("d#7", 2.0)]
    assert sorted(len(call.variables["context_str"]) for call in llm.calls) == [4, 10, 10]
    del llm.calls[:]
    index.as_retriever("llm", choice_batch_size=24).retrieve("line")
    assert len(llm.calls) == 1


def test_an_index_may_be_part_of_another() -> None:
    pets = index_of(*LINES)
    whole = SummaryIndex(
        [TextNode("ships sail", "ship")],
        objects=[IndexNode("about pets", "pets", obj=pets.as_retriever("embedding"))],
        embed_model=HashEmbedding(64),
        llm=ScriptedLLM(),
    )
    assert [hit.text for hit in whole.as_retriever().retrieve("dogs bark")] == ["ships sail", "dogs bark"]


def test_an_unknown_mode_is_reported() -> None:
    with pytest.raises(ValueError, match="nearest"):
        index_of("x").as_retriever("nearest")
