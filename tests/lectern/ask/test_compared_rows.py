"""A conversation about rows of a table."""

from __future__ import annotations

from collections.abc import Callable

from lectern.library import Library
from lectern.schema import Ask
from ragcore.schema import ChatMessage, MessageRole
from tests.lectern.test_library import take_in

ROOMS = "Room,Seats,Price a day\nCedar,30,260\nElm,20,180\nFir,16,120\n"


def last_answer(library: Library, *questions: str) -> tuple[str, str]:
    history: list[ChatMessage] = []
    for question in questions[:-1]:
        text = str(library.answer(Ask(question), history).whole())
        history += [ChatMessage(MessageRole.USER, question), ChatMessage(MessageRole.ASSISTANT, text)]
    answer = library.answer(Ask(questions[-1]), history).whole()
    return answer.outcome, str(answer)


def test_follow_ups_carry_the_row_and_the_column_on(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, ROOMS, "rooms.csv")
    asked = "How many seats does Cedar have?", "And Elm?"
    elm = "answer", "Room: Elm; Seats: 20; Price a day: 180 [1]"
    cedar_and_elm = (
        "- Room: Cedar; Seats: 30; Price a day: 260 [1]\n- Room: Elm; Seats: 20; Price a day: 180 [1]"
    )
    assert last_answer(library, *asked) == elm
    assert last_answer(library, *asked, "What is its price?") == elm
    larger = f"**Cedar** has the highest Seats, 30, of 2 rows.\n\n{cedar_and_elm}"
    assert last_answer(library, *asked, "Which one is larger?") == ("answer", larger)
    smaller = f"**Elm** has the lowest Seats, 20, of 2 rows.\n\n{cedar_and_elm}"
    assert last_answer(library, *asked, "Which one is larger?", "And which is smaller?") == (
        "answer",
        smaller,
    )
    dearer = last_answer(library, *asked, "What is its price?", "Which one is higher?")[1]
    assert dearer.startswith("**Cedar** has the highest Price a day, 260, of 2 rows.")
    # "Cost" is no word of a column, so it is unclear in which they are compared.
    assert "highest" not in last_answer(library, *asked, "What does it cost?", "Which one is larger?")[1]
