"""The chart of a result by month or by the values of a column."""

from __future__ import annotations

import json

import pyarrow
import pytest
from streamlit.testing.v1 import AppTest


def page(groups: list[tuple[str, str]], is_open: bool) -> None:
    import streamlit as st

    from lectern.schema import Message
    from lectern.ui.state import session
    from lectern.ui.widgets.group_chart import group_chart

    if is_open:
        st.session_state["chart_answer"] = True
    session().answers.groups["answer"] = groups
    group_chart(Message("answer", "talk", "assistant", "By month:", "done", 0.0))


def draw(groups: list[tuple[str, str]], *, is_open: bool = True) -> AppTest:
    tab = AppTest.from_function(page, args=(groups, is_open), default_timeout=60).run()
    assert not tab.exception
    return tab


def test_a_chart_has_a_bar_for_each_group_once_it_is_asked_for() -> None:
    groups = [("Food", "-84,50 €"), ("Rent", "-1.240,00 €")]
    assert not draw(groups, is_open=False).get("vega_lite_chart")
    (chart,) = draw(groups).get("vega_lite_chart")
    bars = pyarrow.ipc.open_stream(chart.proto.datasets[0].data.data).read_all().to_pylist()
    assert [(bar["name"], bar["result"], bar["figure"]) for bar in bars] == [
        ("Rent", "-1.240,00 €", -1240),  # the largest first
        ("Food", "-84,50 €", -84.5),
    ]
    assert json.loads(chart.proto.spec)["encoding"]["y"]["field"] == "name"


def test_months_stand_beside_each_other_in_their_order() -> None:
    (chart,) = draw([("2025-02", "7"), ("2025-03", "9")]).get("vega_lite_chart")
    across = json.loads(chart.proto.spec)["encoding"]["x"]
    assert (across["field"], across["sort"]) == ("name", None)


@pytest.mark.parametrize("groups", [[], [("Rent", "1240")], [("Rent", "1240"), ("Food", "none")]])
def test_nothing_is_drawn_of_one_group_or_of_words(groups: list[tuple[str, str]]) -> None:
    assert not draw(groups).expander
