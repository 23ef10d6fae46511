"""The turns of a conversation in a text: a chat log, an interview, a transcript.

A turn begins with its speaker: "[12/03/2026, 10:01] Ida: ...", "10:02 - Pål: ...", "Ida (10:02): ...", a line
"Ida  10:02" above the words, or "Ida: ..." alone. A line of a form or a note begins like the last, so
these are turns only if they hold a question that another speaker answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcore.text.keywords import content_words
from ragcore.text.sentences import sentences

MIN_STAMPED = 2  # turns with a time, in a conversation
MIN_OF_SPEAKER = 2  # turns of at least two speakers, in a conversation without times
MAX_REPLY = 300  # characters of a turn that is one reply; of a longer one, each sentence is
MAX_UNMARKED = 10  # words of a question without a question mark

_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?m\.?)?"
_STAMP = rf"(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?[ T]+)?{_TIME}"
_NAME = r"(?:~ ?)?[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,3}|\+\d[\d ]{6,16}"
_COLON = "[ \u00a0\u202f]?[:：]"
_STAMPED = re.compile(
    rf"^[ \t\u200e]*(?:\[{_STAMP}\][ -]*(?P<a>{_NAME}){_COLON}|{_STAMP}(?: [-–])?[ \t]+(?P<b>{_NAME}){_COLON}"
    rf"|\[?{_STAMP}\]?[ \t]*<(?P<c>{_NAME})>"
    rf"|(?P<d>{_NAME})[ \t]*[(\[]{_STAMP}[)\]][:：]?"
    rf"|(?P<line>{_NAME})[ \t—–-]+(?=\d+:){_STAMP}[ \t]*$)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_SPOKEN = re.compile(
    r"^[ \t]*(?P<stars>\*{0,2})(?=[^\Wa-zß-ÿ\d_])(?P<a>[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2})"
    rf"(?:{_COLON}(?P=stars)|(?P=stars){_COLON})\s*(?=\S)",
    re.MULTILINE,
)
_BLOCKS = re.compile(r"\n\s*\n")
_MARKED_QUESTION = re.compile(r"[?？؟][\"'”’»)\]*]*$")
_CONNECTIVE = re.compile(r"(?:and|or|und|oder|et|ou|y|o)\b|那|还有", re.IGNORECASE)
_SHORT_UNSPACED = re.compile(r"[\u3400-\u9fff]{1,4}[？?]?$")
_QUESTION_WORDS = (
    r"(?:when|where|who|what|which|how|why|whose)\b(?! (?:i|you|we|he|she|it|they|the|a|an)\b)"
    r"|(?:wann|wo|wer|was|wie|welche[nmrs]?|warum|wohin|woher)\b"
    r"(?! (?:ich|du|wir|er|sie|ihr|es|das|der|die)\b)"
    r"|(?:quand|où|qui|comment|pourquoi|combien|quel(?:le)?s?|est-ce)\b(?! (?:je|il|elle|on|le|la)\b)"
    r"|(?:cu[aá]ndo|d[oó]nde|qui[eé]n|qué|c[oó]mo|por qu[eé]|cu[aá]nt[oa]s?|cu[aá]l|(?<=\ba )que(?= hora))\b"
    r"(?! (?:yo|tú|él|ella|el|la)\b)"
)
_QUESTION_CHARACTERS = "吗|呢|哪|什么|几|多少|谁|怎么"
_QUESTION_WORD = re.compile(rf"\b(?:{_QUESTION_WORDS})|{_QUESTION_CHARACTERS}", re.IGNORECASE)
_UNMARKED_QUESTION = re.compile(
    r"(?:(?:and|so|ok|but|und|aber|also|et|mais|y|pero)\b[, ]*)*"
    r"(?:(?:from|at|to|until|with|von|bis|ab|mit|d['’]|de|depuis|à|avec|desde|a|hasta|con|para)\b ?)?"
    rf"(?:{_QUESTION_WORDS})[^.!,;:\n]*$|[^。！，\n]*(?:{_QUESTION_CHARACTERS})[^。！，\n]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a speaker says at a time: `text[start:end]`, in which the words begin at `words_start`."""

    speaker: str
    start: int
    words_start: int
    end: int


