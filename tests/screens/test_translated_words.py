"""No page says English words to a person who has chosen another language.

What Streamlit and the scripts of our own elements draw is looked at in tests/app/test_translated_pages.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pprint import pformat

import pytest

from lectern.ui import labels
from lectern.ui.i18n import LANGUAGES, entries, message_texts, read_catalogue, set_request_language
from tests.screens.conftest import Screen

# A document without a word of English.
DOCUMENT = (
    "Bibliotheca vetus anno millesimo aedificata est. Tres custodes ibi laborant. Custos bibliothecae "
    "Livia Fabia nominatur. Horae apertae sunt ab hora nona ad horam quintam."
)
QUESTION = "Livia Fabia custos?"
WORD = re.compile(r"[^\W\d_]{4,}")
# Nobody reads names of icons and colours, tags, addresses, and the folder of the library.
MARKUP = re.compile(r":material/\w+:|:\w+(?:-\w+)*\[|<[^>]+>|\]\(\S+|/\S+")
SETTINGS = ("model", "answers", "reading", "privacy", "prompts", "display")
WORDY = ("words", "label", "title", "note", "facts", "alt", "tip")  # what the data of an element has to say


def english_words(code: str) -> set[str]:
    """The words of the English screens that those in this language do not have. What the field calls a mode
    stands behind its name in every language, and the name of a language is in that language."""
    english, translated = set[str](), set[str]()
    for message in entries(read_catalogue(code)):
        texts, own_texts = message_texts(message)
        english.update(WORD.findall(" ".join(texts).lower()))
        translated.update(WORD.findall(" ".join(own_texts).lower()))
    modes = " ".join(labels.field_name(mode) for mode in [*labels.chat_modes(), *labels.response_modes()])
    names = " ".join([*LANGUAGES.values(), "Chinese"])
    return english - translated - {*WORD.findall(f"{DOCUMENT} {QUESTION} {modes} {names}".lower())}


def said(screen: Screen) -> Iterator[str]:
    """All that a page says and all its explanations, with what our own elements are given to say."""
    for text in screen.given_texts():
        yield MARKUP.sub("", text)
    for data in screen.own_data():
        yield from texts_in(data, said=False)


def texts_in(value: object, *, said: bool) -> Iterator[str]:
    """The texts of JSON under the names of `WORDY`."""
    if isinstance(value, str):
        if said:
            yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from texts_in(part, said=said or name in WORDY)
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part, said=said)


def shown_english(screen: Screen, words: set[str]) -> set[str]:
    return {
        f"{word}: {text.strip()[:60]}"
        for text in said(screen)
        for word in WORD.findall(text.lower())
        if word in words
    }


@pytest.fixture
def reader_language(code: str) -> Iterator[None]:
    """Of this thread, too, in which AppTest asks for the names of options."""
    set_request_language(code)
    yield
    set_request_language("en")


@pytest.mark.usefixtures("reader_language")
@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_no_page_says_english_words(open_screen: Callable[..., Screen], code: str) -> None:
    screen = open_screen({"bibliotheca.txt": DOCUMENT})
    library = screen.library
    (file,) = library.files.all()
    library.update_settings(library.settings.model_copy(update={"language": code}))
    screen.open("chat").ask(QUESTION)
    chat, answer = screen.tab.query_params["c"], screen.message_id()
    words, found = english_words(code), dict[str, set[str]]()
    for page in ("home", "chat", "notes", "query", "replay", "map", "indexes", "evaluate"):
        found[page] = shown_english(screen.open(page), words)
    for page in SETTINGS:
        found[f"settings {page}"] = shown_english(screen.open("settings", s=page), words)
    found["document"] = shown_english(screen.open("document", d=file.id), words)
    for panel in ("", f"passage.{answer}.1", f"calls.{answer}.1", f"why.{answer}", f"check.{answer}"):
        address = {"c": chat, "p": panel} if panel else {"c": chat}
        found[f"chat {panel}"] = shown_english(screen.open("chat", **address), words)
    assert not any(found.values()), pformat(found, width=200)
