"""What goes wrong where a passage stands for something else, and does not here."""

from ragcore.schema import IndexNode, TextNode
from tests.ragcore.retrievers.doubles import Finding, pairs


def test_d33_a_score_of_zero_stays_zero_through_a_passage_that_stands_for_another() -> None:
    target = TextNode("text", "target")
    assert pairs(Finding((IndexNode("about it", "i", obj=target), 0.0)).retrieve("?")) == [("target", 0.0)]
