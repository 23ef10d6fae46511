"""A table with one answer per document, drawn while answers arrive. It can be saved as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from lectern.runs.answer_runs import Run
from lectern.schema import FileAnswer, Message, Source
from lectern.ui import labels
from lectern.ui.i18n import _, ngettext, translate
from lectern.ui.safetext import breakable
from lectern.ui.state import allow_interruption
from lectern.ui.widgets.read_everything import draw_progress
from lectern.ui.widgets.source_links import source_address
from ragcore.text.citations import MARKS, cited_in
from ragcore.text.csv_safety import as_csv

MAX_ROWS = 100  # visible; the others are in an expander
STREAMED_ROWS = 20  # the newest, while answers arrive
DRAWS_PER_SECOND = 2.0


def file_table(message: Message, rows: Sequence[FileAnswer]) -> None:
    with st.container(key=f"file_table_{message.id}"):
        _table(message, rows[:MAX_ROWS], message.sources)
        if rest := rows[MAX_ROWS:]:
            with st.expander(
                ngettext("{number} more document", "{number} more documents", len(rest)).format(
                    number=len(rest)
                )
            ):
                _table(message, rest, message.sources)
        st.download_button(
            _("Save as CSV"),
            lambda: table_csv(rows),
            file_name="answers.csv",
            mime="text/csv",
            key=f"csv_{message.id}",
            icon=":material/download:",
            on_click="ignore",
            help=_("A table that opens in Excel, LibreOffice and Google Sheets."),
        )


def stream_table(run: Run, message: Message) -> None:
    bar, table, drawn = st.empty(), st.empty(), -1
    for _piece in run.follow(DRAWS_PER_SECOND):
        allow_interruption()
        draw_progress(run, message, bar)
        rows = run.rows
        if len(rows) > drawn:
            drawn = len(rows)
            with table.container():
                _table(message, rows[-STREAMED_ROWS:], run.sources)


def table_csv(rows: Sequence[FileAnswer]) -> bytes:
    head = [_("Document"), _("Answer"), _("Pages"), _("Found")]
    return as_csv(
        [head, *([row.file_name, _text_for_csv(row), ", ".join(row.pages), _outcome(row)] for row in rows)]
    )


def _text_for_csv(row: FileAnswer) -> str:
    """Without citations, whose numbers mean nothing in a spreadsheet. The pages have their own column."""
    return MARKS.sub("", row.text) + (f" {row.hint}" if row.hint else "")


def _outcome(row: FileAnswer) -> str:
    return {
        "found": _("Found"),
        "closest": _("Closest passages"),
        "uncited": _("Found, without a passage"),
        "nothing": _("Not found"),
        "failed": _("Could not be asked"),
    }[row.found]


def _table(message: Message, rows: Sequence[FileAnswer], sources: Sequence[Source]) -> None:
    known = {source.number: source for source in sources}
    head = "".join(
        f"<th scope='col'>{escape(name)}</th>"
        for name in (_("Document"), _("Answer"), _("Pages"), _("Found"))
    )
    body = "".join(_row(message, row, known) for row in rows)
    st.html(f"<table class='file-answers'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _row(message: Message, row: FileAnswer, known: dict[int, Source]) -> str:
    numbers = replace(message, sources=tuple(known.values())).shown_numbers

    def link(number: int) -> str:
        if number not in known:
            return f" [{number}]"
        return f' <a href="{escape(source_address(message.id, known[number]))}">{numbers[number]}</a>'

    text = translate(row.text) if row.found == "failed" else row.text
    answer = MARKS.sub(lambda marks: "".join(map(link, cited_in(marks.group()))), escape(text)).replace(
        "\n", "<br>"
    )
    hint = f"<br>{escape(translate(row.hint))}" if row.hint else ""
    pages = labels.part(row.page_word, ", ".join(row.pages)) if row.pages else "–"
    return (
        f"<tr class='{row.found}'><th scope='row'>{breakable(row.file_name)}</th><td>{answer}{hint}</td>"
        f"<td>{escape(pages)}</td><td>{escape(_outcome(row))}</td></tr>"
    )
