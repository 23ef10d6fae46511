"""A prompt is a name, a task, and messages with typed variables in {braces}.

Rendering substitutes each variable exactly once, in one pass over the template: a `{brace}` in a document, a
question or an earlier message is only text. {{ and }} in the template are braces, see
`ragcore.text.braces`. The rendered message keeps where each stretch came from, so that a screen can colour
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

from ragcore.prompts.document_text import CLOSING, OPENING, escape_marks
from ragcore.schema import ChatMessage, MessageRole
from ragcore.schema.content_blocks import Block
from ragcore.text.braces import Field, split_template


class Task(Enum):
    """The task of a call. The extractive model ignores the wording and answers by the task."""

    ANSWER = "answer"  # query_str from context_str
    REFINE = "refine"  # improve existing_answer with more context_str
    SUMMARIZE = "summarize"  # query_str over context_str, which may be summaries already
    CONDENSE = "condense"  # chat_history and question into one question that stands alone
    CHAT = "chat"  # the next message of a conversation, with context_str if the prompt has it
    GENERATE = "generate"  # query_str alone, no documents
    # which of `choices` serve query_str, at most max_outputs: JSON, [{"choice": 1, "reason": "..."}]
    SELECT = "select"
    # which of context_str's numbered passages help with query_str: lines "Doc: 2, Relevance: 7" (0 to 10)
    RANK = "rank"
    KEYWORDS = "keywords"  # at most max_keywords of text: "KEYWORDS: a, b, c"
    TITLE = "title"  # one line that names what context_str, passages or candidate titles, is about
    QUESTIONS = "questions"  # num_questions questions that context_str answers, one a line
    REPHRASE = "rephrase"  # num_queries ways to ask query_str, one a line
    IMAGINE = "imagine"  # a passage as it might answer query_str
    # query_str into questions for `choices`: JSON, [{"sub_question": "...", "tool_name": "..."}]
    DIVIDE = "divide"
    ACT = "act"  # query_str by calling tools; `observations` are the results so far
    # of `response` to query_str, by context_str, reference or guidelines; the prompt's name says what
    JUDGE = "judge"
    REMEMBER = "remember"  # chat_history in a few sentences
    # whether to read on before or after context_str for query_str: "previous", "next" or "none"
    DIRECTION = "direction"


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document, which a prompt shows defused (`document_text`). With a `number`, an answer can
    cite it as [number]. `relevance`, 0 to 1, is its retrieval score divided by the best passage's; prompts do
    not contain it. `version`: the date of the document, if it has other versions. `leader`: the document that
    leads them, if it is another one.

    >>> print(Passage("Ada wrote notes.", 1, "letters.pdf, page 3"))
    [1] letters.pdf, page 3
    Ada wrote notes.
    """

    text: str
    number: int | None = None
    source: str = ""  # "handbook.pdf, page 3"
    relevance: float = 1.0
    version: str = ""  # "1 March 2026"
    leader: str = ""  # "handbook.pdf"

    def __str__(self) -> str:
        if self.number is None:
            return escape_marks(self.text, numbered=False)
        source = f"{self.source} (version of {self.version})" if self.version else self.source
        if self.leader:
            source += f", another version of {self.leader}"
        head = f"[{self.number}] {escape_marks(' '.join(source.split()))}".rstrip()
        return f"{head}\n{escape_marks(self.text)}"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several choices, by its number (from 1). `name` is the name of a tool, if the choice is one."""

    number: int
    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"({self.number}) {self.name + ': ' if self.name else ''}{self.text}"


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as a prompt describes it; `parameters` is the JSON schema of its arguments, as text."""

    name: str
    description: str
    parameters: str

    def __str__(self) -> str:
        return f"> Tool Name: {self.name}\nTool Description: {self.description}\nTool Args: {self.parameters}"


Variable: TypeAlias = (
    str | tuple[Passage, ...] | tuple[ChatMessage, ...] | tuple[Choice, ...] | tuple[ToolCard, ...]
)
Variables: TypeAlias = Mapping[str, Variable]


class Origin(str, Enum):
    """The origin of a stretch of a rendered message."""

    INSTRUCTIONS = "instructions"
    DOCUMENTS = "documents"
    QUESTION = "question"
    HISTORY = "history"
    ANSWER = "answer"


ORIGINS: Mapping[str, Origin] = {
    "context_str": Origin.DOCUMENTS,
    "info_str": Origin.DOCUMENTS,
    "query_str": Origin.QUESTION,
    "question": Origin.QUESTION,
    "chat_history": Origin.HISTORY,
    "existing_answer": Origin.ANSWER,
    "response": Origin.ANSWER,
    "second_response": Origin.ANSWER,
    "text": Origin.DOCUMENTS,
}


