"""Removes a repetition of the prompt from a reply: instead of an answer, before it, or after it.

The reply is compared with the prompt's wording: its sentences, its labels such as "Question:", the question
or the earlier answer after such a label, and the headings of passages with their passages. A passage quoted
without its heading stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ragcore.llms.reasoning_tags import AnswerFilter
from ragcore.llms.text_tool_calls import ToolCallFilter, Tools
from ragcore.llms.tool_call import ToolCall, unused_ids
from ragcore.prompts.document_text import JOINER
from ragcore.prompts.prompt import Origin, RenderedMessage, Task

SHORTEST = 16  # characters without white space; shorter sentences are not compared
PROSE = frozenset(
    (
        Task.ANSWER,
        Task.REFINE,
        Task.SUMMARIZE,
        Task.CONDENSE,
        Task.CHAT,
        Task.IMAGINE,
        Task.TITLE,
        Task.REMEMBER,
    )
)


class ReplyFilter:
    """Takes a reply in pieces, cut anywhere, and returns the answer without thoughts, repetitions of the
    prompt, and calls of `tools` written as text.

    A piece is delayed only as long as it may be the beginning of something in the prompt.
    """

    def __init__(self, task: Task, messages: Sequence[RenderedMessage], tools: Tools = ()) -> None:
        self._thoughts = AnswerFilter()
        self._echo = EchoFilter(messages) if task in PROSE else None
        self._calls = ToolCallFilter(tools) if tools else None
        self._ids = unused_ids(messages)
        self.tool_calls: tuple[ToolCall, ...] = ()  # set at the end, if the reply consists of calls

    def feed(self, piece: str) -> str:
        """The next certain part of the answer, possibly ""."""
        text = self._without_echo(self._thoughts.feed(piece))
        return self._calls.feed(text) if self._calls else text

    def end(self) -> str:
        """After the last piece: the rest of the answer."""
        rest = self._without_echo(self._thoughts.end())
        if self._echo:
            rest += self._echo.end()
        if self._calls:
            certain = self._calls.feed(rest)
            rest, self.tool_calls = self._calls.end(self._ids)
            rest = certain + rest
        return rest

    def _without_echo(self, text: str) -> str:
        text = text.replace(JOINER, "")
        return self._echo.feed(text) if self._echo else text


class EchoFilter:
    """Removes only repetitions of the prompt's wording."""

    def __init__(self, messages: Sequence[RenderedMessage]) -> None:
        self._wording = _Wording(messages)
        self._buffer = ""
        self._last = ""  # the character before the buffer
        self._deciding = True  # `_buffer` begins at the start of a sentence or line
        self._on_new_line = True
        self._behind_label = False
        self._next_lines: set[str] = set()  # the lines after the last removed line of a passage
        self._begun = False
        self._over = False  # the model repeats the prompt after its answer

    def feed(self, piece: str) -> str:
        self._buffer += piece
        return self._certain(at_end=False)

    def end(self) -> str:
        return self._certain(at_end=True)

    def _certain(self, *, at_end: bool) -> str:
        answer = ""
        while self._buffer and not self._over:
            if not self._deciding:
                answer += self._release(self._boundary())
                continue
            cut = self._echo_length(at_end=at_end)
            if cut is None:
                break
            self._buffer = self._buffer[cut:]
            if not cut:
                self._deciding, self._behind_label, self._next_lines = False, False, set()
                answer += self._release(len(self._buffer) - len(self._buffer.lstrip()) + 1)
        if self._over:
            self._buffer = ""
        return answer

    def _boundary(self) -> int:
        """The place of a possible new sentence or line, including the white space before it; or the end of
        the buffer."""
        boundary = _BOUNDARY.search(self._last + self._buffer, len(self._last))
        if boundary is None:
            return len(self._buffer)
        self._deciding, self._on_new_line = True, "\n" in boundary.group()
        return boundary.start() - len(self._last)

    def _release(self, length: int) -> str:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        self._last = text[-1:] or self._last
        text = text if self._begun else text.lstrip()
        self._begun = self._begun or bool(text)
        return text

    def _echo_length(self, *, at_end: bool) -> int | None:
        """The length of the prompt's text at the start of the buffer; 0 for none, None while undecided."""
        bare, places = _bare(self._buffer)
        if not bare:
            return 0 if at_end else None
        known = self._known()
        if any(len(bare) < len(text) and text.startswith(bare) for text in known):
            return None if not at_end else len(self._buffer) if len(bare) >= SHORTEST else 0
        for echo in sorted((text for text in known if bare.startswith(text)), key=len, reverse=True):
            end = _MARKED.match(self._buffer, places[len(echo) - 1] + 1).end()  # type: ignore[union-attr]
            if echo in self._wording.lines and self._buffer[end : end + 1] not in ("", "\n"):
                continue  # lines of passages are only compared as a whole
            if end == len(self._buffer) and not at_end:
                return None
            self._note(echo)
            return end
        return 0

    def _known(self) -> set[str]:
        known = set(self._wording.sentences)
        if self._on_new_line:
            known |= self._wording.heads | self._next_lines
            if not (self._begun and self._wording.labels_asked_for):
                known |= self._wording.labels.keys()
        return known | self._wording.values if self._behind_label else known

    def _note(self, echo: str) -> None:
        followed = self._wording.labels.get(echo, False)
        self._over = self._begun and followed
        self._behind_label = followed
        lines = self._wording.lines
        self._next_lines = {after for line, after in pairwise(lines) if line == echo}
        self._on_new_line = True


