from __future__ import annotations

import pytest

from ragcore.extractive.languages.source_mentions import remove_source_mentions


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
        ("Is there anything in the handbook about dogs?", "dogs?"),
        ("Which roles are mentioned in the text?", "Which roles are ?"),
        ("Was steht im Mietvertrag zur Kaution?", "Kaution?"),
        ("Laut dem Dokument: Wer baute den Turm?", "Wer baute den Turm?"),
        ("Does the contract say anything about rent?", "rent?"),
        ("How does the document define a storm?", "a storm?"),
        ("What is said about storms in the manual?", "storms ?"),
        ("Is there anything about dogs in the handbook?", "dogs ?"),
        ("Any information on dogs?", "dogs?"),
        ("Gibt es etwas zu Hunden?", "Hunden?"),
        ("Y a-t-il des règles sur les chiens ?", "les chiens ?"),
        ("¿Hay algo sobre perros?", "perros?"),
        ("What happened at the mill?", "What at the mill?"),
        ("Was geschah in der Mühle?", "Was in der Mühle?"),
        ("Que s’est-il passé au moulin ?", "Qu au moulin ?"),
        ("¿Qué pasó en el molino?", "¿Qué en el molino?"),
        ("When does the report say the tower fell?", "When the tower fell?"),
        ("Erzähl mir etwas über Hunde", "Hunde"),
        ("Parle-moi de la tempête", "la tempête"),
        ("Háblame de la tormenta", "la tormenta"),
        ("Does the policy allow dogs?", "allow dogs?"),
        ("In the minutes, who voted?", "who voted?"),
        ("Was sagt das Handbuch über Stürme?", "Stürme?"),
        ("Was steht im Bericht zum Umsatz?", "Umsatz?"),
        ("Que dit le manuel sur la tempête ?", "la tempête ?"),
        ("¿Qué dice el informe sobre la tormenta?", "¿ la tormenta?"),
        ("手册中关于安全说了什么？", "关于安全 ？"),
        ("Wer baute laut dem Text den Turm?", "Wer baute den Turm?"),
        ("Selon le texte, qui a construit la tour ?", "qui a construit la tour ?"),
        ("Según el documento, ¿quién construyó la torre?", "¿quién construyó la torre?"),
        ("根据本文，谁建造了这座塔？", "谁建造了这座塔？"),
    ],
)
def test_mentions_of_the_text_are_removed_from_a_question(question: str, left: str) -> None:
    assert remove_source_mentions(question) == left


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
        "Which file does the printer need?",
        "How is paper made?",
        "What changed in the paper industry?",
        "Did the paper industry grow?",
        "How large may a folder be in the file system?",
        "Welche Farben gibt es im Text Editor?",
        "What policy did the Kelven Report contain?",
        "¿Por dónde pasó el río?",
        "在文章的标题中，机器希望什么？",
        "日本文化有什么特点？",
        "基本文件有哪些？",
        "",
    ],
)
def test_a_question_about_a_text_stays_as_it_is(question: str) -> None:
    assert remove_source_mentions(question) == question
