from __future__ import annotations

import pytest

from ragcore.extractive.fixed_replies import GREETED, THANKED
from ragcore.extractive.small_talk import reply_to
from ragcore.schema import ChatMessage, MessageRole


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("hello", "en"),
        ("Hi!", "en"),
        ("Hello there 👋", "en"),
        ("Hi, what can you do?", "en"),
        ("Who are you and what can you do?", "en"),
        ("Guten Tag!", "de"),
        ("Was kannst du?", "de"),
        ("Bonjour", "fr"),
        ("Que pouvez-vous faire ?", "fr"),
        ("¡Hola! ¿Qué puedes hacer?", "es"),
        ("你好！", "zh"),
        ("你好，你能做什么？", "zh"),
    ],
)
def test_greeting_is_answered_in_its_language_with_topics(message: str, language: str) -> None:
    assert reply_to(message) == GREETED[language]


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("thanks", "en"),
        ("Thank you very much!", "en"),
        ("Ok, thanks", "en"),
        ("Thanks, that helped a lot", "en"),
        ("This is really helpful, and thank you!", "en"),
        ("danke", "de"),
        ("Vielen Dank!", "de"),
        ("Danke, das hat mir sehr geholfen.", "de"),
        ("Merci beaucoup.", "fr"),
        ("¡Gracias!", "es"),
        ("谢谢", "zh"),
    ],
)
def test_thanks_are_answered_in_their_language(message: str, language: str) -> None:
    assert reply_to(message) == THANKED[language]


@pytest.mark.parametrize(
    "message",
    [
        "Hello, when is the office open?",
        "Thanks to whom is sales led?",
        "Thanks, and who leads marketing?",
        "What can you do with a badge?",
        "Who are you to contact?",
        "Hi-fi",
        "Hallo, wann ist der Zahnarzt?",
        "Dank wem läuft der Verkauf?",
        "Merci à qui ?",
        "谢谢，房租是多少？",
        "there",
        "?",
        "",
    ],
)
def test_a_question_is_no_small_talk(message: str) -> None:
    assert reply_to(message) == ""


def test_bilingual_greeting_uses_the_conversation_s_language() -> None:
    history = [ChatMessage(MessageRole.USER, "Wie hoch ist die Miete?"), ChatMessage(MessageRole.USER, "Hi")]
    assert (reply_to("hi"), reply_to("hi", history)) == (GREETED["en"], GREETED["de"])
