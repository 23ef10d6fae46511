"""What goes wrong where a passage stands for something else, and does not here."""

from ragcore.schema import IndexNode, TextNode
from tests.ragcore.retrievers.doubles import Finding, pairs


def test_d33_zero_score_stays_zero_through_a_reference() -> None:
    target = TextNode("text", "target")
    assert pairs(Finding((IndexNode("about it", "i", obj=target), 0.0)).retrieve("?")) == [("target", 0.0)]
