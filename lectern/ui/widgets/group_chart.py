"""A chart of a result by month or by the values of a column, below the list of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from lectern.ask.table_readings import find_computed
from lectern.schema import Message
from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.state import session
from lectern.ui.widgets.table_readings import cited_documents
from ragcore.text.table_facts import numbers_in

BAR_PIXELS = 30  # of each bar, and for the axis two
CHART_PIXELS = 280  # of a chart of months
COLOUR = "#0e8574"
_PERIOD = re.compile(r"\d{4}(?:-\w+)*")


def group_chart(message: Message) -> None:
    """Closed at first. Nothing for an answer without groups, whose list it follows."""
    found = session().answers.groups
    if message.id not in found:
        found[message.id] = _find_groups(message)
    groups = found[message.id]
    figures = numbers_in([result for _name, result in groups])
    if len(groups) < 2 or any(result not in figures for _name, result in groups):
        return
    with st.expander(
        _("Show as a chart"), key=f"chart_{message.id}", type="compact", on_change="rerun"
    ) as chart:
        if chart.open:
            _draw([(name, result, figures[result]) for name, result in groups])


def _find_groups(message: Message) -> Sequence[tuple[str, str]]:
    if message.ask is None or "\n- " not in message.text:  # no list
        return ()
    for document in cited_documents(message):
        computed = find_computed(message.ask.question, document, resources.library().store, message.text)
        if computed is not None:
            return computed.groups
    return ()


def _draw(groups: Sequence[tuple[str, str, float]]) -> None:
    """Periods stand beside each other, other groups below each other, the largest first."""
    import altair as alt

    are_periods = all(_PERIOD.fullmatch(name) for name, _result, _figure in groups)
    ordered = groups if are_periods else sorted(groups, key=lambda group: -abs(group[2]))
    values = [{"name": name, "result": result, "figure": figure} for name, result, figure in ordered]
    names = alt.Axis(labelLimit=160, labelOverlap=False, ticks=False, domain=False, title=None)
    tooltip = [alt.Tooltip("name:N", title=_("Group")), alt.Tooltip("result:N", title=_("Result"))]
    chart = alt.Chart(alt.InlineData(values)).mark_bar(color=COLOUR, cornerRadiusEnd=3)
    if are_periods:
        chart = chart.encode(
            x=alt.X("name:N", sort=None, axis=names), y=alt.Y("figure:Q", title=None), tooltip=tooltip
        )
        chart = chart.properties(height=CHART_PIXELS)
    else:
        chart = chart.encode(
            y=alt.Y("name:N", sort=None, axis=names), x=alt.X("figure:Q", title=None), tooltip=tooltip
        )
        chart = chart.properties(height=(len(groups) + 2) * BAR_PIXELS)
    st.altair_chart(chart, alt=_("The figures from the list above, as bars."))
