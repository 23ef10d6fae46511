"""What an export has of a passage: the quoted sentences with their neighbours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lectern.export.excerpts import CONTEXT_CHARS, START_CHARS, quoted_excerpt

PASSAGE = (
    "3 Inventory\n\nThe tenant takes over these things. They stay in\nthe flat.\n\n"
    "Item | Quantity\nItem: Bed; Quantity: 1\n\nEnd of list.\n- one thing\n- two\nthings\n\nNobody smokes."
)


def test_quoted_sentence_has_neighbours_and_marks_for_gaps() -> None:
    text = "One. Two is before. Ada built it. Four is after. Five."
    assert quoted_excerpt(text, "Ada built it. [3]", 3) == "… Two is before. Ada built it. Four is after. …"
    assert quoted_excerpt(text, "One. [3] Five. [3]", 3) == "One. Two is before. …\n\nFour is after. Five."


def test_a_long_neighbour_is_left_out() -> None:
    text = f"The {'very ' * CONTEXT_CHARS}long one. Ada built it."
    assert quoted_excerpt(text, "Ada built it. [1]", 1) == "… Ada built it."


def test_rows_and_items_have_lines_and_other_text_is_joined() -> None:
    assert quoted_excerpt(PASSAGE, "They stay in the flat. [1]", 1) == (
        "… The tenant takes over these things. They stay in the flat.\n\nItem | Quantity …"
    )
    whole = "They stay in the flat. [1] Item: Bed; Quantity: 1 [1] one thing [1]"
    assert quoted_excerpt(PASSAGE, whole, 1) == (
        "… The tenant takes over these things. They stay in the flat.\n\nItem | Quantity\n"
        "Item: Bed; Quantity: 1\n\nEnd of list.\n- one thing\n- two things …"
    )


def test_without_a_quote_it_is_the_start_of_the_passage() -> None:
    sentences = "Nothing of this is quoted. " * 40
    excerpt = quoted_excerpt(sentences, "Something else. [1]", 1)
    assert excerpt.startswith("Nothing of this is quoted. Nothing")
    assert excerpt.endswith("is quoted. …")
    assert len(excerpt) <= START_CHARS + 2
    assert quoted_excerpt("字" * 400, "", 1) == "字" * START_CHARS + " …"
    assert quoted_excerpt("word " * 400, "", 1).endswith("word …")
    assert quoted_excerpt("", "", 1) == ""


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_passage_has_an_excerpt_of_its_own_words(passage: str, answer: str) -> None:
    excerpt = quoted_excerpt(passage, f"{answer} [1]", 1).replace("…", "")
    assert set("".join(excerpt.split())) <= set(passage)
