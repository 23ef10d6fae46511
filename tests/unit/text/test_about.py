from __future__ import annotations

import pytest

from ragcore.text.about import about


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("According to the document, who built the tower?", "who built the tower?"),
        ("Who built the tower according to the author?", "Who built the tower ?"),
        ("What does the author say about the tower?", "What does say about the tower?"),
        ("In this article, when did it fall?", "when did it fall?"),
        ("In the document who built the tower?", "who built the tower?"),
        ("What does the text say about the tower?", "What does say about the tower?"),
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