class _Wording:
    """The parts of the messages to compare, in the form of `_bare`."""

    def __init__(self, messages: Sequence[RenderedMessage]) -> None:
        self.labels: dict[str, bool] = {}  # and whether a variable follows
        self.sentences: set[str] = set()
        self.values: set[str] = set()  # the question and the earlier answer
        self.lines: list[str] = []  # of passages, with their delimiters
        questions = ""
        for message in messages:
            for place, part in enumerate(message.parts):
                if part.origin is Origin.INSTRUCTIONS:
                    self._add_instructions(part.text, followed=place + 1 < len(message.parts))
                elif part.origin is Origin.DOCUMENTS:
                    self.lines += [
                        bare for line in part.text.replace(JOINER, "").split("\n") if (bare := _bare(line)[0])
                    ]
                elif part.origin in (Origin.QUESTION, Origin.ANSWER):
                    self.values.add(_bare(part.text)[0])
                    questions += _bare(part.text)[0] if part.origin is Origin.QUESTION else ""
        # "Write three questions with their answers": the question requests labels inside the answer.
        self.labels_asked_for = any(
            followed and label.rstrip(":") in questions for label, followed in self.labels.items()
        )
        self.heads = {
            line for line in self.lines if line.startswith(("[", "<")) and not _CITATION.fullmatch(line)
        }

    def _add_instructions(self, text: str, *, followed: bool) -> None:
        lines = [line for line in text.split("\n") if line.strip()]
        for line in lines:
            if label := _LABEL.fullmatch(line):
                bare = _bare(label[1])[0]
                self.labels[bare] = self.labels.get(bare, False) or (followed and line is lines[-1])
            else:
                bare_ones = (_bare(sentence)[0] for sentence in _SENTENCE_END.split(line))
                self.sentences |= {bare for bare in bare_ones if len(bare) >= SHORTEST}


def _bare(text: str) -> tuple[str, list[int]]:
    """The text in lower case without white space and Markdown's marks, and the place of each of its
    characters."""
    places = [place for place, char in enumerate(text) if not char.isspace() and char not in _MARKS]
    return "".join(text[place].lower()[:1] for place in places), places


_MARKS = "*_#>`-•"
_MARKED = re.compile(rf"[{re.escape(_MARKS)}]*")
_BOUNDARY = re.compile(r"(?<=[.!?:])[^\S\n]+|\n+|(?<=[。！？])(?=.)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_LABEL = re.compile(r"\s*([^\W\d_][^\n:.]{0,40}[:\uff1a])\s*")
_CITATION = re.compile(r"\[[\d,;]+\]")
