"""A conversation as a file to keep or to pass on: Markdown, one HTML page that needs nothing else, or JSON.

Whatever was typed, written by a model or quoted from a document is text in all three: it neither runs nor loads anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from html import escape

from lectern.db.feedback import Verdict
from lectern.schema import AnswerFacts, Ask, Conversation, Message, Source
from ragcore.errors import InputError, Problem
from ragcore.text.citations import recited
from ragcore.text.code_fences import rewrite_outside_code, rewrite_outside_spans

FORM = 1  # of the JSON
NAME_CHARS = 80

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
# What is escaped already stays so; citations, which lead nowhere, need no backslash. Brackets make links, pictures and their
# definitions; "<" makes HTML and bare links; "&" makes any letter; a lone backtick would pair with one of another line.
_HARMFUL = re.compile(r"\\.|\[\d+(?:[,;] ?\d+)*\](?!\s*[(:])|[\[\]<&`]|\\$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Transcript:
    """`verdicts`: by the ids of the answers that have one."""

    conversation: Conversation
    messages: tuple[Message, ...]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Labels:
    """The few words of its own that a transcript has, in the reader's language."""

    question: str = "Question"
    answer: str = "Answer"
    passages: str = "Passages"
    good: str = "Thumb up"
    bad: str = "Thumb down"
    unfinished: str = "This answer was not finished."
    doubtful: str = "Your documents may not answer this. Check the passages."
    untitled: str = "Conversation"


def file_name(transcript: Transcript, suffix: str) -> str:
    """From the title, as every system takes it; `suffix` without the dot."""
    title = re.sub(r'[\x00-\x1f\x7f\\/:*?"<>|]', " ", transcript.conversation.title)
    return f"{' '.join(title.split())[:NAME_CHARS].strip('. ') or 'conversation'}.{suffix}"


def as_json(transcript: Transcript, labels: Labels | None = None) -> str:
    """All that is known but the traces; `from_json` reads it."""
    answers = [
        asdict(message) | ({"feedback": asdict(verdict)} if (verdict := transcript.verdicts.get(message.id)) else {})
        for message in transcript.messages
    ]
    return json.dumps(
        {"form": FORM, "conversation": asdict(transcript.conversation), "messages": answers}, ensure_ascii=False, indent=1
    )


def from_json(text: str) -> Transcript:
    """What `as_json` wrote. InputError for anything else."""
    try:
        data = json.loads(text)
        if data["form"] != FORM:
            raise ValueError(f"form {data['form']}")
        messages = tuple(_message(message) for message in data["messages"])
        verdicts = {message["id"]: Verdict(**message["feedback"]) for message in data["messages"] if "feedback" in message}
        return Transcript(Conversation(**data["conversation"]), messages, verdicts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"This is not a conversation that Lectern exported ({error}).", hint="Export it again, as JSON."
        ) from error


def as_markdown(transcript: Transcript, labels: Labels | None = None) -> str:
    labels = labels or Labels()
    parts = [f"# {_plain_md(transcript.conversation.title or labels.untitled)}"]
    for message in transcript.messages:
        if message.role == "user":
            parts += [f"## {labels.question}", _quoted_md(message.text)]
            continue
        parts += [f"## {labels.answer}", _answer_md(message.text)]
        parts += [f"*{_plain_md(note)}*" for note in _notes(message, labels)]
        if sources := message.cited or message.sources:
            listed = "\n".join(
                f"- \\[{source.number}\\] **{_plain_md(source.place)}**: {_plain_md(source.text)}" for source in sources
            )
            parts.append(f"{labels.passages}:\n\n{listed}")
        if verdict := transcript.verdicts.get(message.id):
            parts.append(_plain_md(_said(verdict, labels)))
    return "\n\n".join(part for part in parts if part) + "\n"


