from __future__ import annotations

import pytest

from ragcore.questions.topic import about, apart_from_name, called, in_first_person, named
from ragcore.vector_stores.search import query_terms


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("According to the document, who built the tower?", "who built the tower?"),
        ("Who built the tower according to the author?", "Who built the tower ?"),
        ("What does the author say about the tower?", "the tower?"),
        ("In this article, when did it fall?", "when did it fall?"),
        ("In the document who built the tower?", "who built the tower?"),
        ("What does the text say about the tower?", "the tower?"),
        ("What does our fire safety handbook tell us about alarms?", "alarms?"),
        ("Does this report mention a storm?", "a storm?"),
        ("Does the contract say anything about rent?", "rent?"),
        ("How does the document define a storm?", "a storm?"),
        ("What is said about storms in the manual?", "storms ?"),
        ("Tell me more about the flood of 1953.", "the flood of 1953."),
        ("What can you tell me about the flood?", "the flood?"),
        ("Is there anything about dogs in the handbook?", "dogs ?"),
        ("Any information on dogs?", "dogs?"),
        ("Gibt es etwas zu Hunden?", "Hunden?"),
        ("Y a-t-il des règles sur les chiens ?", "les chiens ?"),
        ("¿Hay algo sobre perros?", "perros?"),
        ("What happened at the mill?", "What at the mill?"),
        ("What else took place in 1995?", "What else in 1995?"),
        ("Was geschah in der Mühle?", "Was in der Mühle?"),
        ("Que s’est-il passé au moulin ?", "Qu au moulin ?"),
        ("¿Qué pasó en el molino?", "¿Qué en el molino?"),
        ("When does the report say the tower fell?", "When the tower fell?"),
        ("Erzähl mir etwas über Hunde", "Hunde"),
        ("Parle-moi de la tempête", "la tempête"),
        ("Háblame de la tormenta", "la tormenta"),
        ("Does the policy allow dogs?", "Does allow dogs?"),
        ("In the minutes, who voted?", "who voted?"),
        ("Was sagt das Handbuch über Stürme?", "Stürme?"),
        ("Was steht im Bericht zum Umsatz?", "Umsatz?"),
        ("Que dit le manuel sur la tempête ?", "la tempête ?"),
        ("¿Qué dice el informe sobre la tormenta?", "¿ la tormenta?"),
        ("手册中关于安全说了什么？", "关于安全说了什么？"),
        ("Wer baute laut dem Text den Turm?", "Wer baute den Turm?"),
        ("Selon le texte, qui a construit la tour ?", "qui a construit la tour ?"),
        ("Según el documento, ¿quién construyó la torre?", "¿quién construyó la torre?"),
        ("根据本文，谁建造了这座塔？", "谁建造了这座塔？"),
    ],
)
def test_what_a_question_says_of_the_text_is_left_out(question: str, left: str) -> None:
    assert about(question) == left


@pytest.mark.parametrize(
    "question",
    [
        "Who is the author?",
        "Who is the author of Emma?",
        "What did the author of Emma write next?",
        "What is in the document?",
        "What does the document say?",
        "Tell me the price of a ticket",
        "What happened?",
        "What did she tell me about dogs?",
        "What does the book club say about it?",
        "Who wrote the letter?",
        "What is the policy on dogs?",
        "What is said in the article about Rome?",
        "Which file does the printer need?",
        "How is paper made?",
        "What changed in the paper industry?",
        "Did the paper industry grow?",
        "How large may a folder be in the file system?",
        "Welche Farben gibt es im Text Editor?",
        "日本文化有什么特点？",
        "基本文件有哪些？",
        "",
    ],
)
def test_a_question_about_a_text_stays_as_it_is(question: str) -> None:
    assert about(question) == question


def test_what_a_file_may_be_called_stays_where_it_is_looked_for() -> None:
    assert about("What does the staff handbook say about dogs?", with_names=True) == "staff handbook dogs?"
    assert about("What does the document say about dogs?", with_names=True) == "dogs?"
    assert query_terms("What does the handbook say about dogs?") == query_terms("handbook dogs")


@pytest.mark.parametrize(
    ("question", "document", "said", "left"),
    [
        ("What did Ada Penrose build first?", "ada_penrose-memoir.txt", "I built it.", "What did build first?"),
        ("Ada Penrose's first work was what?", "Ada Penrose (1911).docx", "I built it.", "first work was what?"),
        ("When did PerksPlus begin?", "PerksPlus.pdf", "It began in May.", "When did begin?"),
        ("When did the tower fall?", "tower.txt", "It fell.", ""),  # no name
        ("What did Ada Penrose build?", "ada_penrose.txt", "Ada says so.", ""),
        ("What did Ada Marsh build?", "ada_penrose.txt", "I built it.", ""),
        ("Who is Ada Penrose?", "ada_penrose.txt", "I built it.", ""),
        ("What did Ada Penrose build?", "", "I built it.", ""),
    ],
)
def test_the_name_of_a_document_that_does_not_say_it_is_left_out(question: str, document: str, said: str, left: str) -> None:
    assert apart_from_name(question, document, said) == left


PLANS = ["Northwind_Health_Plus_Details.pdf", "Northwind_Standard_Details.pdf", "employee_handbook.docx"]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What is the deductible of Northwind Standard?", PLANS[1:2]),
        ("Which services does Northwind Health Plus cover?", PLANS[:1]),
        ("Do Northwind Health Plus and Northwind Standard differ?", PLANS[:2]),
        ("What does the employees' handbook say about dogs?", PLANS[2:]),
        ("What does Northwind cover?", []),
        ("How many days off does an employee have?", []),
    ],
)
def test_documents_are_named_by_what_tells_their_names_apart(question: str, meant: list[str]) -> None:
    assert named(question, PLANS) == set(meant)


@pytest.mark.parametrize(
    ("topic", "meant"),
    [
        ("club handbook", ["club handbook.docx"]),
        ("Club_Handbook.docx", ["club handbook.docx"]),
        ("handbook", ["club handbook.docx", "employee_handbook.pdf"]),
        ("roof e-mail", ["1 roof.eml"]),
        ("roofs", ["1 roof.eml"]),
        ("club rules", []),
        ("club", ["club handbook.docx"]),
        ("", []),
    ],
)
def test_what_a_document_is_called_is_its_name_or_a_part_of_it(topic: str, meant: list[str]) -> None:
    assert called(topic, ["club handbook.docx", "employee_handbook.pdf", "1 roof.eml"]) == set(meant)


def test_the_name_of_the_only_document_tells_nothing() -> None:
    assert named("What does Northwind Standard cover?", PLANS[1:2]) == set()
    assert named("What is said?", ["", "2024.pdf"]) == set()


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("What did the author do in school?", "What did I do in school?"),
        ("Where does the author live?", "Where do I live?"),
        ("How long has the author lived there?", "How long have I lived there?"),
        ("Why is the author sad?", "Why am I sad?"),
        ("When was the writer born?", "When was I born?"),
        ("What was the narrator’s first job?", "What was my first job?"),
        ("Who is the author?", "Who is the author?"),
        ("Who was the author of Emma?", "Who was the author of Emma?"),
        ("Who built the tower?", "Who built the tower?"),
    ],
)
def test_what_is_asked_of_the_author_is_asked_as_the_author_would(question: str, own: str) -> None:
    assert in_first_person(question) == own
