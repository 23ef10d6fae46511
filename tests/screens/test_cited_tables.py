"""The table that opens at the citation of its rows."""

from __future__ import annotations

from collections.abc import Callable

from tests.screens.conftest import Screen

TOOLS = "\n".join(
    ["Tool,Shelf,Price", *(f"Tool {number},{'AB'[number % 2]}1,{number}.50" for number in range(14))]
)


def open_source(screen: Screen) -> Screen:
    return screen.send("citation_clicks", "open", {"panel": f"passage.{screen.message_id()}.1"})


def view(screen: Screen, chosen: str) -> Screen:
    (choice,) = [group for group in screen.tab.button_group if (group.key or "").startswith("view_")]
    choice.set_value(chosen)
    return screen.run()


def column(screen: Screen, name: str) -> list[object]:
    return screen.tab.dataframe[0].value[name].tolist()


def test_a_citation_opens_the_rows_of_the_answer_among_all_rows(open_screen: Callable[..., Screen]) -> None:
    screen = open_source(open_screen({"tools.csv": TOOLS}).open("chat").ask("Which tools are on shelf A1?"))
    assert column(screen, "Tool") == [f"Tool {number}" for number in range(0, 14, 2)]
    assert "Save 7 rows as CSV" in screen.words("panel")
    view(screen, "all")
    assert column(screen, "Price") == [number + 0.5 for number in range(14)]
    assert column(screen, " ●") == ["●", ""] * 7
    view(screen, "text")
    assert not screen.tab.dataframe
    assert "Tool 12" in "".join(text for text, _mark in screen.pieces())


def test_the_rows_of_a_table_are_filtered(open_screen: Callable[..., Screen]) -> None:
    screen = open_source(open_screen({"tools.csv": TOOLS}).open("chat").ask("Which tools are on shelf A1?"))
    view(screen, "all")
    filter_key = f"cited_{screen.message_id()}_1_filter"
    screen.tab.text_input(key=filter_key).set_value("b1 13.5")
    screen.run()
    assert column(screen, " #") == [14]
    screen.tab.text_input(key=filter_key).set_value("anvil")
    screen.run()
    assert not screen.tab.dataframe
    assert "No row has these words." in screen.words("panel")


def test_a_short_table_opens_whole(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"tools.csv": "\n".join(TOOLS.splitlines()[:5])}).open("chat")
    open_source(screen.ask("Which tools are on shelf A1?"))
    assert column(screen, " ●") == ["●", "", "●", ""]


def test_a_result_by_group_is_shown_as_a_chart_on_one_press(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"tools.csv": TOOLS}).open("chat").ask("What is the average price by shelf?")
    assert "- A1: 6.5" in screen.transcript()[-1]
    (chart,) = screen.tab.expander
    assert chart.label == "Show as a chart"
    assert not screen.tab.get("vega_lite_chart")
    screen.tab.session_state[f"chart_{screen.message_id()}"] = True
    screen.run()
    assert len(screen.tab.get("vega_lite_chart")) == 1
