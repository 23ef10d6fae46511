"""One numbering of passages for an answer that is joined from several."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing

from ragcore.schema import NodeWithScore
from ragcore.text.citations import CITATION, cited_in

_UNFINISHED = re.compile(r"\[[\d\s,;]{0,60}$")  # a citation whose end may come with the next piece


class Citations:
    """Numbers passages 1, 2, 3 … in the order in which a text cites them. `cited` has the passages so far."""

    def __init__(self) -> None:
        self.cited: list[NodeWithScore] = []
        self._numbers: dict[str, int] = {}

    def renumber(self, text: str, nodes: Sequence[NodeWithScore]) -> str:
        """The text with new numbers. [n] in `text` cites `nodes[n - 1]`; other numbers do not change."""

        def mark(match: re.Match[str]) -> str:
            known = [
                self._number(nodes[number - 1])
                for number in cited_in(match.group())
                if 1 <= number <= len(nodes)
            ]
            return "".join(f"[{number}]" for number in dict.fromkeys(known)) or match.group()

        return CITATION.sub(mark, text)

    def stream(
        self, pieces: Generator[str, None, object], nodes: Sequence[NodeWithScore]
    ) -> Generator[str, None, None]:
        """Like `renumber`, for a text in pieces. A piece that may end inside a citation waits for the
        next."""
        rest = ""
        with closing(pieces):
            for piece in pieces:
                rest += piece
                unfinished = _UNFINISHED.search(rest)
                cut = unfinished.start() if unfinished else len(rest)
                yield self.renumber(rest[:cut], nodes)
                rest = rest[cut:]
        yield self.renumber(rest, nodes)

    def _number(self, hit: NodeWithScore) -> int:
        number = self._numbers.setdefault(hit.node.id_, len(self._numbers) + 1)
        if number > len(self.cited):
            self.cited.append(hit)
        return number
