"""Exports a conversation as a Word file, Markdown, a single HTML page, or JSON.

In all of them, text of a person, a model or a document is only text: it neither runs nor loads anything.

For a PDF, the reader's browser prints the HTML page. The browser has fonts for every script of the reader,
and sets right-to-left text. A PDF library would need its own fonts: those of reportlab lack Polish, Greek,
Cyrillic, Arabic and Chinese, and one font for Chinese and Japanese has 16 MB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path

from markdown_it.token import Token
from markdown_it.utils import EnvType

from lectern.db.feedback import Verdict
from lectern.export.excerpts import quoted_excerpt
from lectern.export.markdown import listed_sources, parser, plain_markdown, quoted_markdown, safe_markdown
from lectern.export.word import MEDIA_TYPE, as_word
from lectern.schema import AnswerFacts, Ask, Conversation, Message, Source
from ragcore.errors import InputError, Problem
from ragcore.text.citations import rewrite_citations

FORMAT_VERSION = 1  # of the JSON
NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Transcript:
    """`verdicts`: by the ids of their answers."""

    conversation: Conversation
    messages: tuple[Message, ...]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Labels:
    """The words of a transcript in the reader's language."""

    question: str = "Question"
    answer: str = "Answer"
    passages: str = "Passages"
    good: str = "Thumb up"
    bad: str = "Thumb down"
    unfinished: str = "This answer was not finished."
    doubtful: str = "Your documents may not answer this. Check the passages."
    unsure: str = "Not sure"
    not_added: str = "Lectern quotes these figures and does not add them up."
    untitled: str = "Conversation"
    place: Callable[[Source], str] = lambda source: source.place


def file_name(transcript: Transcript, suffix: str) -> str:
    """The title as a file name for every system; `suffix` without the dot."""
    title = re.sub(r'[\x00-\x1f\x7f\\/:*?"<>|]', " ", transcript.conversation.title)
    return f"{' '.join(title.split())[:NAME_CHARS].strip('. ') or 'conversation'}.{suffix}"


def as_json(transcript: Transcript, labels: Labels | None = None) -> str:
    """Everything but the traces; `from_json` reads it."""
    answers = [
        asdict(message)
        | ({"feedback": asdict(verdict)} if (verdict := transcript.verdicts.get(message.id)) else {})
        for message in transcript.messages
    ]
    return json.dumps(
        {"form": FORMAT_VERSION, "conversation": asdict(transcript.conversation), "messages": answers},
        ensure_ascii=False,
        indent=1,
    )


def from_json(text: str) -> Transcript:
    """Read the output of `as_json`. InputError for anything else."""
    try:
        data = json.loads(text)
        if data["form"] != FORMAT_VERSION:
            raise ValueError(f"form {data['form']}")
        messages = tuple(_message(message) for message in data["messages"])
        verdicts = {
            message["id"]: Verdict(**message["feedback"])
            for message in data["messages"]
            if "feedback" in message
        }
        return Transcript(Conversation(**data["conversation"]), messages, verdicts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"This is not a conversation that Lectern exported ({error}).", hint="Export it again, as JSON."
        ) from error


def as_markdown(transcript: Transcript, labels: Labels | None = None) -> str:
    labels = labels or Labels()
    parts = [f"# {plain_markdown(transcript.conversation.title or labels.untitled)}"]
    for message in (message.as_shown for message in transcript.messages):
        if message.role == "user":
            parts += [f"## {labels.question}", quoted_markdown(message.text)]
            continue
        parts += [f"## {labels.answer}", *(f"*{plain_markdown(mark)}*" for mark in _marks(message, labels))]
        parts.append(safe_markdown(message.text))
        parts += [f"*{plain_markdown(note)}*" for note in _notes(message, labels)]
        sources = message.cited or message.sources
        parts.append(listed_sources(labels.passages, sources, labels.place, message.text))
        if verdict := transcript.verdicts.get(message.id):
            parts.append(plain_markdown(_describe_verdict(verdict, labels)))
    return "\n\n".join(part for part in parts if part) + "\n"


def as_html(transcript: Transcript, labels: Labels | None = None) -> str:
    """One page, with a policy that forbids it to load or run anything."""
    labels = labels or Labels()
    title = escape(transcript.conversation.title or labels.untitled)
    day = datetime.fromtimestamp(transcript.conversation.created).strftime("%Y-%m-%d")
    body = "\n".join(
        _turn_html(number, message, transcript, labels)
        for number, message in enumerate((each.as_shown for each in transcript.messages), 1)
    )
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
        "'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE.read_text('utf-8')}</style>\n</head>\n"
        f'<body>\n<h1 dir="auto">{title}</h1>\n<p class="day">{day}</p>\n{body}\n</body>\n</html>\n'
    )


