"""Translates the screens. Every visible text goes through `_` or `ngettext`.

_("Nothing was found in {name}.").format(name=label(file.name))  # the text is a literal, never an f-string
ngettext("{number} file", "{number} files", number).format(number=numeral(number))

The translations are `locales/<language>.po`; `python -m tests.catalogues` updates them. A text without a
translation appears in English. ragcore writes English; `translate` turns its texts into the reader's
language.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from string import Formatter

from babel.dates import format_date, format_skeleton, format_time
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lectern.ui.state import session

LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "de": "Deutsch",
    "es": "Español",
    "fr": "Français",
    "zh": "中文",
}
LOCALES = Path(__file__).resolve().parent / "locales"
RAGCORE_TEXT = "what ragcore says"  # the comment in a catalogue on texts for `translate`
PART_OF_SENTENCE = "within a sentence"  # the comment on texts that only appear inside another one

_request: ContextVar[str] = ContextVar("the language of the request that is being answered", default="en")


def _(text: str) -> str:
    return _translations(language()).gettext(text)


def ngettext(singular: str, plural: str, number: int) -> str:
    return _translations(language()).ngettext(singular, plural, number)


def translate(text: str) -> str:
    """Translates a complete text of ragcore, such as an error message. An unknown text stays as it is."""
    return _translate(language(), text)


def numeral(number: float, digits: int = 0) -> str:
    """A number in the reader's language: "1,204" and "0.5", "1.204" and "0,5"."""
    return _numeral(number, digits, language())


@lru_cache(maxsize=1_000)  # a page has dozens of small ones
def _numeral(number: float, digits: int, locale: str) -> str:
    return format_decimal(number, format=f"#,##0.{'0' * digits}" if digits else "#,##0", locale=locale)


def day(moment: float) -> str:
    """The local day of a time in seconds since 1970: "May 1, 2026", "01.05.2026"."""
    return format_date(datetime.fromtimestamp(moment), "medium", locale=language())


def month(date_: date) -> str:
    """A heading such as "May 2026" or "Mayo de 2026"."""
    text = format_skeleton("yMMMM", date_, locale=language())
    return text[:1].upper() + text[1:]


def day_and_time(moment: float, *, seconds: bool = False) -> str:
    """For example "May 1, 2026 2:05 PM" or "01.05.2026 14:05"."""
    time = format_time(datetime.fromtimestamp(moment), "medium" if seconds else "short", locale=language())
    return f"{day(moment)} {time}".replace("\u202f", " ")


# Which language.


def language() -> str:
    """The language of the current browser tab or HTTP request, or else English."""
    return session().language if get_script_run_ctx(suppress_warning=True) is not None else _request.get()


def supported_language(tag: str | None) -> str:
    """The supported language of a tag such as "de-AT" or "zh-Hans-CN"; "" if there is none."""
    code = re.split("[-_]", (tag or "").strip().lower())[0]
    return code if code in LANGUAGES else ""


def preferred_language(header: str) -> str:
    """The best supported language of an Accept-Language header (RFC 9110, 12.5.4), or else English."""
    preferences: list[tuple[float, str]] = []
    for entry in header.split(","):
        tag, _semicolon, weight = entry.partition(";")
        share = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", weight) if weight else None
        preferences.append((float(share[1]) if share else 1.0, supported_language(tag)))
    return next(
        (code for weight, code in sorted(preferences, key=lambda item: -item[0]) if code and weight), "en"
    )


def set_request_language(code: str) -> None:
    """Sets the language of the current HTTP request."""
    _request.set(code)


# The catalogues.


def placeholders(text: str) -> set[str]:
    """The names in the braces of a text. ValueError if a brace is not closed."""
    return {name for _literal, name, _spec, _conversion in Formatter().parse(text) if name is not None}


