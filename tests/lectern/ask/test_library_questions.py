"""Which questions are about the library itself or a page of it, and which are about what documents say."""

from __future__ import annotations

import pytest

from lectern.ask.library_questions import find_library_question, find_page_question
from ragcore.schema import Document, Page


@pytest.mark.parametrize(
    ("question", "kind", "language"),
    [
        ("How many documents are there?", "all", "en"),
        ("how many files do I have", "all", "en"),
        ("How many files are in my library?", "all", "en"),
        ("Which files do I have?", "all", "en"),
        ("Please list all my documents.", "all", "en"),
        ("What documents have we uploaded?", "all", "en"),
        ("What is the newest file?", "newest", "en"),
        ("Which document was added last?", "newest", "en"),
        ("What was added this week?", "week", "en"),
        ("Which files were added today?", "today", "en"),
        ("How many documents did I upload today?", "today", "en"),
        ("Which is the longest document?", "longest", "en"),
        ("Wie viele Dokumente gibt es?", "all", "de"),
        ("Welche Dateien habe ich?", "all", "de"),
        ("Zeige mir alle Dokumente in der Bibliothek", "all", "de"),
        ("Wie viele Dateien sind in meiner Bibliothek?", "all", "de"),
        ("Was ist die neueste Datei?", "newest", "de"),
        ("Welches Dokument wurde zuletzt hinzugefügt?", "newest", "de"),
        ("Was wurde diese Woche hinzugefügt?", "week", "de"),
        ("Welche Dateien habe ich heute hochgeladen?", "today", "de"),
        ("Welches ist das längste Dokument?", "longest", "de"),
        ("Combien de documents y a-t-il ?", "all", "fr"),
        ("Combien ai-je de fichiers ?", "all", "fr"),
        ("Quels fichiers ai-je ?", "all", "fr"),
        ("Quels sont mes documents ?", "all", "fr"),
        ("Quel est le fichier le plus récent ?", "newest", "fr"),
        ("Qu’est-ce qui a été ajouté cette semaine ?", "week", "fr"),
        ("Quels documents ont été ajoutés aujourd’hui ?", "today", "fr"),
        ("Quel est le document le plus long ?", "longest", "fr"),
        ("¿Cuántos documentos hay?", "all", "es"),
        ("¿Qué archivos tengo?", "all", "es"),
        ("Muéstrame todos mis archivos", "all", "es"),
        ("¿Cuál es el archivo más reciente?", "newest", "es"),
        ("¿Qué se ha añadido esta semana?", "week", "es"),
        ("¿Qué documentos se añadieron hoy?", "today", "es"),
        ("¿Cuál es el documento más largo?", "longest", "es"),
        ("有多少个文档？", "all", "zh"),
        ("我有哪些文件？", "all", "zh"),
        ("列出我的所有文件", "all", "zh"),
        ("最新的文件是哪个？", "newest", "zh"),
        ("这周添加了哪些文件？", "week", "zh"),
        ("今天上传了什么？", "today", "zh"),
        ("最长的文档是哪个？", "longest", "zh"),
    ],
)
def test_a_question_about_the_library_is_recognised(question: str, kind: str, language: str) -> None:
    assert find_library_question(question) == (kind, language)


