"""The word-by-word differences between two answers: words only in the first are struck through, words only in
the second underlined. The person pins two columns, and the side panel shows the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from lectern.schema import Message
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import label
from lectern.ui.state import session
from lectern.ui.widgets.component import component
from ragcore.text.word_diff import Piece, legible, word_differences

if TYPE_CHECKING:
    from lectern.ui.widgets.panel import Opened

DIFFERENCES = "differences"  # the kind of side panel

_DIFFERENCES = component("differences", '<div class="root"></div>')


def show_differences(first: Message, second: Message) -> None:
    """Opens them in the side panel. Both are from one conversation."""
    places = [message.id for message in resources.library().conversations.messages(first.conversation_id)]
    session().panel = f"{DIFFERENCES}.{first.id}.{places.index(second.id) + 1}"


def opened_pair(opened: Opened) -> tuple[Message, Message] | None:
    """Both answers. `opened.number` is the position of the second one in the conversation."""
    messages = resources.library().conversations.messages(opened.message.conversation_id)
    return (opened.message, messages[opened.number - 1]) if 0 < opened.number <= len(messages) else None


def differences_title(opened: Opened) -> str:
    pair = opened_pair(opened)
    if pair is None:
        return ""
    return _("From {first} to {second}").format(first=mode_label(pair[0]), second=mode_label(pair[1]))


def differences(opened: Opened) -> None:
    pair = opened_pair(opened)
    if pair is None:
        return
    pieces = word_differences(pair[0].text, pair[1].text)
    if have_same_words(pieces):
        st.markdown(_("Both answers say the same, word for word."))
        return
    removed, added = (
        sum(len(piece.text.split()) for piece in pieces if piece.kind == kind)
        for kind in ("removed", "added")
    )
    words = {"removed": _only_in(pair[0], removed), "added": _only_in(pair[1], added)}
    _DIFFERENCES(
        key="differences",
        data={"pieces": [[piece.kind, piece.text] for piece in legible(pieces)], "words": words},
    )


def have_same_words(pieces: Sequence[Piece]) -> bool:
    """Whether the answers differ at most in white space."""
    return all(piece.kind == "same" or not piece.text.strip() for piece in pieces)


def _only_in(message: Message, count: int) -> str:
    text = ngettext("{number} word only in {way}", "{number} words only in {way}", count)
    return text.format(number=numeral(count), way=mode_label(message))


def mode_label(message: Message) -> str:
    """The response mode of an answer."""
    return labels.mode_label(message.ask.response_mode) if message.ask else ""


def pinned_answers(answers: list[Message], opened: Opened | None) -> list[Message]:
    """The pinned answers, at most two. After a reload they come from the panel."""
    state = session()
    pair = opened_pair(opened) if opened is not None and opened.kind == DIFFERENCES else None
    if pair is not None:
        state.query.pinned = (pair[0].id, pair[1].id)
    state.query.pinned = tuple(
        id_ for id_ in state.query.pinned if any(answer.id == id_ for answer in answers)
    )
    return [answer for answer in answers if answer.id in state.query.pinned]


def pin_button(message: Message, answers: list[Message]) -> None:
    pinned = message.id in session().query.pinned
    st.button(
        _("Pinned") if pinned else _("Pin"),
        key=f"pin_{message.id}",
        type="tertiary",
        icon=":material/check:" if pinned else ":material/keep:",
        help=_("Pin two answers to see where they differ, word by word."),
        on_click=_pin,
        args=(message, answers),
    )


def pinned_line(pinned: list[Message]) -> None:
    """A hint if one answer is pinned, a button to the differences if two are."""
    if len(pinned) == 2:
        text = _("Differences between {first} and {second}").format(
            first=label(mode_label(pinned[0])), second=label(mode_label(pinned[1]))
        )
        st.button(
            text,
            key="show_differences",
            type="tertiary",
            icon=":material/compare:",
            on_click=show_differences,
            args=tuple(pinned),
        )
    elif pinned:
        st.caption(
            _("Pin a second answer to see where it differs from {way}.").format(
                way=label(mode_label(pinned[0]))
            )
        )


def _pin(message: Message, answers: list[Message]) -> None:
    state = session()
    is_open = state.panel.startswith(f"{DIFFERENCES}.")
    if message.id in state.query.pinned:
        state.query.pinned = tuple(id_ for id_ in state.query.pinned if id_ != message.id)
        state.panel = "" if is_open else state.panel
        return
    state.query.pinned = (*state.query.pinned, message.id)[-2:]
    pair = [answer for answer in answers if answer.id in state.query.pinned]  # in column order
    if len(pair) == 2:
        show_differences(*pair)
