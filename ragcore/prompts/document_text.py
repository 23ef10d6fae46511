"""Text from documents as a prompt shows it: between delimiters that no document can guess, and without lines
that pose as ours.

A document may contain "[3] handbook.pdf", "Question:" or a chat template's <|im_start|>, by chance or by
intent. `escape_marks` puts an invisible character (U+2060, word joiner) behind the first character of such a
mark, so that neither server nor model takes it for one of the prompt's. `restore` removes it from a
document's text and from what a model copies of it.
"""

from __future__ import annotations

import re
import secrets

JOINER = "\u2060"

_TOKEN = secrets.token_hex(4)
# One for the whole process, so that the server's cache of a prompt's beginning serves the next call, too.
OPENING, CLOSING = f"<passages-{_TOKEN}>", f"</passages-{_TOKEN}>"

_ROLE = r"system|user|assistant|human|developer|tool|instructions?"
_LABEL = (
    r"questions?|answers?|the answer so far|improved answer|passages?(?:[^\S\n]+\d+)?|thought"
    r"|action(?:[^\S\n]+input)?|observation|final answer"
)
_MARKS = re.compile(
    r"<(?=/?passages-)"
    r"|<(?=\|)|<(?=<sys>>|</sys>>)"  # <|im_start|>, <<SYS>>
    r"|<(?=/?(?:s|bos|eos|start_of_turn|end_of_turn|tool_call|tool_response|think|im_start|im_end)>)"
    r"|\[(?=/?inst\])"
    rf"|^[^\w\n\[<]*(?:{_ROLE}|{_LABEL})(?=[*_`]*[^\S\n]*[:\uff1a])",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = re.compile(r"^[^\w\n\[<]*\[(?=[^\S\n]*\d+[^\S\n]*\])", re.MULTILINE)
_LETTER = re.compile(r"\w|[<\[]")


def escape_marks(text: str, *, numbered: bool = True) -> str:
    """The text with an invisible character in each mark that only a prompt may use. Nothing else changes.

    `numbered`: lines that begin with a number in brackets are such marks, too, as passages in the prompt
    begin that way.

    >>> escape_marks("Answer: yes").encode("unicode_escape")
    b'A\\\\u2060nswer: yes'
    """
    text = _MARKS.sub(_defuse_mark, text.replace(JOINER, JOINER * 2))
    return _HEAD.sub(_defuse_mark, text) if numbered else text


def restore(text: str) -> str:
    """The text as it was before `escape_marks`."""
    return re.sub(f"{JOINER}({JOINER}?)", r"\1", text)


def _defuse_mark(mark: re.Match[str]) -> str:
    first = _LETTER.search(mark.group())
    place = first.end() if first else len(mark.group())
    return mark.group()[:place] + JOINER + mark.group()[place:]
