"""Turns of conversations, and the replies in them. Notes, forms and prose with colons are none."""

from __future__ import annotations

import pytest

from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.turns import turns_of

CHATS = {
    "brackets": ("[3/4/2026, 9:01] Tom: when is the fair\n[3/4/2026, 9:03] Ana Ruiz: on Sunday", "on Sunday"),
    "dashes": ("03.04.26, 09:01 - Tom: Wann ist das Fest?\n03.04.26, 09:02 - Ana: am Sonntag", "am Sonntag"),
    "line above": (
        "Tom Ek  9:01 AM\nWhen is the fair?\n\nAna Ruiz  9:02 AM\nOn Sunday.\n\nTom Ek  9:03 AM\nGood.",
        "On Sunday.",
    ),
    "after the name": ("Tom (9:01): quand est la fête\nAna (9:02): dimanche", "dimanche"),
    "angles": ("[09:01] <tom> ¿cuándo es la feria?\n[09:02] <ana> el domingo", "el domingo"),
    "interview": (
        "**Q:** When is it?\n\n**A:** On Sunday.\n\n**Q:** And where?\n\n**A:** In the park.",
        "On Sunday.",
    ),
    "space before the colon": (
        "Léa : Quand ?\nAna : Dimanche.\nLéa : Où ?\nAna : Au parc.",
        "Dimanche.",
    ),
    "without spaces": ("小李：几点开始？\n小王：七点\n小李：在哪里？\n小王：二楼", "七点"),
}


@pytest.mark.parametrize(("chat", "reply"), CHATS.values(), ids=CHATS)
def test_a_question_leads_to_its_reply_and_is_not_quoted(chat: str, reply: str) -> None:
    assert len({turn.speaker for turn in turns_of(chat)}) == 2
    quotes = quotes_in(chat, number=1)
    assert quotes[0].text.endswith(reply)
    assert quotes[0].lead


@pytest.mark.parametrize(
    "text",
    [
        "Note: the door is locked.\nWarning: it is hot.\nNote: mind the step.\nWarning: it is wet.",
        "Name: Ada Penrose\nTown: Brest\n\nName: Tom Ek\nTown: Oslo\n\nWhat else? Nothing: it is all there.",
        "Opening hours: 9 to 5.\nIs it open on Sundays? No: it is closed.\nPrice: 3 euros.",
        "Open\n\nMonday 10:00\nuntil noon\n\nTuesday 11:00\nuntil noon\n\nDay pass 12.50\nwith a towel",
        "The clock struck 10:01 as Ada: the keeper of the mill: came in.",
    ],
)
def test_notes_forms_and_prose_with_colons_are_no_conversation(text: str) -> None:
    assert turns_of(text) == []


def test_a_question_that_goes_on_is_understood_with_the_one_before() -> None:
    chat = "9:01 - Ida: when is the concert\n9:02 - Pål: at six\n9:03 - Ida: and where\n9:04 - Pål: inside"
    replies = [(quote.lead, quote.text) for quote in quotes_in(chat, number=1)]
    assert replies == [
        ("when is the concert", "Pål: at six"),
        ("is the concert and where", "Pål: inside"),
    ]


def test_another_question_begins_anew_and_the_asker_answers_nothing() -> None:
    chat = (
        "9:01 - Ida: Where are the keys?\n9:02 - Pål: In the kiosk.\n9:03 - Ida: Thanks. Who mows the lawn?\n"
        "9:04 - Ida: I cannot.\n9:05 - Marte: I do, on Monday."
    )
    leads = {quote.text: quote.lead for quote in quotes_in(chat, number=1)}
    assert leads["Thanks."] == leads["Ida: I cannot."] == ""
    assert leads["Marte: I do, on Monday."] == "Who mows the lawn?"


def test_what_stands_above_a_conversation_is_quoted_as_before() -> None:
    text = "The keeper was asked in May.\n\nQ: Are you alone?\nA: Yes.\n\nQ: Since when?\nA: Since May."
    first, *replies = quotes_in(text, number=1)
    assert (first.text, first.lead) == ("The keeper was asked in May.", "")
    assert [reply.text for reply in replies] == ["A: Yes.", "A: Since May."]
