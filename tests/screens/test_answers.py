"""What an answer in the chat says, and what it says about itself."""

from __future__ import annotations

import re
from collections.abc import Callable

from lectern.schema import Ask
from tests.screens.conftest import Screen, plain
from tests.scripted_server import ScriptedServer

WEIR = "The Marrow Weir was built in 1897 by Ida Quill. The Marrow Weir is a dam of larch on the River Tunn."


def open_citation(screen: Screen, number: int = 1) -> Screen:
    """Click on a number of the last answer."""
    return screen.send("citation_clicks", "open", {"panel": f"passage.{screen.message_id()}.{number}"})


def chips(screen: Screen) -> str:
    """The sources below the last answer."""
    return screen.words(f"chips_{screen.message_id()}")


def test_no_matching_passage_names_the_searched_words(sample_screen: Screen) -> None:
    sample_screen.open("chat").ask("Which painter decorated the opera of Sydney?")
    assert sample_screen.transcript()[1] == (
        "I found nothing about this in your documents. I looked for: painter, decorated, opera, Sydney."
    )
    assert not sample_screen.has("chips_")
    (why,) = [item for item in sample_screen.data("actions_")["actions"] if item["do"] == "why"]
    assert why["label"] == "Why wasn’t it found?"  # in words, not as a sign alone
    assert not why["menu"]


def test_suggested_question_is_answered_with_its_passages_and_how(sample_screen: Screen) -> None:
    suggested = [button.label for button in sample_screen.tab.get_by_key("suggested").button]
    assert "May I bring a large dog?" in suggested
    asked = suggested[1]
    sample_screen.press(asked)
    question, reply = sample_screen.transcript()
    assert question == asked
    assert reply
    assert sample_screen.tab.query_params["c"]
    assert f"(#passage-{sample_screen.message_id()}." in sample_screen.tab.chat_message[1].markdown[0].value
    how = r"Follow-ups and documents · \d+\.\d\ss · \d+ of 117 passages, \d+ of 10 files"
    assert re.fullmatch(f"{how} · no language model: quoting your documents", sample_screen.facts())


def test_suggested_question_is_answered_from_its_document(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"weir.txt": WEIR}, real=True)
    screen.library.suggestions.wait()
    for _ in range(2):
        screen.run().press("When was the Marrow Weir built?")
        assert screen.tab.query_params["c"]
        assert screen.transcript()[0] == "When was the Marrow Weir built?"
        assert "1897" in screen.transcript()[1]
        assert "weir.txt" in chips(screen)
        screen.press("New chat")


def test_the_query_of_a_model_is_folded_below_what_it_gives(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"rooms.csv": "Room,Seats\nAspen,12\nBirch,8\nCedar,30\n"})
    with ScriptedServer(lambda messages: "SELECT room FROM rooms ORDER BY seats DESC LIMIT 2") as server:
        screen.connect(server)
        screen.open("chat").ask("Which two rooms offer guests the most seats?")
    assert screen.transcript()[1].startswith("Cedar, Aspen is the Room of 2 of 3 rows")
    assert "SELECT" not in screen.transcript()[1]
    (query,) = screen.tab.chat_message[1].code
    assert query.value.split() == [
        "SELECT",
        "room",
        "FROM",
        "rooms",
        "ORDER",
        "BY",
        "seats",
        "DESC",
        "LIMIT",
        "2",
    ]


def test_closest_passages_are_marked_unsure_and_offer_why(sample_screen: Screen) -> None:
    sample_screen.open("chat").ask("Where can I leave my bicycle?")
    answer = sample_screen.tab.chat_message[1]
    assert answer.caption[0].value.endswith("Not sure")
    assert plain(answer.markdown[0].value).startswith("Closest passages:")
    assert any("Bicycles are not carried." in plain(text.value) for text in answer.markdown)
    (why,) = [item for item in sample_screen.data("actions_")["actions"] if item["do"] == "why"]
    assert not why["menu"]


def test_misspelt_question_is_corrected_and_the_answer_says_so(sample_screen: Screen) -> None:
    sample_screen.open("chat").ask("What joins the two cars on their two paralel trakcs?")
    assert "(#passage-" in sample_screen.tab.chat_message[1].markdown[0].value
    searched = "Searched for: What joins the two cars on their two parallel tracks?"
    assert searched in sample_screen.words().split("\n")


def test_citation_of_a_text_file_marks_the_passage_and_its_quotes(sample_screen: Screen) -> None:
    sample_screen.open("chat").ask("At what gusts did Dr Greaves recommend that the railway stop?")
    cited = sample_screen.tab.chat_message[1].markdown[0].value
    source = next(
        source
        for source in sample_screen.library.conversations.messages(sample_screen.tab.query_params["c"])[
            1
        ].cited
        if source.file_name.startswith("committee-minutes")
    )
    assert f".{source.number})" in cited
    open_citation(sample_screen, source.number)
    pieces = sample_screen.pieces()
    around = "".join(text for text, _mark in pieces)
    marked = "".join(text for text, mark in pieces if mark)
    quoted = [text for text, mark in pieces if mark == 2]
    said = " ".join(sample_screen.transcript()[-1].split())
    assert quoted
    assert all(" ".join(text.split()) in said for text in quoted)
    assert 40 < len(marked) < len(around)
    assert len("".join(quoted)) < len(marked)


def test_quoted_figures_without_a_total_are_not_displayed_as_one(open_screen: Callable[..., Screen]) -> None:
    costs = [
        f"Each month we pay {euros} euros for {what}."
        for what, euros in (("rent", 980), ("heating", 85), ("water", 30))
    ]
    screen = open_screen({"costs.txt": "\n\n".join(costs)}, real=True)
    note = "Lectern quotes these figures and does not add them up."
    screen.open("chat").ask("How much do we pay each month for heating?")
    assert note not in screen.words()
    screen.press("New chat").ask("How much do we pay each month in all?")
    assert "85 euros" in screen.transcript()[-1]
    assert note in screen.words()


def test_a_question_that_is_too_long_is_refused_and_stays(sample_screen: Screen) -> None:
    long = "Why is it so? " * 3572
    sample_screen.open("chat").ask(long)
    assert "The question has" in sample_screen.words()
    assert "the limit is 8,000" in sample_screen.words()
    assert sample_screen.tab.chat_input(key="ask").proto.value == long
    sample_screen.ask("What is in the handbook?")
    assert sample_screen.transcript()[0] == "What is in the handbook?"


def test_a_conversation_that_was_deleted_says_so(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen().open("chat", c="0123456789abcdef")
    assert "This conversation no longer exists." in screen.words()


def test_earlier_messages_are_drawn_on_request(open_screen: Callable[..., Screen]) -> None:
    screen, turns = open_screen(), 13
    kept = screen.library.conversations
    talk = kept.create()
    for turn in range(turns):
        answer = kept.begin(talk.id, Ask(f"Question {turn}?"))
        kept.write(answer.id, text=f"Answer {turn}.", state="done")
    said = screen.open("chat", c=talk.id).transcript()
    assert (said[0], said[-1], len(said)) == (f"Question {turns - 10}?", f"Answer {turns - 1}.", 20)
    said = screen.press(f"Show earlier messages ({2 * turns - 20})").transcript()
    assert (said[0], len(said)) == ("Question 0?", 2 * turns)
    assert not [label for label in screen.buttons() if label.startswith("Show earlier")]
