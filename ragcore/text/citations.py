"""Citations in an answer: [3] is the third of its passages, [3, 5] the third and the fifth."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ragcore.text.code_fences import rewrite_outside_code, rewrite_outside_spans

_NUMBER = r"\d{1,6}"  # up to all passages of a library

# of one passage or of several; no link
CITATION = re.compile(rf"\[{_NUMBER}(?:\s*[,;]\s*{_NUMBER})*\](?!\()")
MARKS = re.compile(rf"(?:\s*{CITATION.pattern})+")  # neighbours, with the space before them


_MOST_PASSAGES = 99  # a larger number is no citation of a missing passage, but a year, say
# The words for a passage in the languages of our prompts and answers.
_PASSAGE = r"(?:passages?|sources?|documents?|passagen?|quellen?|pasajes?|fuentes?|段落|来源|文档)"
_NUMBERS = rf"(?P<numbers>#?{_NUMBER}(?:\s*(?:[,;&]|and|und|et|y|和|、)\s*(?:{_PASSAGE}\s*)?#?{_NUMBER})*)"
_ANY_FORM = re.compile(
    "(?P<space>[^\\S\\n]*)(?:"
    + "|".join(
        form.replace("NUMBERS", _NUMBERS.replace("numbers", f"form{at}"))
        for at, form in enumerate(
            (
                rf"[\[(（]{_PASSAGE}\s*NUMBERS[\])）](?!\()",  # [Passage 1], (source 2)
                r"\[\^?NUMBERS\.?\](?!\()",  # [1], [^1], [1.]
                r"[【［]NUMBERS[^】］\n]{0,20}[】］]",  # 【1】, 【1†source】
                r"\b(?:passages?|passagen?|pasajes?)\s+NUMBERS\b",  # passage 1, as prompts name it
            )
        )
    )
    + ")",
    re.IGNORECASE,
)


def cited_in(text: str) -> list[int]:
    """The numbers that a text cites, in order, with repeats."""
    return [int(number) for cited in CITATION.findall(text) for number in re.findall(_NUMBER, cited)]


def renumber(text: str, numbers: Mapping[int, int]) -> str:
    """The text with [n] as [numbers[n]], except in code. Neighbours that become the same citation are one.

    >>> renumber("Blue [3][5], red [9]. `x[3]`", {3: 1, 5: 1, 9: 2})
    'Blue [1], red [2]. `x[3]`'
    """

    def replace(match: re.Match[str]) -> str:
        space = match.group()[: match.group().index("[")]
        new = dict.fromkeys(numbers.get(number, number) for number in cited_in(match.group()))
        return space + "".join(f"[{number}]" for number in new)

    def replace_in_line(line: str) -> str:
        return rewrite_outside_spans(line, lambda part: MARKS.sub(replace, part))

    return rewrite_outside_code(text, line=replace_in_line, language=lambda name: name)


def standard_citations(text: str, count: int) -> str:
    """The text with every form of a citation of `count` passages as [n], without citations of passages that
    do not exist. A larger number in brackets, such as a year, stays.

    >>> standard_citations("Blue (passage 1), not red 【2†source】 [Passages 1 and 3].", 2)
    'Blue [1], not red [2] [1].'
    """

    def standard(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(_NUMBER, match[match.lastgroup or 0])]
        if min(numbers) > max(count, _MOST_PASSAGES):
            return match.group()
        known = [number for number in dict.fromkeys(numbers) if 1 <= number <= count]
        return match["space"] * bool(known) + "".join(f"[{number}]" for number in known)

    return _ANY_FORM.sub(standard, text)


def rewrite_citations(text: str, rewrite: Callable[[int], str]) -> str:
    """The text with `rewrite(number)` in place of each number that it cites."""
    return CITATION.sub(lambda match: "".join(map(rewrite, cited_in(match.group()))), text)
