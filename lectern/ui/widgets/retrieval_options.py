"""The widgets of the options of a retrieval, and changed options in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from lectern.retrieval import OPTIONS, Option, Retrieval
from lectern.ui.i18n import _, numeral, placeholders, translate
from ragcore.retrievers.hybrid import COSINE_SHARE

DEFAULT_BALANCE = round(100 * COSINE_SHARE)  # percent of the score from meaning; the rest is from words


def fill_options(prefix: str, how: Retrieval, fill: Callable[[str, object], None]) -> None:
    """Fills the widgets, whose keys are the prefix and the names of the options."""
    for option in OPTIONS:
        value = getattr(how, option.name)
        if option.kind == "share":
            value = DEFAULT_BALANCE if value is None else round(100 * value)
        elif option.kind == "number":
            value = value or 0.0
        fill(f"{prefix}_{option.name}", value)


def chosen_options(prefix: str, read: Callable[[str], Any]) -> Retrieval:
    """The values of the widgets, which `read` gives by their keys. Without a widget, an option has its
    default."""
    values: dict[str, Any] = {}
    for option in OPTIONS:
        shown = read(f"{prefix}_{option.name}")
        match option.kind:
            case "switch":
                values[option.name] = bool(shown)
            case "text":
                values[option.name] = str(shown or "").strip()
            case "number":
                values[option.name] = float(shown or 0.0) or None
            case "share":
                is_usual = shown is None or int(shown) == DEFAULT_BALANCE
                values[option.name] = None if is_usual else int(shown) / 100
    return Retrieval(**values)


def draw_options(prefix: str, options: Iterable[Option], *, lab: bool = False) -> None:
    """`lab`: with the words for the form of a setting to measure."""
    for option in options:
        label, text = translate(option.label), option_help(option)
        if lab and option.lab_label:
            label = translate(option.lab_label)
        if lab and option.lab_help:
            text = translate(option.lab_help)
        key = f"{prefix}_{option.name}"
        match option.kind:
            case "switch":
                st.toggle(label, key=key, help=text, persist_state="session")
            case "text":
                st.text_input(label, key=key, placeholder=_("None"), help=text, persist_state="session")
            case "number":
                st.number_input(
                    label, 0.0, option.highest, step=option.step, key=key, help=text, persist_state="session"
                )
            case "share":
                st.slider(label, 0, 100, step=5, format="%d%%", key=key, help=text, persist_state="session")


def option_help(option: Option) -> str:
    return _fill(translate(option.help), str(DEFAULT_BALANCE))


def summaries(how: Retrieval) -> list[str]:
    """The changed options, in a few words each."""
    return [_fill(translate(option.summary), _value(option, value)) for option, value in how.changed()]


def descriptions(how: Retrieval) -> list[str]:
    """The changed options: first those with a value, then the switches."""
    changed = sorted(how.changed(), key=lambda item: item[0].kind == "switch")
    return [_fill(translate(option.description), _value(option, value)) for option, value in changed]


def _value(option: Option, value: Any) -> str:
    if option.kind == "share":
        return str(round(100 * value))
    return numeral(value, 2) if option.kind == "number" else str(value)


def _fill(text: str, value: str) -> str:
    """The text with the value in its braces."""
    return text.format(**dict.fromkeys(placeholders(text), value))
