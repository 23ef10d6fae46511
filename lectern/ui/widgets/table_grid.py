"""A table of a document, which a person sorts, filters and scrolls, and saves as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import streamlit as st

from lectern.explain.cited_table import CitedTable, GridTable
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.state import widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.search_field import search_field

if TYPE_CHECKING:
    from pandas import DataFrame
    from pandas.io.formats.style import Styler

VISIBLE_ROWS = 12  # without scrolling
ROW_PIXELS = 35
LAZY_ROWS = 5_000  # Of a longer table only the rows in sight are sent.
COLOURED_ROWS = 500  # A colour takes a millisecond for each row.
COLOUR = "rgba(40, 140, 125, .2)"  # of rows in the answer, on paper and on a dark ground
MARK = " ●"  # the column that marks the rows of the answer
ROW = " #"  # the column with the number of the row in the document

_SCROLL = component("grid_scroll", "<span hidden></span>")


def choose_view(cited: CitedTable, text: str, *, key: str) -> str:
    """The rows of the answer ("answer"), all rows ("all"), or the page or text ("text"), which is called
    `text`. A table that would hide rows of the answer begins with these alone."""
    rows, marked = len(cited.table.rows), len(cited.marked)
    names = {"all": _("All rows ({number})").format(number=numeral(rows)), "text": text}
    if 0 < marked < rows:
        names = {"answer": _("In the answer ({number})").format(number=numeral(marked)), **names}
    first = "answer" if "answer" in names and rows > VISIBLE_ROWS else "all"
    return st.segmented_control(
        _("View"),
        list(names),
        format_func=names.__getitem__,
        key=key,
        default=first if cited.is_quoted else "text",
        required=True,
        label_visibility="collapsed",
    )


@st.fragment
def table_grid(
    table: GridTable, name: str, numbers: Sequence[int], *, key: str, marked: Sequence[int] = ()
) -> None:
    """These rows, in the order of the document. `name` is that of the table, for a screen reader and the
    saved file. `marked`: the numbers of those in the answer."""
    if len(table.rows) > VISIBLE_ROWS:
        search_field(_("Filter the rows"), f"{key}_filter", live=True)
    if words := str(widget(f"{key}_filter") or "").strip():
        numbers = table.filter(words, numbers)
    if not numbers:
        st.caption(_("No row has these words."))
        return
    rows = set(marked)
    visible = min(len(numbers), VISIBLE_ROWS + 0.5)  # half a row shows that there are more
    with st.container(key=f"table_grid_{key}", gap=None):
        st.dataframe(
            _marked_frame(table, numbers, rows),
            hide_index=True,
            height=int((visible + 1) * ROW_PIXELS) + 3,  # and its border
            column_config={
                ROW: st.column_config.NumberColumn(_("Row"), pinned=True, width=64, format="%d"),
                MARK: st.column_config.TextColumn("●", pinned=True, width=34, help=_("In the answer")),
                **{
                    column: st.column_config.NumberColumn(format=form)
                    for column, form in table.formats.items()
                },
            },
            placeholder="",
            lazy=len(numbers) > LAZY_ROWS,
            alt=name,
        )
        first = next((index for index, number in enumerate(numbers) if number in rows), 0)
        if first >= VISIBLE_ROWS:
            top = (first - VISIBLE_ROWS // 2) * ROW_PIXELS
            _SCROLL(key=f"{key}_scroll", data={"key": f"table_grid_{key}", "top": top, "of": f"{name} {top}"})
    save = ngettext("Save {number} row as CSV", "Save {number} rows as CSV", len(numbers))
    st.download_button(
        save.format(number=numeral(len(numbers))),
        lambda: table.to_csv(numbers),
        file_name=f"{PurePath(name).stem}.csv",
        mime="text/csv",
        key=f"{key}_csv",
        icon=":material/download:",
        on_click="ignore",
        help=_("A table that opens in Excel, LibreOffice and Google Sheets."),
    )


def _marked_frame(table: GridTable, numbers: Sequence[int], marked: set[int]) -> DataFrame | Styler:
    """The rows with their numbers in the document. Those in the answer have a mark among others, and in a
    short table a colour too."""
    frame = table.frame.iloc[list(numbers)]
    frame.insert(0, ROW, [number + 1 for number in numbers])
    shown = [number for number in numbers if number in marked]
    if not shown or len(shown) == len(numbers):
        return frame
    frame.insert(1, MARK, ["●" if number in marked else "" for number in numbers])
    if len(numbers) > COLOURED_ROWS:
        return frame
    return frame.style.set_properties(subset=(shown, frame.columns), **{"background-color": COLOUR})
