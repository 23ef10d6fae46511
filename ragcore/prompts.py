"""Every word ever sent to a language model. A prompt is a name, a task, and messages with typed variables in {braces}.

Rendering substitutes each variable exactly once, in one pass over the template: a `{brace}` in a document, a question or an
earlier message is only text. The rendered message keeps where each stretch came from, so that a screen can colour it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from ragcore.schema import ChatMessage, MessageRole


class Task(Enum):
    """What a call asks for; a reader that ignores the wording answers by this."""

    ANSWER = "answer"  # query_str from context_str
    REFINE = "refine"  # improve existing_answer with more context_str
    SUMMARIZE = "summarize"  # query_str over context_str, which may be summaries already
    CONDENSE = "condense"  # chat_history and question into one question that stands alone
    CHAT = "chat"  # the next message of a conversation, with context_str where the prompt has it
    GENERATE = "generate"  # query_str alone, no documents


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document as a prompt shows it. With a `number`, an answer can cite it as [number]."""

    text: str
    number: int | None = None
    source: str = ""  # "handbook.pdf, page 3"

    def __str__(self) -> str:
        if self.number is None:
            return self.text
        head = f"[{self.number}] {self.source}".rstrip()
        return f"{head}\n{self.text}"


Variable: TypeAlias = str | tuple[Passage, ...] | tuple[ChatMessage, ...]
Variables: TypeAlias = Mapping[str, Variable]


class Origin(str, Enum):
    """Where a stretch of a rendered message came from."""

    INSTRUCTIONS = "instructions"
    DOCUMENTS = "documents"
    QUESTION = "question"
    HISTORY = "history"
    ANSWER = "answer"


ORIGINS: Mapping[str, Origin] = {
    "context_str": Origin.DOCUMENTS,
    "query_str": Origin.QUESTION,
    "question": Origin.QUESTION,
    "chat_history": Origin.HISTORY,
    "existing_answer": Origin.ANSWER,
}


@dataclass(frozen=True, slots=True)
class Part:
    origin: Origin
    text: str


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    role: MessageRole
    parts: tuple[Part, ...]

    @property
    def content(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Prompt:
    """`messages` are templates. The history of a call, if any, goes before the last of them."""

    name: str
    task: Task
    messages: tuple[ChatMessage, ...]

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(name for message in self.messages for name in _VARIABLE.findall(message.content))

    def render(self, variables: Variables, history: Sequence[ChatMessage] = ()) -> list[RenderedMessage]:
        """The messages to send. A variable that the templates name and `variables` lacks is a KeyError: our own bug."""
        rendered = [RenderedMessage(message.role, tuple(_parts(message.content, variables))) for message in self.messages]
        past = [RenderedMessage(message.role, (Part(Origin.HISTORY, message.content),)) for message in history]
        return [*rendered[:-1], *past, *rendered[-1:]]


_VARIABLE = re.compile(r"\{([a-z_]+)\}")


def _parts(template: str, variables: Variables) -> Iterable[Part]:
    end = 0
    for match in _VARIABLE.finditer(template):
        if match.start() > end:
            yield Part(Origin.INSTRUCTIONS, template[end : match.start()])
        name = match.group(1)
        text = as_text(variables[name])
        if text:
            yield Part(ORIGINS.get(name, Origin.INSTRUCTIONS), text)
        end = match.end()
    if end < len(template):
        yield Part(Origin.INSTRUCTIONS, template[end:])


def as_text(value: Variable) -> str:
    if isinstance(value, str):
        return value
    separator = "\n\n" if value and isinstance(value[0], Passage) else "\n"
    return separator.join(str(item) for item in value)


def _system(text: str) -> ChatMessage:
    return ChatMessage(MessageRole.SYSTEM, text)


def _user(text: str) -> ChatMessage:
    return ChatMessage(MessageRole.USER, text)


_RULES = """You answer questions about the user's own documents.
- Use only the passages you are given. Add nothing that they do not say.
- After each statement, cite the passages it rests on by their numbers, like [1] or [2][3].
- If the passages do not hold the answer, say that you could not find it in the documents.
- Answer in the language of the question, in plain words, and as briefly as the question allows."""

TEXT_QA = Prompt(
    "text_qa",
    Task.ANSWER,
    (_system(_RULES), _user("Passages:\n\n{context_str}\n\nQuestion: {query_str}\nAnswer:")),
)

REFINE = Prompt(
    "refine",
    Task.REFINE,
    (
        _system(_RULES),
        _user(
            "Question: {query_str}\n\nThe answer so far:\n{existing_answer}\n\nMore passages:\n\n{context_str}\n\n"
            "If these passages make the answer better or correct it, write the improved answer in full, keeping its citations. "
            "If they do not help, repeat the answer so far, word for word."
        ),
    ),
)

TREE_SUMMARIZE = Prompt(
    "tree_summarize",
    Task.SUMMARIZE,
    (
        _system(_RULES),
        _user(
            "Passages, or summaries of passages:\n\n{context_str}\n\n"
            "From all of them together, and keeping their citations, answer this.\nQuestion: {query_str}\nAnswer:"
        ),
    ),
)

GENERATION = Prompt("generation", Task.GENERATE, (_user("{query_str}"),))

CONDENSE_QUESTION = Prompt(
    "condense_question",
    Task.CONDENSE,
    (
        _user(
            "A conversation, and the message that follows it. Rewrite the message as one question that can be understood "
            "without the conversation: put names in the place of words such as it, they, this, there. Keep its language. "
            "If it can be understood alone already, repeat it.\n\n"
            "Conversation:\n{chat_history}\n\nMessage: {question}\nQuestion:"
        ),
    ),
)

SIMPLE_CHAT = Prompt("simple_chat", Task.CHAT, (_system("{system_prompt}"), _user("{query_str}")))

CONTEXT_CHAT = Prompt(
    "context_chat",
    Task.CHAT,
    (_system("{system_prompt}\n\n" + _RULES + "\n\nPassages:\n\n{context_str}"), _user("{query_str}")),
)


def in_chat(prompt: Prompt) -> Prompt:
    """The same prompt as a step of a conversation: the person's system prompt comes first."""
    first, *others = prompt.messages
    return replace(
        prompt, name=f"chat_{prompt.name}", messages=(replace(first, content="{system_prompt}\n\n" + first.content), *others)
    )


CHAT_REFINE = in_chat(REFINE)
CHAT_SUMMARIZE = in_chat(TREE_SUMMARIZE)

DEFAULT_SYSTEM_PROMPT = "You are a helpful assistant."
