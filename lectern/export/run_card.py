"""The run card: everything about an answer on one page that can be saved, sent and opened anywhere.

It is one HTML file without scripts and requests, in light and dark. It has the question, the documents, the
answer, its cost, and every prompt with the origin of its parts. Two cards of one run are equal. Modes and
prompts have the names of the screens, with their names in code in brackets; steps have their names in code.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lectern.keys import read_key, stored_keys
from lectern.library import Library
from lectern.retrieval import OPTIONS
from lectern.schema import Ask, Message, Source
from ragcore.observe import Span
from ragcore.prompts.prompt import Origin
from ragcore.text.citations import rewrite_citations

SECRET_CHARS = 6  # A shorter key is not secret, and may be a word of the text.

_PASSWORD = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+@")
_STYLE = Path(__file__).with_suffix(".css")


@dataclass(frozen=True, slots=True)
class Voice:
    """The language of a card. `say` translates texts of the card, `translate` texts of the library, such as a
    problem.

    `ways`, `readings` and `prompts`: the names on the screens, by name in code.
    """

    language: str = "en"
    say: Callable[[str], str] = str
    translate: Callable[[str], str] = str
    ways: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)


ENGLISH = Voice()


@dataclass(frozen=True, slots=True)
class _Run:
    message: Message
    question: str
    trace: Span | None
    voice: Voice


def run_card(library: Library, messages: Sequence[Message], voice: Voice = ENGLISH) -> str:
    """The card of answers to one question, a column for each: one, or all of a comparison. ValueError for
    none."""
    if not messages:
        raise ValueError("a run card is of at least one answer")
    traces = {message.id: library.conversations.trace(message.id) for message in messages}
    runs = [_Run(message, _question(library, message), traces[message.id], voice) for message in messages]
    keys = [stored.key for stored in stored_keys(library.folder).values()] + [
        read_key(library.folder, "openai")
    ]
    questions = list(dict.fromkeys(run.question for run in runs))
    parts = [
        _quiet(voice.say("Lectern run card")),
        *(f"<h1>{_plain(question)}</h1>" for question in questions),
        _section(
            voice.say("Answers") if len(runs) > 1 else voice.say("Answer"),
            _columns(_answer(at, run) for at, run in enumerate(runs)),
        ),
        _section(voice.say("Settings"), _columns(_table(_settings(run)) for run in runs)),
        _section(voice.say("Passages"), "".join(_passages(at, run) for at, run in enumerate(runs))),
        _section(voice.say("Calls"), "".join(_calls(run) for run in runs)),
        _section(voice.say("Time"), "".join(_times(run) for run in runs)),
        _section(voice.say("Documents"), _documents(library, runs)),
        _section(voice.say("Versions"), _table(_versions(library, voice))),
    ]
    page = _page(questions[0], "\n".join(parts), voice)
    for key in keys:
        if len(key) >= SECRET_CHARS:
            page = page.replace(_plain(key), "•••")
    return page


def _question(library: Library, message: Message) -> str:
    if message.ask is not None:
        return message.ask.question
    question = ""
    for other in library.conversations.messages(message.conversation_id):
        if other.id == message.id:
            break
        question = other.text if other.role == "user" else question
    return question


def _answer(at: int, run: _Run) -> str:
    message, facts, say, translate = run.message, run.message.facts, run.voice.say, run.voice.translate
    states = {"stopped": say("stopped"), "failed": say("failed"), "interrupted": say("interrupted")}
    about: list[str] = [states.get(message.state, "")]
    if facts is not None:
        about += [say("calls: {number}").format(number=facts.calls), f"{facts.seconds:.1f} s"]
        about += [say("passages: {used} of {all}").format(used=facts.passages_used, all=facts.passages_total)]
        about += [_tokens(run, facts.prompt_tokens, facts.completion_tokens)]
        about += [say("no language model: quoting your documents") if facts.extractive else facts.model]
    problem = message.problem
    failed = (
        f'<p class="text">{_plain(f"{translate(problem.what)} {translate(problem.hint)}")}</p>'
        if problem
        else ""
    )
    return (
        f'<div class="box"><h3>{_plain(_mode(run))}</h3><p '
        f'class="quiet">{_plain(" · ".join(filter(None, about)))}</p>'
        f'<div class="text">{_answer_text(at, run)}</div>{failed}</div>'
    )


def _tokens(run: _Run, read: int, written: int) -> str:
    return run.voice.say("tokens: {read} + {written}").format(read=read, written=written)


def _answer_text(at: int, run: _Run) -> str:
    """The answer with links to its passages, or a table with the answers for each document."""
    message, translate = run.message, run.voice.translate
    numbers = {source.number for source in message.sources}

    def link(number: int) -> str:
        return f'<a href="#passage-{at}-{number}">[{number}]</a>' if number in numbers else f"[{number}]"

    if message.facts is None or not message.facts.rows:
        return rewrite_citations(_plain(message.text), link)
    rows = []
    for row in message.facts.rows:
        text = "\n\n".join(filter(None, (row.notice, row.text)))
        if row.found == "failed":
            text = f"{translate(row.text)} {translate(row.hint)}"
        pages = _plain(", ".join(row.pages))
        answer = rewrite_citations(_plain(text), link)
        rows.append(f"<tr><th>{_plain(row.file_name)}</th><td>{answer}</td><td>{pages}</td></tr>")
    return f'<table class="rows">{"".join(rows)}</table>'


def _mode(run: _Run) -> str:
    """The beginning of the line under the answer."""
    facts, ask, voice = run.message.facts, run.message.ask or Ask(""), run.voice
    mode, reading = (facts.mode, facts.reading) if facts is not None else (ask.mode, ask.reading)
    parts = [] if reading == "best" else [_screen_name(voice.readings, reading)]
    return " · ".join([*parts, _screen_name(voice.ways, mode)])


def _screen_name(names: Mapping[str, str], name: str) -> str:
    return names.get(name, name.replace("_", " "))


def _with_code_name(names: Mapping[str, str], name: str) -> str:
    screen_name = names.get(name, name)
    return screen_name if screen_name.lower().replace(" ", "_") == name else f"{screen_name} ({name})"


def _settings(run: _Run) -> list[tuple[str, str]]:
    """The fields of the ask that have a value, and the models that answered. They contain no keys."""
    fields = _flatten(asdict(run.message.ask or Ask(run.question)))
    # Scores are below the passages, and the question is the title.
    not_listed = ("question", "node_scores")
    names = _field_names(run.voice)
    rows = [
        (names.get(name, name), _value(name, value, run.voice))
        for name, value in fields
        if name not in not_listed
    ]
    calls = run.trace.spans("llm") if run.trace is not None else []
    models = dict.fromkeys(
        f"{call.facts.get('model', '')} ({call.facts.get('provider', '')})" for call in calls
    )
    return [*((name, value) for name, value in rows if value), *((names["model"], model) for model in models)]


def _field_names(voice: Voice) -> Mapping[str, str]:
    say = voice.say
    names = [f"retrieval {option.name}" for option in OPTIONS]
    options = map(say, [option.field_name for option in OPTIONS])
    return dict(zip(names, options, strict=True)) | {
        "chat_mode": say("chat mode"),
        "response_mode": say("response mode"),
        "top_k": say("passages per answer (top k)"),
        "file_ids": say("only these documents"),
        "extractive": say("without the language model"),
        "node_ids": say("only these passages"),
        "reading": say("what to read"),
        "model": say("model"),
    }


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


def _value(name: str, value: Any, voice: Voice) -> str:
    """ "" for an empty value."""
    if value is None or value in ("", (), []):
        return ""
    if isinstance(value, bool):
        return voice.say("yes") if value else voice.say("no")
    if isinstance(value, list | tuple):
        return f"{len(value)}: {', '.join(map(str, value))}"
    if name in ("chat_mode", "response_mode"):
        return _with_code_name(voice.ways, str(value))
    return _screen_name(voice.readings, value) if name == "reading" else str(value)


def _passages(at: int, run: _Run) -> str:
    passages = "".join(_passage(at, source, run.voice.say) for source in run.message.sources)
    return _box(run, passages or _quiet(run.voice.say("None.")))


def _passage(at: int, source: Source, say: Callable[[str], str]) -> str:
    score = (
        ""
        if source.score is None
        else " · " + _plain(say("score {score}").format(score=f"{source.score:.3f}"))
    )
    where = _plain(say("characters {start} to {end}").format(start=source.start, end=source.end))
    return (
        f"<details><summary>[{source.number}] {_plain(source.place)}"
        f'<span class="quiet">{score} · {where}</span></summary>'
        # A link opens the details only if its target is inside them.
        f'<p class="text" id="passage-{at}-{source.number}">{_plain(source.text)}</p></details>'
    )


def _calls(run: _Run) -> str:
    calls = run.trace.spans("llm") if run.trace is not None else []
    details = "".join(_call(run, number, call) for number, call in enumerate(calls, 1))
    return _box(run, details or _quiet(run.voice.say("No calls were recorded.")))


def _call(run: _Run, number: int, call: Span) -> str:
    facts, say = call.facts, run.voice.say
    about = _plain(f"{max(call.milliseconds, 0):.0f} ms")
    if facts.get("prompt_tokens"):  # quoting counts none
        tokens = _tokens(run, facts["prompt_tokens"], facts.get("completion_tokens", 0))
        about = f"{_plain(tokens)} · {about}"
    prompt = _plain(_with_code_name(run.voice.prompts, str(facts.get("prompt", ""))))
    origins: Mapping[str, str] = {
        Origin.INSTRUCTIONS: say("Instructions"),
        Origin.DOCUMENTS: say("Documents"),
        Origin.QUESTION: say("Question"),
        Origin.HISTORY: say("Conversation"),
        Origin.ANSWER: say("Earlier answer"),
    }
    messages = "".join(_message(message, origins) for message in facts.get("messages", ()))
    reply = _plain(call.error or str(facts.get("reply", "")))
    return (
        f'<details><summary>{number} · {prompt} <span class="quiet">{about}</span></summary>'
        f'{messages}<div class="message">{_quiet(say("Reply"))}<p class="text">{reply}</p></div></details>'
    )


def _message(message: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    parts = "".join(
        '<div class="origin '
        f'{_plain(str(part["origin"]))}"><b>{_plain(origins.get(part["origin"], part["origin"]))}</b>'
        f"{_plain(part['text'])}</div>"
        for part in message["parts"]
        if part["text"].strip()
    )
    return f'<div class="message">{_quiet(str(message["role"]))}{parts}</div>'


def _times(run: _Run) -> str:
    if run.trace is None:
        return _box(run, _quiet(run.voice.say("No times were recorded.")))
    rows = "".join(
        f'<tr><td style="padding-left:{min(depth, 8) * 1.1}rem">{_plain(step.name)}</td>'
        f'<td class="number">{max(step.milliseconds, 0):.1f} ms</td></tr>'
        for depth, step in _outline(run.trace)
    )
    total = f"{_plain(run.trace.name)}: {run.trace.seconds:.2f} s"
    return _box(run, f"<details><summary>{total}</summary><table>{rows}</table></details>")


def _outline(step: Span, depth: int = 0) -> Iterable[tuple[int, Span]]:
    yield depth, step
    for child in step.children:
        yield from _outline(child, depth + 1)


def _documents(library: Library, runs: Sequence[_Run]) -> str:
    """The chosen and the cited documents, by name."""
    say = runs[0].voice.say
    names = {source.file_id: source.file_name for run in runs for source in run.message.sources}
    chosen = [id_ for run in runs if run.message.ask for id_ in run.message.ask.file_ids or ()]
    rows = []
    for file_id in dict.fromkeys([*names, *chosen]):
        file = library.files.get(file_id)
        name, hash_ = (file.name, file.hash) if file else (names.get(file_id, file_id), say("deleted since"))
        rows.append((name, hash_))
    body = "".join(
        f"<tr><td>{_plain(name)}</td><td><code>{_plain(hash_)}</code></td></tr>"
        for name, hash_ in sorted(rows)
    )
    return f"<table><tr><th>{_plain(say('Document'))}</th><th>SHA-256</th></tr>{body}</table>"


def _versions(library: Library, voice: Voice) -> list[tuple[str, str]]:
    say = voice.say
    try:
        lectern = version("lectern")
    except PackageNotFoundError:  # it runs from a folder
        lectern = say("not installed")
    embed_model = library.store.versions.current().embed_model
    return [
        ("Lectern", lectern),
        ("Python", sys.version.split()[0]),
        (say("Embedding model"), embed_model or f"all-MiniLM-L6-v2, {say('built-in')}"),
    ]


def _box(run: _Run, inside: str) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(run.message.created))
    return f'<div class="box"><h3>{_plain(_mode(run))}</h3>{_quiet(when)}{inside}</div>'


def _columns(columns: Iterable[str]) -> str:
    return f'<div class="columns">{"".join(columns)}</div>'


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{_plain(title)}</h2>{inside}</section>"


def _quiet(text: str) -> str:
    return f'<p class="quiet">{_plain(text)}</p>'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    body = "".join(f"<tr><th>{_plain(name)}</th><td>{_plain(value)}</td></tr>" for name, value in rows)
    return f"<table>{body}</table>"


def _page(title: str, body: str, voice: Voice) -> str:
    return (
        f'<!doctype html>\n<html lang="{_plain(voice.language)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
        "'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" '
        'content="no-referrer">\n'
        f"<title>{_plain(' '.join(title.split())[:80])} · {_plain(voice.say('run card'))}</title>\n"
        f"<style>\n{_STYLE.read_text('utf-8')}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _plain(text: str) -> str:
    """Escaped text, without control characters and passwords of addresses."""
    return escape(_PASSWORD.sub("", "".join(char for char in text if char >= " " or char in "\n\t")))
