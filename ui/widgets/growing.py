"""A text that grows on the screen: what is a whole paragraph is sent once and not again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ui import resources
from ui.i18n import _
from ui.safetext import answer_md

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


class GrowingText:
    """At the end of `place`; until something comes it says what is waited for."""

    def __init__(self, place: DeltaGenerator) -> None:
        self._place = place
        self._slot = place.empty()
        self._tail = ""  # the paragraph that still grows
        self._begun = False
        self.add("", {})

    def add(self, piece: str, links: Mapping[int, str]) -> None:
        """`links[n]` is where the citation [n] leads."""
        self._begun |= bool(piece)
        if not self._begun:
            self._slot.markdown(f":shimmer[{waiting_words()}]")
            return
        self._tail += piece
        while "\n\n" in self._tail and self._tail.split("\n\n", 1)[0].count("```") % 2 == 0:
            done, self._tail = self._tail.split("\n\n", 1)
            self._slot.markdown(answer_md(done, links))
            self._slot = self._place.empty()
        if piece and self._tail:
            self._slot.markdown(answer_md(self._tail, links))


def waiting_words() -> str:
    state = resources.library().status().embedder
    return _("Getting ready for the first question…") if state in ("idle", "loading") else _("Reading your documents…")