def message_texts(message: Message) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The English and the translated forms of an entry."""
    english, translated = message.id, message.string or ""
    return (
        (english,) if isinstance(english, str) else tuple(english),
        (translated,) if isinstance(translated, str) else tuple(translated),
    )


def entries(catalogue: Catalog) -> Iterator[Message]:
    """All entries except the header of the file."""
    return (message for message in catalogue if message.id)


def read_catalogue(code: str) -> Catalog:
    with (LOCALES / f"{code}.po").open("rb") as file:
        return read_po(file, locale=code)


def drop_broken_translations(catalogue: Catalog) -> Catalog:
    """Drops translations with placeholders that the English text lacks: formatting them would fail."""
    checked = Catalog(locale=catalogue.locale, fuzzy=False)
    for message in entries(catalogue):
        english, translated = message_texts(message)
        known_placeholders = set().union(*map(placeholders, english))
        if all(_has_known_placeholders(form, known_placeholders) for form in translated):
            checked[message.id] = message
    return checked


def compile_catalogue(catalogue: Catalog) -> gettext.GNUTranslations:
    file = BytesIO()
    write_mo(file, catalogue)
    file.seek(0)
    return gettext.GNUTranslations(file)


def _has_known_placeholders(form: str, known_placeholders: set[str]) -> bool:
    try:
        return placeholders(form) <= known_placeholders
    except ValueError:
        return False


@cache
def _translations(code: str) -> gettext.NullTranslations:
    if code not in LANGUAGES or code == "en":
        return gettext.NullTranslations()
    return compile_catalogue(_catalogue(code))


@cache
def _catalogue(code: str) -> Catalog:
    return drop_broken_translations(read_catalogue(code))


# Texts of ragcore.


@dataclass(frozen=True, slots=True)
class Template:
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    translated: str


def _fill_first(templates: Iterable[Template], code: str, text: str) -> str:
    """Translates with the first matching template; an unknown text stays as it is."""
    for template in templates:
        if match := template.pattern.fullmatch(text):
            values = [_translate_part(code, value) for value in match.groups()]
            return template.translated.format(**dict(zip(template.names, values, strict=True)))
    return text


@lru_cache(maxsize=2000)
def _translate(code: str, text: str) -> str:
    if code not in LANGUAGES or code == "en" or not text.strip():
        return text
    whole = _translations(code).gettext(text)
    if whole != text:
        return whole
    parts = re.split(r"(?<=[.?!]) ", text)  # sentences
    translations = [_translate(code, part) for part in parts] if len(parts) > 1 else parts
    if all(translation != part for translation, part in zip(translations, parts, strict=True)):
        return " ".join(translations)
    return _fill_first(_templates(code), code, text)


def _translate_part(code: str, value: str) -> str:
    """Translates a value that fills the braces of a text, if it is known. Names and numbers stay as they
    are."""
    return _fragments(code).get(value) or _fill_first(_parts(code), code, value)


@cache
def _fragments(code: str) -> Mapping[str, str]:
    """Translations of the texts of ragcore without placeholders, by the English text. They also appear inside
    other texts."""
    messages = (message for message in entries(_catalogue(code)) if RAGCORE_TEXT in message.auto_comments)
    return {
        str(message.id): str(message.string)
        for message in messages
        if message.string and not placeholders(str(message.id))
    }


@cache
def _templates(code: str) -> list[Template]:
    return templates(entries(_catalogue(code)))


@cache
def _parts(code: str) -> list[Template]:
    return templates(
        message for message in entries(_catalogue(code)) if PART_OF_SENTENCE in message.auto_comments
    )


def templates(messages: Iterable[Message]) -> list[Template]:
    """Patterns for the texts with placeholders. The most specific, with most literal characters, comes
    first."""
    ranked: list[tuple[int, Template]] = []
    for message in messages:
        if RAGCORE_TEXT not in message.auto_comments or not isinstance(message.id, str) or not message.string:
            continue
        parts = list(Formatter().parse(message.id))
        names = tuple(name for _literal, name, _spec, _conversion in parts if name is not None)
        if names:
            pattern = "".join(
                re.escape(literal) + ("" if name is None else "(.*?)") for literal, name, _s, _c in parts
            )
            literals = sum(len(literal) for literal, _name, _s, _c in parts)
            ranked.append((literals, Template(re.compile(pattern, re.DOTALL), names, str(message.string))))
    return [template for _literals, template in sorted(ranked, key=lambda item: -item[0])]