def turns_of(text: str) -> list[Turn]:
    """The turns in order; [] if the text is no conversation.

    >>> [turn.speaker for turn in turns_of("10:01 - Ida: when is it?\\n10:02 - Pål: on Sunday")]
    ['Ida', 'Pål']
    >>> turns_of(
    ...     "Note: the door is locked.\\nWarning: it is hot.\\nNote: the key is here.\\nWarning: mind it."
    ... )
    []
    """
    stamped = _turns(_STAMPED, text)
    if len(stamped) >= MIN_STAMPED:
        return stamped
    spoken = _turns(_SPOKEN, text)
    if not spoken:
        return []
    often = [speaker for speaker, count in Counter(turn.speaker for turn in spoken).items() if count > 1]
    blocks = len(_BLOCKS.split(text[spoken[0].start :].strip()))
    is_answered = any(
        one.speaker != other.speaker and _MARKED_QUESTION.search(text[one.words_start : one.end].rstrip())
        for one, other in pairwise(spoken)
    )
    return spoken if len(often) >= MIN_OF_SPEAKER and 2 * len(spoken) >= blocks and is_answered else []


def replies_in(text: str, turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """What the turns of the text state, with single spaces, each below the question of another speaker that
    it answers; "" if nobody asked.

    >>> chat = (
    ...     "10:01 - Ida: when is it?\\n10:02 - Pål: on Sunday\\n10:03 - Ida: and where\\n10:04 - Pål: here"
    ... )
    >>> list(replies_in(chat, turns_of(chat)))[1]
    ('is it? and where', 'Pål: here')
    """
    question = asker = ""
    is_answered = False
    for turn in turns:
        stated, asked = list[str](), ""
        for sentence in sentences(text[turn.words_start : turn.end]):
            words = " ".join(sentence.split())
            if not asks(words):
                stated.append(words)
                continue
            before = asked or question
            if before and _goes_on(words):
                words = f"{_QUESTION_WORD.sub('', before).strip()} {words}"
            asked = words
        if not asked and turn.end - turn.start <= MAX_REPLY:
            stated = [" ".join(text[turn.start : turn.end].split())]
        for statement in stated:
            yield question if turn.speaker != asker else "", statement
        if asked or (turn.speaker == asker and is_answered):
            question, asker = asked, turn.speaker
        is_answered = not asked and (is_answered or turn.speaker != asker)


def asks(sentence: str) -> bool:
    """Whether it is a question, also without a question mark: "and where".

    >>> asks("and where"), asks("When I come home I call you")
    (True, False)
    """
    if _MARKED_QUESTION.search(sentence):
        return True
    return len(sentence.split()) <= MAX_UNMARKED and _UNMARKED_QUESTION.match(sentence) is not None


def question_words(question: str) -> set[str]:
    """Those of them that it has, in lower case.

    >>> question_words("Where is it, and who has the key?") == {"where", "who"}
    True
    """
    return {word.casefold() for word in _QUESTION_WORD.findall(question)}


def _goes_on(question: str) -> bool:
    """Whether a question is understood only after another: "and where"."""
    most = 1 if _CONNECTIVE.match(question) else 0
    return _SHORT_UNSPACED.match(question) is not None or len(content_words(question)) <= most


def _turns(heads: re.Pattern[str], text: str) -> list[Turn]:
    """Each from a head to the next one; the last one to the end of its paragraph."""
    matches = list(heads.finditer(text))
    turns, lines = [], []
    for match, following in zip(matches, [*matches, None][1:], strict=True):
        end = following.start() if following else text.find("\n\n", match.end())
        group = next(name for name, words in match.groupdict().items() if words and name != "stars")
        speaker = match[group].lstrip("~ ")
        turns.append(Turn(speaker, match.start(group), match.end(), len(text) if end < 0 else end))
        if group == "line":
            lines.append(speaker)
    if len(set(lines)) == len(lines) > 0:
        return []  # opening hours, prices
    return [turn for turn in turns if text[turn.words_start : turn.end].strip()]