def as_html(transcript: Transcript, labels: Labels | None = None) -> str:
    """One page; its own policy lets it load and run nothing."""
    labels = labels or Labels()
    title = escape(transcript.conversation.title or labels.untitled)
    day = datetime.fromtimestamp(transcript.conversation.created).strftime("%Y-%m-%d")
    body = "\n".join(_turn_html(number, message, transcript, labels) for number, message in enumerate(transcript.messages, 1))
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f'<body>\n<h1 dir="auto">{title}</h1>\n<p class="day">{day}</p>\n{body}\n</body>\n</html>\n'
    )


FORMS: Mapping[str, tuple[Callable[[Transcript, Labels | None], str], str]] = {
    "md": (as_markdown, "text/markdown; charset=utf-8"),
    "html": (as_html, "text/html; charset=utf-8"),
    "json": (as_json, "application/json"),
}
"""By the suffix of the file: what makes the text, and the media type."""


def _message(data: Mapping[str, object]) -> Message:
    kept = {name: value for name, value in data.items() if name != "feedback"}
    ask, facts, problem = kept.pop("ask"), kept.pop("facts"), kept.pop("problem")
    sources = [Source(**source) for source in kept.pop("sources")]  # type: ignore[attr-defined]
    return Message(
        **kept,  # type: ignore[arg-type]
        ask=Ask.from_json(json.dumps(ask)) if ask else None,
        facts=AnswerFacts.from_json(json.dumps(facts)) if facts else None,
        sources=tuple(sources),
        problem=Problem(**problem) if problem else None,  # type: ignore[arg-type]
    )


def _notes(message: Message, labels: Labels) -> list[str]:
    """What must be known of an answer to read it rightly."""
    notes = [labels.doubtful] if message.facts is not None and message.facts.is_doubtful else []
    if message.problem is not None:
        return [*notes, f"{message.problem.what} {message.problem.hint}".strip()]
    return notes if message.state == "done" else [*notes, labels.unfinished]


def _said(verdict: Verdict, labels: Labels) -> str:
    thumb = labels.good if verdict.good else labels.bad
    return f"{thumb}: {verdict.word}" if verdict.word else thumb


# Markdown.


