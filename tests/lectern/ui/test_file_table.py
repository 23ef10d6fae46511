"""The answer of a document as the row of a table."""

from __future__ import annotations

from lectern.schema import FileAnswer, Message, Source
from lectern.ui.widgets.file_table import _row, table_csv
from ragcore.extractive.fixed_replies import NOTHING_FOUND

MESSAGE = Message("m", "c", "assistant", "", "done", 0.0)
SOURCE = Source(1, "n", "f", "rules.txt", 0, 4, "text")


def test_list_keeps_its_lines_and_citations_link() -> None:
    row = _row(
        MESSAGE, FileAnswer("rules.txt", "We take <these>:\n- Dogs [1]\n- Cats [2]", "found"), {1: SOURCE}
    )
    assert "We take &lt;these&gt;:<br>- Dogs <a href=" in row
    assert "</a><br>- Cats [2]" in row


def test_missing_answer_is_stated_once_and_a_model_s_words_stay() -> None:
    refused = FileAnswer("rules.txt", "", "nothing", notice=NOTHING_FOUND["de"])
    assert "<td></td><td>–</td><td>Not found</td>" in _row(MESSAGE, refused, {})
    own = FileAnswer("fares.txt", "No fare is named.", "nothing")
    assert "<td>No fare is named.</td>" in _row(MESSAGE, own, {})
    saved = table_csv([refused, own]).decode("utf-8-sig").splitlines()
    assert saved[1:] == ["rules.txt,,,Not found", "fares.txt,No fare is named.,,Not found"]
