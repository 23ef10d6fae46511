import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.indices.tree.index import TreeIndex
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.prompt import Choice
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import Document, TextNode
from tests.ragcore.indices.doubles import by_line, document, found, obliging, passages

LINES = [
    "cats purr",
    "dogs bark",
    "owls hunt",
    "ships sail",
    "boats row",
    "trains run",
    "roses smell",
    "oaks grow",
    "moss hides",
]


def tree(
    *documents: Document, llm: ScriptedLLM | None = None, num_children: int = 3, build_tree: bool = True
) -> TreeIndex:
    return TreeIndex(
        documents,
        transformations=[by_line],
        embed_model=HashEmbedding(64),
        llm=llm or obliging(),
        num_children=num_children,
        build_tree=build_tree,
    )


def roots(index: TreeIndex) -> list[str]:
    return [hit.text for hit in index.as_retriever("root").retrieve("?")]


def lines(retriever: BaseRetriever, question: str) -> list[str]:
    return [hit.text for hit in retriever.retrieve(question)]


def test_summaries_build_bottom_up_with_one_call_each() -> None:
    llm = obliging()
    index = tree(document("d", *LINES, "moles dig"), llm=llm)
    assert sorted(len(passages(call.call)) for call in llm.calls) == [1, 1, 3, 3, 3, 3]
    assert roots(index) == [
        (
            "<<cats purr|dogs bark|owls hunt>|<ships sail|boats row|trains run>|<roses smell|oaks grow|moss "
            "hides>>"
        ),
        "<<moles dig>>",
    ]


def test_few_passages_need_no_summary_and_are_the_roots() -> None:
    llm = ScriptedLLM()
    index = tree(document("d", *LINES[:3]), llm=llm)
    assert roots(index) == LINES[:3]
    assert llm.calls == []


def test_model_descends_one_call_per_level_and_one_by_default() -> None:
    llm = obliging()
    index = tree(document("d", *LINES), llm=llm)
    del llm.calls[:]
    with span("root") as top:
        assert found(index.as_retriever().retrieve("Do boats row?")) == [("d#4", None)]
    assert [call.prompt for call in llm.calls] == ["select_single", "select_single"]
    path = top.spans("retrieve")[0].facts["path"]
    assert path == [[index.root_ids[1]], ["d#4"]]
    del llm.calls[:]
    assert lines(index.as_retriever(child_branch_factor=2), "Do boats row or roses smell?") == [
        "boats row",
        "roses smell",
    ]
    assert [call.prompt for call in llm.calls] == ["select_multi", "select_multi"]
    del llm.calls[:]
    assert lines(index.as_retriever(child_branch_factor=9), "Do boats row?") == LINES
    assert llm.calls == []  # as many ways as there are


def test_invalid_model_choice_falls_back_to_the_nearest() -> None:
    sums = obliging()
    llm = ScriptedLLM(
        lambda call: "Choice 9!" if call.prompt.name.startswith("select") else sums.generate(call)
    )
    assert lines(tree(document("d", *LINES), llm=llm).as_retriever(), "oaks grow") == ["oaks grow"]


def test_the_nearest_summaries_are_a_way_down_without_a_model() -> None:
    llm = obliging()
    index = tree(document("d", *LINES), llm=llm)
    del llm.calls[:]
    hits = index.as_retriever("select_leaf_embedding").retrieve("boats row")
    assert [(hit.text, pytest.approx(hit.score)) for hit in hits] == [("boats row", 1.0)]
    assert llm.calls == []


def test_all_leaves_are_the_passages_in_order_without_a_score() -> None:
    index = tree(document("d", *LINES))
    assert found(index.as_retriever("all_leaf").retrieve("?")) == [
        (f"d#{number}", None) for number in range(9)
    ]


def test_new_passage_joins_its_branch_and_summaries_renew() -> None:
    llm = obliging()
    index = tree(document("d", *LINES[:8]), llm=llm)
    del llm.calls[:]
    index.insert(document("new", "roses wilt"))
    assert [call.prompt for call in llm.calls] == ["select_single", "summary"]
    assert roots(index)[2] == "<roses smell|oaks grow|roses wilt>"
    assert lines(index.as_retriever(), "roses wilt") == ["roses wilt"]


def test_a_summary_over_too_many_is_divided() -> None:
    index = tree(document("d", *LINES))
    index.insert(document("new", "boats rust"))
    top = roots(index)
    assert len(top) == 2
    summed_up = [line for text in top for line in text.strip("<>").replace(">|<", "|").split("|")]
    assert sorted(summed_up) == sorted([*LINES, "boats rust"])
    for line in [*LINES, "boats rust"]:
        assert lines(index.as_retriever("select_leaf_embedding", child_branch_factor=2), line)[0] == line


def test_deletion_renews_summaries_above_and_clears_the_document() -> None:
    llm = obliging()
    index = tree(document("a", *LINES[:3]), document("b", *LINES[3:7]), document("c", *LINES[7:]), llm=llm)
    del llm.calls[:]
    assert index.delete_ref_doc("b") == 4
    assert roots(index) == ["<cats purr|dogs bark|owls hunt>", "<oaks grow|moss hides>"]
    assert [call.prompt for call in llm.calls] == ["summary"]
    assert "ships" not in str(index.entries())
    index.delete_ref_doc("a")
    index.delete_ref_doc("c")
    assert (index.root_ids, index.entries()) == ([], {"roots": []})


def test_remaining_passage_stays_in_its_branch_of_the_tree() -> None:
    llm = obliging()
    index = tree(document("d", *LINES), llm=llm)
    before = index.root_ids
    del llm.calls[:]
    index.insert_nodes([TextNode("cats purr", "d#0", ref_doc_id="d")])
    assert (index.root_ids, llm.calls) == (before, [])
    index.insert_nodes([TextNode("cats hiss", "d#0", ref_doc_id="d")])
    assert [call.prompt for call in llm.calls] == ["summary"]
    assert roots(index)[0] == "<cats hiss|dogs bark|owls hunt>"


def test_without_a_tree_only_leaves_exist_and_no_calls() -> None:
    llm = ScriptedLLM()
    index = tree(document("d", *LINES), llm=llm, build_tree=False)
    index.insert(document("e", "x"))
    index.delete_ref_doc("e")
    assert lines(index.as_retriever("all_leaf"), "?") == LINES
    for mode in ("root", "select_leaf", "select_leaf_embedding"):
        with pytest.raises(ValueError, match="build_tree=False"):
            index.as_retriever(mode)


def test_passages_too_long_to_choose_from_show_their_beginnings() -> None:
    seen: list[int] = []

    def rule(call: LLMCall) -> str:
        seen.append(
            sum(len(item.text.split()) for item in call.variables["choices"] if isinstance(item, Choice))
        )
        return '[{"choice": 2, "reason": "."}]'

    llm = ScriptedLLM(rule, counts_words=True, context_window=300, num_output=50)
    index = tree(document("d", "a " * 400, "b " * 400, "c"), llm=llm)
    with span("root") as top:
        assert [hit.node.id_ for hit in index.as_retriever().retrieve("?")] == ["d#1"]
    assert 100 < seen[0] < 250
    assert top.spans("select")[0].facts["shortened"] == 2


def test_impossible_numbers_are_reported() -> None:
    with pytest.raises(ValueError, match="num_children is 1"):
        tree(num_children=1)
    with pytest.raises(ValueError, match="child_branch_factor is 0"):
        tree().as_retriever(child_branch_factor=0)