@pytest.mark.parametrize(
    "question",
    [
        "How many documents must I bring?",
        "How many documents are there in the appendix?",
        "How many documents do I have to sign?",
        "Which files does the installer copy?",
        "Which files are there to configure the server?",
        "Which documents do I have to keep for ten years?",
        "What is the newest regulation?",
        "What is the latest document of the council?",
        "What is the longest bridge?",
        "How many files can be opened at once?",
        "How many files are open?",
        "What was added this week to the collection of the museum?",
        "What was decided this week?",
        "List the documents that a visa needs.",
        "List all documents.",
        "How many copies are there?",
        "Wie viele Dokumente muss ich mitbringen?",
        "Wie viele Dokumente habe ich vorzulegen?",
        "Welche Dateien kopiert das Installationsprogramm?",
        "Welche Dokumente habe ich bei der Einreise zu zeigen?",
        "Was ist die neueste Verordnung?",
        "Wie viele Dateien können gleichzeitig geöffnet sein?",
        "Was wurde diese Woche beschlossen?",
        "Welches ist das längste Kapitel?",
        "Combien de documents dois-je apporter ?",
        "Quels fichiers copie l’installateur ?",
        "Quel est le règlement le plus récent ?",
        "Combien de fichiers peuvent être ouverts à la fois ?",
        "Quels documents ai-je à fournir ?",
        "Quel est le pont le plus long ?",
        "¿Cuántos documentos debo traer?",
        "¿Qué archivos copia el instalador?",
        "¿Cuál es el reglamento más reciente?",
        "¿Cuántos archivos se pueden abrir a la vez?",
        "¿Qué documentos tengo que presentar?",
        "¿Qué documentos hay que llevar?",
        "我需要带多少份文件？",
        "安装程序复制哪些文件？",
        "最新的规定是什么？",
        "一次能打开多少个文件？",
        "申请签证有哪些文件要求？",
        "今天决定了什么？",
        "",
    ],
)
def test_a_question_about_content_is_left_to_the_documents(question: str) -> None:
    assert find_library_question(question) is None


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("What is on page 12?", "12"),
        ("What does page 3 say?", "3"),
        ("page iv", "iv"),
        ("And page 4?", "4"),
        ("Please show me the text of slide 4.", "4"),
        ("What is on sheet Costs?", "Costs"),
        ('What is on the sheet "Costs 2026"?', "Costs 2026"),
        ("Was steht auf Seite 5?", "5"),
        ("Was steht auf der Folie 2?", "2"),
        ("Zeige mir das Blatt Kosten", "Kosten"),
        ("Que dit la page 3 ?", "3"),
        ("Qu’y a-t-il à la page 7 ?", "7"),
        ("Que contient la diapositive 2 ?", "2"),
        ("¿Qué dice la página 3?", "3"),
        ("¿Qué hay en la hoja Costes?", "Costes"),
        ("第3页写了什么？", "3"),
        ("请显示第 12 页的内容", "12"),
    ],
)
def test_the_text_of_a_page_is_asked_by_its_label(question: str, label: str) -> None:
    asked = find_page_question(question)
    assert asked is not None
    assert (asked.label, asked.wants_text([]), asked.wants_summary) == (label, True, False)


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("What is on the last page?", 2),
        ("What does the first page say?", 0),
        ("Was steht auf der letzten Seite?", 2),
        ("Que dit la dernière page ?", 2),
        ("¿Qué pone en la primera página?", 0),
        ("最后一页说了什么？", 2),
    ],
)
def test_the_first_and_the_last_page_need_no_label(question: str, index: int) -> None:
    asked = find_page_question(question)
    assert asked is not None
    assert asked.wants_text([])
    pages = (Page("i", 0, 1), Page("1", 1, 2), Page("2", 2, 3))
    assert asked.find(Document("abc", pages=pages)) == [(pages[index].start, pages[index].end)]
    assert asked.find(Document("abc")) == []


@pytest.mark.parametrize(
    "question",
    ["Summarise page 2", "Fasse Seite 2 zusammen", "Résume la page 2", "Resumen de la página 2", "总结第2页"],
)
def test_a_summary_of_a_page_is_not_its_text(question: str) -> None:
    asked = find_page_question(question)
    assert asked is not None
    assert (asked.label, asked.wants_text([]), asked.wants_summary) == ("2", False, True)


@pytest.mark.parametrize(
    ("question", "is_inside"),
    [
        ("What does page 3 say about fees?", True),
        ("Who is named on page 3?", True),
        ("Was sagt Seite 3 über Gebühren?", True),
        ("Que dit la page 3 sur les frais ?", True),
        ("¿Qué dice la página 3 sobre las tasas?", True),
        ("第3页上谁签了名？", True),
        ("Which form refers to page 3?", False),
    ],
)
def test_something_on_a_page_is_not_its_text(question: str, is_inside: bool) -> None:
    asked = find_page_question(question)
    assert asked is not None
    assert (asked.label, asked.wants_text([]), asked.is_inside) == ("3", False, is_inside)


def test_the_name_of_a_file_is_no_topic() -> None:
    asked = find_page_question("What is on page 2 of Lease 2024.pdf?")
    assert asked is not None
    assert (asked.wants_text([]), asked.wants_text(["Lease 2024.pdf"])) == (False, True)


@pytest.mark.parametrize(
    "question",
    [
        "How many pages are there?",
        "What do pages 3-5 say?",
        "What is on page 3-5?",
        "Compare page 3 and page 5.",
        "Was steht auf Seite 3 bis 5?",
        "Was steht Seite an Seite?",
        "What is on the page I signed?",
        "What does paragraph 3 say?",
        "第三章写了什么？",
    ],
)
def test_no_page_or_several_are_left_to_the_search(question: str) -> None:
    assert find_page_question(question) is None