def as_docx(transcript: Transcript, labels: Labels | None = None) -> bytes:
    """`as_markdown` as a Word file."""
    title = transcript.conversation.title or (labels or Labels()).untitled
    return as_word(as_markdown(transcript, labels), title=title, created=transcript.conversation.created)


FORMS: Mapping[str, tuple[Callable[[Transcript, Labels | None], str | bytes], str]] = {
    "docx": (as_docx, MEDIA_TYPE),
    "md": (as_markdown, "text/markdown; charset=utf-8"),
    "html": (as_html, "text/html; charset=utf-8"),
    "json": (as_json, "application/json"),
}
"""By the suffix of the file: the export function and the media type."""


def _message(data: Mapping[str, object]) -> Message:
    values = {name: value for name, value in data.items() if name != "feedback"}
    ask, facts, problem = values.pop("ask"), values.pop("facts"), values.pop("problem")
    sources = [Source(**source) for source in values.pop("sources")]  # type: ignore[attr-defined]
    return Message(
        **values,  # type: ignore[arg-type]
        ask=Ask.from_json(json.dumps(ask)) if ask else None,
        facts=AnswerFacts.from_json(json.dumps(facts)) if facts else None,
        sources=tuple(sources),
        problem=Problem(**problem) if problem else None,  # type: ignore[arg-type]
    )


def _marks(message: Message, labels: Labels) -> list[str]:
    """Notes above an answer."""
    return [labels.unsure] if message.facts is not None and message.facts.is_unsure else []


def _notes(message: Message, labels: Labels) -> list[str]:
    """Notes below an answer: doubts, what it leaves to the reader, a problem, or that it is incomplete."""
    notes = [labels.doubtful] if message.facts is not None and message.facts.is_doubtful else []
    notes += [labels.not_added] if message.leaves_adding else []
    if message.problem is not None:
        return [*notes, f"{message.problem.what} {message.problem.hint}".strip()]
    return notes if message.state == "done" else [*notes, labels.unfinished]


def _describe_verdict(verdict: Verdict, labels: Labels) -> str:
    thumb = labels.good if verdict.good else labels.bad
    return f"{thumb}: {verdict.word}" if verdict.word else thumb


# HTML.

_STYLE = Path(__file__).with_suffix(".css")


def _turn_html(number: int, message: Message, transcript: Transcript, labels: Labels) -> str:
    if message.role == "user":
        return (
            '<section class="question" dir="auto" '
            f'aria-label="{escape(labels.question)}">{escape(message.text)}</section>'
        )
    sources = message.cited or message.sources
    items = "".join(
        f'<li id="{_anchor(number, source.number)}" dir="auto"><b>[{source.number}] '
        f"{escape(labels.place(source))}</b>"
        f"<q>{escape(quoted_excerpt(source.text, message.text, source.number))}</q></li>"
        for source in sources
    )
    verdict = transcript.verdicts.get(message.id)
    notes = [*_notes(message, labels), *([_describe_verdict(verdict, labels)] if verdict else [])]
    marks = "".join(f'<p class="note" dir="auto">{escape(mark)}</p>\n' for mark in _marks(message, labels))
    return (
        f'<section dir="auto" aria-label="{escape(labels.answer)}">\n{marks}'
        f"{_answer_html(message.text, number, {source.number for source in sources})}\n"
        + "".join(f'<p class="note" dir="auto">{escape(note)}</p>\n' for note in notes)
        + (f'<ul class="passages" aria-label="{escape(labels.passages)}">{items}</ul>\n' if items else "")
        + "</section>"
    )


def _anchor(turn: int, source: int) -> str:
    return f"p{turn}-{source}"


def _answer_html(text: str, turn: int, numbers: set[int]) -> str:
    """The Markdown of an answer as HTML, with links from citations to passages."""
    tokens = _HTML.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h4"

    def link(number: int) -> str:
        return f'<a href="#{_anchor(turn, number)}">[{number}]</a>' if number in numbers else f"[{number}]"

    return str(_HTML.renderer.render(tokens, _HTML.options, {"link": link})).strip()


def _text_html(_renderer: object, tokens: Sequence[Token], at: int, _options: object, env: EnvType) -> str:
    return rewrite_citations(escape(tokens[at].content), env["link"])


def _special_html(
    _renderer: object, tokens: Sequence[Token], at: int, _options: object, _env: EnvType
) -> str:
    return escape(tokens[at].content)


def _code_html(_renderer: object, tokens: Sequence[Token], at: int, _options: object, _env: EnvType) -> str:
    """Without the language of the code, which may be any text."""
    return f"<pre>{escape(tokens[at].content.rstrip(chr(10)))}</pre>\n"


_HTML = parser()
for _name, _rule in {
    "text": _text_html,
    "text_special": _special_html,
    "fence": _code_html,
    "code_block": _code_html,
}.items():
    _HTML.add_render_rule(_name, _rule)
