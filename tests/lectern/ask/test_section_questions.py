"""Questions about a chapter, a clause, a titled section or a speaker, in five languages."""

from __future__ import annotations

import pytest

from lectern.ask.section_questions import SectionQuestion, SpeakerQuestion, find_location_question


@pytest.mark.parametrize(
    ("question", "kind", "number"),
    [
        ("What does chapter 3 say?", "chapter", "3"),
        ("What does Chapter IV say?", "chapter", "4"),
        ("Quote section 2.1, please", "section", "2.1"),
        ("What does the third chapter say?", "chapter", "3"),
        ("What does clause 8 of the contract say?", "clause", "8"),
        ("What is in appendix B?", "appendix", "B"),
        ("Was steht in Kapitel 3?", "chapter", "3"),
        ("Was steht im dritten Kapitel?", "chapter", "3"),
        ("Was sagt § 4?", "paragraph", "4"),
        ("Que dit l'article 5 ?", "article", "5"),
        ("Qu'y a-t-il dans la section 2.1 ?", "section", "2.1"),
        ("¿Qué dice la cláusula octava?", "clause", "8"),
        ("¿Qué hay en el artículo 12?", "article", "12"),
        ("第三章写了什么？", "chapter", "3"),
        ("第12条的内容是什么？", "article", "12"),
    ],
)
def test_the_text_of_a_numbered_section_is_asked(question: str, kind: str, number: str) -> None:
    asked = find_location_question(question)
    assert isinstance(asked, SectionQuestion)
    assert (asked.kind, asked.number, asked.wants_text([])) == (kind, number, True)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What does the section on parking say?", "parking"),
        ('What is in the chapter "Opening hours"?', "Opening hours"),
        ("Was steht im Abschnitt über Parken?", "Parken"),
        ("Que dit la section sur le bruit ?", "bruit"),
        ("¿Qué dice el capítulo sobre ruido?", "ruido"),
        ("“停车”一章里写了什么？", "停车"),
    ],
)
def test_the_text_of_a_titled_section_is_asked(question: str, title: str) -> None:
    asked = find_location_question(question)
    assert isinstance(asked, SectionQuestion)
    assert (asked.title, asked.wants_text([])) == (title, True)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What did Ida say?", "Ida"),
        ("What did Ida Berg answer?", "Ida Berg"),
        ("Was hat Miriam gesagt?", "Miriam"),
        ("Qu'a répondu Claire ?", "Claire"),
        ("¿Qué dijo Marcos?", "Marcos"),
        ("小王说了什么？", "小王"),
    ],
)
def test_what_a_speaker_said_is_asked(question: str, name: str) -> None:
    asked = find_location_question(question)
    assert isinstance(asked, SpeakerQuestion)
    assert asked.name == name


@pytest.mark.parametrize(
    "question",
    [
        "How many chapters are there?",
        "What do clauses 3 and 4 say?",
        "Compare chapter 3 and chapter 4.",
        "What does clause 3-5 say?",
        "What did I do in chapter 3 of my life?",
        "Wo war ich in Kapitel 3 meines Lebens?",
        "What did Ida say about chairs?",
    ],
)
def test_no_section_or_several_are_left_to_the_search(question: str) -> None:
    assert find_location_question(question) is None


def test_something_in_a_section_is_not_its_text() -> None:
    asked = find_location_question("What does section 7 say about noise?")
    assert asked is not None
    assert (asked.is_inside, asked.wants_text([]), asked.remainder) == (True, False, "What say about noise?")