def _plain_md(text: str) -> str:
    """On one line, as it is."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _quoted_md(text: str) -> str:
    return "\n".join(f"> {_plain_md(line)}".rstrip() for line in text.strip().splitlines())


def _answer_md(text: str) -> str:
    """An answer keeps its Markdown, but for what would link, load something or be taken for HTML: that is shown as it is."""
    # Without the languages of code: some draw diagrams, which may load pictures.
    return rewrite_outside_code(
        text.strip(), line=lambda line: rewrite_outside_spans(line, _harmless), language=lambda language: ""
    )


def _harmless(text: str) -> str:
    return _HARMFUL.sub(lambda found: found.group() if len(found.group()) > 1 else f"\\{found.group()}", text)


# HTML.

_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.6 Georgia,'Times New Roman',serif;max-width:46rem;margin:2.5rem auto;"
    "padding:0 1.25rem;color:light-dark(#22201d,#e9e5de);background:light-dark(#fdfcfa,#191816);overflow-wrap:anywhere}"
    "h1{font-size:1.6rem;line-height:1.25;margin-bottom:.2rem}h4{margin:.9rem 0 .2rem}.day,.note,li small{opacity:.7}"
    ".question{margin:2.2rem 0 1rem;padding:.7rem 1rem;border-radius:.8rem;background:light-dark(#e3eeea,#1f3a35);"
    "white-space:pre-wrap}.passages{list-style:none;margin:1rem 0;padding:0 0 0 1rem;border-left:2px solid "
    "light-dark(#e0dace,#383531);font-size:.875rem}.passages li{margin:.6rem 0}.passages q{display:block;white-space:pre-line}"
    "q{quotes:none}pre{overflow:auto;padding:.8rem;background:light-dark(#f6f3ed,#1f1d1b)}a{color:light-dark(#0b6b5f,#62c6b6)}"
    "@media print{body{margin:0;max-width:none}.question{break-after:avoid}}"
)


def _turn_html(number: int, message: Message, transcript: Transcript, labels: Labels) -> str:
    if message.role == "user":
        return f'<section class="question" dir="auto" aria-label="{escape(labels.question)}">{escape(message.text)}</section>'
    sources = message.cited or message.sources
    listed = "".join(
        f'<li id="{_anchor(number, source.number)}" dir="auto"><b>[{source.number}] {escape(source.place)}</b>'
        f"<q>{escape(source.text.strip())}</q></li>"
        for source in sources
    )
    verdict = transcript.verdicts.get(message.id)
    notes = [*_notes(message, labels), *([_said(verdict, labels)] if verdict else [])]
    return (
        f'<section dir="auto" aria-label="{escape(labels.answer)}">\n'
        f"{_answer_html(message.text, number, {source.number for source in sources})}\n"
        + "".join(f'<p class="note" dir="auto">{escape(note)}</p>\n' for note in notes)
        + (f'<ul class="passages" aria-label="{escape(labels.passages)}">{listed}</ul>\n' if listed else "")
        + "</section>"
    )


def _anchor(turn: int, source: int) -> str:
    return f"p{turn}-{source}"


def _answer_html(text: str, turn: int, numbers: set[int]) -> str:
    """Paragraphs, headings, lists and code of an answer's Markdown; anything else stays as it was written."""
    out: list[str] = []
    for block in _blocks(text):
        if _FENCE.match(block[0]):
            closed = len(block) > 1 and bool(_FENCE.match(block[-1]))
            out.append(f"<pre>{escape(chr(10).join(block[1:-1] if closed else block[1:]))}</pre>")
        elif all(re.match(r"\s*[-*+]\s", line) for line in block):
            out.append(f"<ul>{_items(block, turn, numbers)}</ul>")
        elif all(re.match(r"\s*\d+[.)]\s", line) for line in block):
            out.append(f"<ol>{_items(block, turn, numbers)}</ol>")
        elif len(block) == 1 and (heading := re.match(r"#{1,6}\s+(.*)", block[0])):
            out.append(f"<h4>{_inline_html(heading.group(1), turn, numbers)}</h4>")
        else:
            out.append(f"<p>{'<br>'.join(_inline_html(line, turn, numbers) for line in block)}</p>")
    return "\n".join(out)


def _blocks(text: str) -> list[list[str]]:
    """Lines that stand together: paragraphs, runs of items, headings, whole stretches of code."""
    blocks: list[list[str]] = []
    fence, kind = "", ""
    for line in text.strip().splitlines():
        found = _FENCE.match(line)
        if fence:
            blocks[-1].append(line)
            fence = "" if found and found.group(1).startswith(fence) else fence
            continue
        now = "fence" if found else "" if not line.strip() else _kind(line)
        if now and (now != kind or now in ("fence", "heading")):
            blocks.append([])
        if now:
            blocks[-1].append(line)
        fence, kind = (found.group(1), "") if found else ("", now)
    return blocks


def _kind(line: str) -> str:
    if re.match(r"\s*[-*+]\s", line):
        return "item"
    if re.match(r"\s*\d+[.)]\s", line):
        return "number"
    return "heading" if re.match(r"#{1,6}\s", line) else "text"


def _items(block: Sequence[str], turn: int, numbers: set[int]) -> str:
    items = (re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line) for line in block)
    return "".join(f"<li>{_inline_html(item, turn, numbers)}</li>" for item in items)


def _inline_html(text: str, turn: int, numbers: set[int]) -> str:
    """Escaped first: what is put in after that is ours."""

    def linked(number: int) -> str:
        return f'<a href="#{_anchor(turn, number)}">[{number}]</a>' if number in numbers else f"[{number}]"

    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    shown = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<b>\1</b>", shown)
    shown = recited(shown, linked)
    return re.sub(r"<code>.*?</code>|\\([!-/:-@\[-`{-~])", lambda found: found.group(1) or found.group(), shown)
