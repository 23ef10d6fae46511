"""The answer of a document as the row of a table."""

from __future__ import annotations

from ragcore.conversations import FileAnswer, Message, Source
from ui.widgets.file_table import _row

MESSAGE = Message("m", "c", "assistant", "", "done", 0.0)
SOURCE = Source(1, "n", "f", "rules.txt", 0, 4, "text")


def test_a_list_keeps_its_lines_and_a_citation_of_what_is_there_leads_to_it() -> None:
    row = _row(MESSAGE, FileAnswer("rules.txt", "We take <these>:\n- Dogs [1]\n- Cats [2]", "found"), {1: SOURCE})
    assert "We take &lt;these&gt;:<br>- Dogs <a href=" in row
    assert "</a><br>- Cats [2]" in row
