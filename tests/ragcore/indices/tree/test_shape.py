from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.indices.tree.shape import Branch, Branches


def over(tree: Branches, ids: Sequence[str]) -> list[str]:
    """The passages below these, in order."""
    return [
        leaf
        for id_ in ids
        for leaf in (over(tree, tree.branches[id_].children) if id_ in tree.branches else [id_])
    ]


def depths(tree: Branches, ids: Sequence[str], depth: int = 0) -> set[int]:
    return {
        found
        for id_ in ids
        for found in (
            depths(tree, tree.branches[id_].children, depth + 1) if id_ in tree.branches else {depth}
        )
    }


def written(tree: Branches) -> Branches:
    """The same tree as it is after all summaries were written: a summary says what it is over."""
    texts = {id_: "+".join(over(tree, [id_])) for id_ in tree.branches}
    return Branches(
        tree.most, tree.roots, {id_: Branch(b.children, texts[id_]) for id_, b in tree.branches.items()}
    )


def built(count: int, most: int) -> Branches:
    tree = Branches(most)
    tree.add((f"p{number}", None) for number in range(count))
    return tree


@pytest.mark.parametrize(
    ("count", "most", "levels"),
    [(0, 10, []), (10, 10, []), (11, 10, [2]), (100, 10, [10]), (101, 10, [11, 2]), (9, 2, [5, 3, 2])],
)
def test_tree_builds_bottom_up_in_groups_until_few_roots(count: int, most: int, levels: list[int]) -> None:
    tree = built(count, most)
    assert [len(level) for level in tree.levels()] == levels
    assert over(tree, tree.roots) == [f"p{number}" for number in range(count)]
    assert len(tree.roots) <= most
    if levels:
        lowest = [
            tree.branches[id_].children
            for id_ in tree.branches
            if tree.branches[id_].children[0].startswith("p")
        ]
        assert [len(children) for children in lowest] == [most] * (count // most) + (
            [count % most] if count % most else []
        )


@given(st.data(), st.integers(0, 40), st.integers(2, 5))
def test_changed_tree_has_one_depth_and_stale_changed_summaries(
    data: st.DataObject, count: int, most: int
) -> None:
    tree = written(built(count, most))
    passages = over(tree, tree.roots)
    gone = data.draw(st.lists(st.sampled_from(passages), unique=True)) if passages else []
    for id_ in gone:
        tree.remove(id_)
    left = [id_ for id_ in passages if id_ not in gone]
    assert over(tree, tree.roots) == left
    lowest: list[str | None] = [
        id_ for id_ in tree.branches if tree.branches[id_].children[0].startswith("p")
    ]
    new = [f"pnew{number}" for number in range(data.draw(st.integers(0, 12)))]
    tree.add([(id_, data.draw(st.sampled_from(lowest or [None]))) for id_ in new])
    assert sorted(over(tree, tree.roots)) == sorted([*left, *new])
    assert len(tree.roots) <= most
    assert all(1 <= len(branch.children) <= most for branch in tree.branches.values())
    assert len(depths(tree, tree.roots)) <= 1
    wrong = {id_ for id_, branch in tree.branches.items() if branch.text != "+".join(over(tree, [id_]))}
    assert wrong <= tree.stale
    assert [id_ for level in tree.levels() for id_ in level if id_ not in tree.branches] == []
    assert {id_ for level in tree.levels() for id_ in level} == tree.stale & set(tree.branches)
    place = {id_: number for number, level in enumerate(tree.levels()) for id_ in level}
    for id_, number in place.items():
        assert all(place[child] < number for child in tree.branches[id_].children if child in place)
    for id_, branch in tree.branches.items():
        assert all(tree.parent(child) == id_ for child in branch.children)


def test_only_what_is_above_a_change_is_stale() -> None:
    tree = written(built(27, 3))
    tree.touch("p0")
    above = [id_ for id_ in tree.branches if "p0" in over(tree, [id_])]
    assert tree.stale == set(above)
    assert len(above) == 2


def test_the_same_changes_give_the_same_ids() -> None:
    assert built(30, 3).branches == built(30, 3).branches


def test_taking_out_what_is_not_there_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="p9"):
        built(3, 3).remove("p9")


def test_new_branch_keeps_an_older_one_with_equal_children() -> None:
    once = next(iter(built(3, 2).branches))  # made of p0 and p1
    tree = Branches(2, ["p0", "p1", "p2"], {once: Branch(("elsewhere",))})
    tree.add([])
    assert tree.branches[once] == Branch(("elsewhere",))
    assert over(tree, tree.roots) == ["p0", "p1", "p2"]
