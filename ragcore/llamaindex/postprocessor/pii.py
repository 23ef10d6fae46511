"""Mail addresses, telephone numbers and card numbers, masked by rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle

_NUMBER = re.compile(r"(?<![\w.])\+?\(?\d[\d ()/.-]{5,22}\d(?!\w)")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


class PIINodePostprocessor(BaseNodePostprocessor):
    """Replaces them by [EMAIL], [PHONE] and [CARD] in the text. Names, postal addresses and dates stay.

    A number of 13 to 19 digits with a correct check digit (Luhn) is a card; one of 7 to 15 that begins with +
    or 0, or has the groups of a telephone number, a telephone.

    >>> from ragcore.schema import TextNode
    >>> hit = NodeWithScore(TextNode("Write to ada@example.org or call +44 20 7946 0000."))
    >>> PIINodePostprocessor().postprocess_nodes([hit])[0].text
    'Write to [EMAIL] or call [PHONE].'
    """

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        return [replace(hit, node=replace(hit.node, text=_mask(hit.text))) for hit in nodes]


def _mask(text: str) -> str:
    return _NUMBER.sub(lambda match: _number(match.group()), _MAIL.sub("[EMAIL]", text))


def _number(text: str) -> str:
    digits = [int(sign) for sign in text if sign.isdigit()]
    if 13 <= len(digits) <= 19 and _luhn(digits):
        return "[CARD]"
    groups = re.findall(r"\d+", text)
    divided = len(groups) >= 3 and len(groups[-1]) in (3, 4) and len(groups[0]) <= 3
    if (
        7 <= len(digits) <= 15
        and (text[0] in "+0" or text.startswith("(") or divided)
        and not _DATE.fullmatch(text)
    ):
        return "[PHONE]"
    return text


def _luhn(digits: Sequence[int]) -> bool:
    doubled = [
        digit if place % 2 == 0 else 2 * digit - 9 * (digit > 4)
        for place, digit in enumerate(reversed(digits))
    ]
    return sum(doubled) % 10 == 0


_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2}")