@dataclass(frozen=True, slots=True)
class Part:
    origin: Origin
    text: str


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """`name`, `additional_kwargs` (tool calls, tool_call_id) and `blocks` are those of a message of the
    history."""

    role: MessageRole
    parts: tuple[Part, ...]
    name: str | None = None
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()

    @property
    def content(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Prompt:
    """`messages` are templates. The history of a call goes before the last of them, or behind a last one of
    the system's.

    >>> prompt = Prompt("greet", Task.GENERATE, (ChatMessage(MessageRole.USER, "Greet {name}."),))
    >>> prompt.render({"name": "Ada"})[0].content
    'Greet Ada.'
    """

    name: str
    task: Task
    messages: tuple[ChatMessage, ...]
    stop: tuple[str, ...] = ()  # texts that end a reply, in addition to the prompt's own labels

    @property
    def stop_sequences(self) -> tuple[str, ...]:
        """Texts with which a model would begin to write the prompt again: its labels before variables, each
        on a new line.

        At most 4, as OpenAI's servers take no more.
        """
        labels = [f"\n{label}" for message in self.messages for label in _LABEL.findall(message.content)]
        passages = [OPENING] if "context_str" in self.variables else []
        return tuple(dict.fromkeys([*self.stop, *passages, *labels]))[:MOST_STOPS]

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(
            part.name
            for message in self.messages
            for part in split_template(message.content, _VARIABLE.fullmatch)
            if isinstance(part, Field)
        )

    @property
    def default_template(self) -> Prompt:
        """Itself: this wording is for all models. A SelectorPromptTemplate has several."""
        return self

    @property
    def template(self) -> str:
        """Same as `get_template()`."""
        return self.get_template()

    def get_template(self, llm: Any = None) -> str:
        """The text as it was written, its messages below each other."""
        return "\n".join(message.content for message in self.messages)

    def check_variables(self, variables: Variables) -> Variables:
        """Returns `variables`. ValueError unless they are exactly the variables of the templates."""
        if wrong := self.variables ^ variables.keys():
            raise ValueError(
                f"prompt {self.name!r} has the variables {sorted(self.variables)}; wrong or missing: "
                f"{sorted(wrong)}"
            )
        return variables

    def render(self, variables: Variables, history: Sequence[ChatMessage] = ()) -> list[RenderedMessage]:
        """The messages to send. A variable that the templates name and `variables` lacks is a KeyError: our
        own bug."""
        rendered = [
            RenderedMessage(message.role, tuple(_parts(message.content, variables)))
            for message in self.messages
        ]
        return with_history(rendered, history)


def with_history(rendered: list[RenderedMessage], history: Sequence[ChatMessage]) -> list[RenderedMessage]:
    """Inserts the history before the last message, or after it if that is a system message.

    So the constant part of a conversation comes first, and a server can reuse its cache.
    """
    rendered = _documents_to_the_user(rendered)
    past = [
        RenderedMessage(
            message.role,
            (Part(Origin.HISTORY, message.content),),
            message.name,
            message.additional_kwargs,
            message.blocks,
        )
        for message in history
    ]
    first = len(rendered) if not rendered or rendered[-1].role is MessageRole.SYSTEM else len(rendered) - 1
    return [*rendered[:first], *past, *rendered[first:]]


def _documents_to_the_user(rendered: list[RenderedMessage]) -> list[RenderedMessage]:
    """Moves text from documents out of the system message to the beginning of the last user message."""
    moved: list[Part] = []
    messages: list[RenderedMessage] = []
    for message in rendered:
        if message.role is MessageRole.SYSTEM:
            documents = [part for part in message.parts if part.origin is Origin.DOCUMENTS]
            moved += [
                part for document in documents for part in (document, Part(Origin.INSTRUCTIONS, "\n\n"))
            ]
            message = replace(
                message, parts=tuple(_ELSEWHERE if part in documents else part for part in message.parts)
            )
        messages.append(message)
    if not moved:
        return rendered
    users = [place for place, message in enumerate(messages) if message.role is MessageRole.USER]
    if not users:
        return [*messages, RenderedMessage(MessageRole.USER, tuple(moved[:-1]))]
    last = messages[users[-1]]
    messages[users[-1]] = replace(last, parts=(*moved, *last.parts))
    return messages


_ELSEWHERE = Part(Origin.INSTRUCTIONS, "(in the user's message)")
_VARIABLE = re.compile("[a-z_]+")
_LABEL = re.compile(r"^([^\W\d_][^\n{}:.]{1,40}:)\s+\{(?!\{)", re.MULTILINE)
MOST_STOPS = 4


def _parts(template: str, variables: Variables) -> Iterable[Part]:
    for part in split_template(template, _VARIABLE.fullmatch):
        if isinstance(part, str):
            yield Part(Origin.INSTRUCTIONS, part)
            continue
        value = variables[part.name]
        if text := delimit(part.name, value, as_text(value)):
            yield Part(ORIGINS.get(part.name, Origin.INSTRUCTIONS), text)


def delimit(name: str, value: Variable, text: str) -> str:
    """The text of a variable in a message. Passages, even none, are enclosed in delimiters."""
    delimited = isinstance(value, tuple) and ORIGINS.get(name) is Origin.DOCUMENTS
    return f"{OPENING}\n{text}\n{CLOSING}" if delimited else text


def as_text(value: Variable) -> str:
    if not isinstance(value, tuple):
        return str(value)  # a template's user may give numbers
    separator = "\n" if value and isinstance(value[0], ChatMessage) else "\n\n"
    return separator.join(str(item) for item in value)
