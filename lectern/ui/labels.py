"""Formats sizes, times, places and numbers. Has a label and a sentence for every mode."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from lectern.indexes import FIRST_NAME
from lectern.jobs.embedders import BUILT_IN, DOWNLOADED_MULTILINGUAL, HASHING, MULTILINGUAL
from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.files import Added
from lectern.schema import AnswerFacts, Price, Reading, Source, State
from lectern.ui.i18n import _, day, language, ngettext, numeral, translate

EXCERPT_CHARS = 200
LAST_CHARS = (8, 16)  # how much of a long name's end stays visible

T = TypeVar("T")


def _cache_by_language(make: Callable[[], T]) -> Callable[[], T]:
    """A decorator. A list of options reads the texts once per option."""
    by_language: dict[str, T] = {}

    @wraps(make)
    def cached_texts() -> T:
        code = language()
        if code not in by_language:
            by_language[code] = make()
        return by_language[code]

    return cached_texts


@dataclass(frozen=True, slots=True)
class Mode:
    """`sentence` describes the mode. `plain` is the label on everyday screens, if that is another."""

    label: str
    sentence: str
    plain: str = ""


@_cache_by_language
def chat_modes() -> Mapping[str, Mode]:
    return {
        "condense_plus_context": Mode(
            _("Follow-ups and documents"),
            _(
                "Works out what a follow-up question means, looks in your documents, and remembers the "
                "conversation."
            ),
        ),
        "context": Mode(
            _("Documents each time"),
            _("Searches your documents with your exact words each time, and remembers the conversation."),
        ),
        "condense_question": Mode(
            _("One complete question"),
            _("Turns what you say into one complete question and answers it from your documents alone."),
        ),
        "simple": Mode(_("Just talk"), _("Does not look in your documents. Needs a language model.")),
        "react": Mode(
            _("Step by step"),
            _(
                "Thinks aloud, looks in your documents as often as it needs to, then answers. Slow, as "
                "the model is asked several times."
            ),
        ),
        "openai": Mode(
            _("Documents when needed"),
            _(
                "The model decides for itself when to look in your documents. Needs a model that can "
                "search by itself."
            ),
        ),
        "best": Mode(
            _("Best for your model"),
            _(
                "“Documents when needed” if your model can do it; otherwise the same as “Follow-ups and "
                "documents”."
            ),
        ),
    }


@_cache_by_language
def response_modes() -> Mapping[str, Mode]:
    """The response modes under their names in the literature, for the lab, in the order of the screens."""
    return {
        "compact": Mode(
            _("Compact"),
            _("Gives the model as many passages at once as fit. The usual choice."),
            _("All together"),
        ),
        "refine": Mode(
            _("Refine"),
            _("Reads one passage after another and improves the answer each time. Thorough but slow."),
            _("One after another"),
        ),
        "tree_summarize": Mode(
            _("Tree summarize"),
            _("Summarises groups of passages, then the summaries. Good for “What is this about?”"),
            _("Summary of summaries"),
        ),
        "simple_summarize": Mode(
            _("Simple summarize"),
            _("Shortens all passages so that the model reads them at once. Quick, but may leave things out."),
            _("Short summary"),
        ),
        "accumulate": Mode(
            _("Accumulate"), _("Asks each passage separately and lists the answers."), _("Each by itself")
        ),
        "compact_accumulate": Mode(
            _("Compact accumulate"),
            _("Asks several passages at a time and lists the answers."),
            _("A few at a time"),
        ),
        "generation": Mode(
            _("Generation"),
            _("Does not look in your documents: the language model answers from what it knows."),
            _("Without documents"),
        ),
        "no_text": Mode(_("Passages only"), _("Finds the passages but writes no answer.")),
    }


@_cache_by_language
def plain_response_modes() -> Mapping[str, Mode]:
    """The response modes under plain names, for everyday screens."""
    return {name: Mode(mode.plain or mode.label, mode.sentence) for name, mode in response_modes().items()}


@_cache_by_language
def readings() -> Mapping[Reading, Mode]:
    return {
        "best": Mode(
            _("Best passages"), _("Finds the passages that fit the question best and answers from them.")
        ),
        "everything": Mode(
            _("Read everything"),
            _("Reads every passage of your documents. Nothing is left out, but it takes longer."),
        ),
        "each_file": Mode(
            _("Each document"), _("Asks each document separately and puts the answers in a table.")
        ),
    }


@_cache_by_language
def stages() -> Mapping[Stage, str]:
    return {
        Stage.QUEUED: _("Waiting"),
        Stage.READING: _("Reading"),
        Stage.SPLITTING: _("Splitting"),
        Stage.EMBEDDING: _("Indexing"),
        Stage.STORING: _("Saving"),
        Stage.READY: _("Ready"),
        Stage.FAILED: _("Could not be read"),
        Stage.STOPPED: _("Stopped"),
    }


def embedder(name: str) -> str:
    """The name of an embedding model: a built-in one, or the folder or name of another."""
    names = {
        BUILT_IN: _("Built-in, for English"),
        MULTILINGUAL: _("Built-in, for all languages"),
        DOWNLOADED_MULTILINGUAL: _("For all languages, downloaded"),
        HASHING: _("Words only, no model"),
    }
    return names.get(name, name)


def size(count: int) -> str:
    """Bytes with a unit and a no-break space: "12 KB", "1.5 MB", "1.7 GB"."""
    if count >= 1e9:
        return gigabytes(count)
    if count < 1_000_000:
        text = _("{number} KB").format(number=max(1, round(count / 1000)) if count else 0)
    else:
        text = _("{number} MB").format(number=numeral(count / 1e6, 1 if count < 1e8 else 0))
    return keep_last_word(text)


def gigabytes(count: int) -> str:
    """Bytes in GB, for comparisons with memory: "1.7 GB"."""
    return keep_last_word(_("{number} GB").format(number=numeral(count / 1e9, 1)))


def keep_last_word(text: str) -> str:
    """Replaces the last space by a no-break space, so that a number stays with its unit."""
    return "\N{NO-BREAK SPACE}".join(text.rsplit(" ", 1))


def count(number: int, thing: str) -> str:
    """ "1 page", "1,204 pages". An unknown thing is called a part."""
    words: Mapping[str, Callable[[], str]] = {
        "file": lambda: ngettext("{number} file", "{number} files", number),
        "document": lambda: ngettext("{number} document", "{number} documents", number),
        "passage": lambda: ngettext("{number} passage", "{number} passages", number),
        "page": lambda: ngettext("{number} page", "{number} pages", number),
        "slide": lambda: ngettext("{number} slide", "{number} slides", number),
        "sheet": lambda: ngettext("{number} sheet", "{number} sheets", number),
        "chapter": lambda: ngettext("{number} chapter", "{number} chapters", number),
        "message": lambda: ngettext("{number} message", "{number} messages", number),
        "call": lambda: ngettext("{number} call", "{number} calls", number),
        "token": lambda: ngettext("{number} token", "{number} tokens", number),
        "conversation": lambda: ngettext("{number} conversation", "{number} conversations", number),
        "note": lambda: ngettext("{number} note", "{number} notes", number),
        "question set": lambda: ngettext("{number} question set", "{number} question sets", number),
        "character": lambda: ngettext("{number} character", "{number} characters", number),
    }
    return words.get(thing, lambda: ngettext("{number} part", "{number} parts", number))().format(
        number=numeral(number)
    )


def excerpt(text: str, chars: int = EXCERPT_CHARS) -> str:
    """The start of a question, for a line about it. A pasted question can be pages long."""
    return text if len(text) <= chars else f"{text[:chars].rstrip()}…"


def name_parts(name: str) -> tuple[str, str]:
    """The beginning of a name, which the style sheet shortens, and the end, which stays visible. A short name
    has no beginning. Words that run from right to left stay in one part, as their letters join.

    >>> name_parts("Annual report of the council 2024.pdf")
    ('Annual report of the council', '\xa02024.pdf')
    """
    least, most = LAST_CHARS
    if len(name) <= 2 * least:
        return "", name
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name):
        return name, ""
    kinds = [unicodedata.category(letter) for letter in name]
    ends = range(max(1, len(name) - most), len(name) - least + 1)
    cuts = [cut for cut in ends if name[cut - 1].isalnum() or kinds[cut - 1] == "Mc"]  # a vowel sign
    # A gap between words is heard as one. A letter stays with its accent or vowel sign.
    cut = next((cut for cut in reversed(cuts) if name[cut] in " _-"), None)
    cut = cut or next((cut for cut in reversed(cuts) if kinds[cut][0] != "M"), None)
    if cut is None:
        return name, ""
    return name[:cut], name[cut:].replace(" ", "\N{NO-BREAK SPACE}", 1 if name[cut] == " " else 0)


def cut_at_word(text: str, chars: int) -> str:
    """The whole words in the first `chars` characters."""
    return text if len(text) <= chars else f"{text[:chars].rsplit(' ', 1)[0]} …"


def surroundings(text: str, start: int, end: int, chars: int) -> tuple[str, str]:
    """Up to `chars` characters before and after a place in a text, in whole words and on one line."""
    before, after = text[max(0, start - chars) : start], text[end : end + chars]
    if start > chars:
        before = "…" + re.sub(r"^\S*\s", "", before)
    if end + chars < len(text):
        after = re.sub(r"\s\S*$", "", after) + "…"
    return re.sub(r"\s+", " ", before), re.sub(r"\s+", " ", after)


def duplicate_name(added: Added) -> str:
    """The name of a duplicate file, with its name in the library if that differs."""
    if added.original_name == added.file.name:
        return added.original_name
    return _("{name} (as {other})").format(name=added.original_name, other=added.file.name)


def part(page_word: str, label: str) -> str:
    """A place in a document: "p. 4", "slide 3"."""
    patterns = part_patterns()
    return patterns.get(page_word, patterns["part"]).format(label=label)


def part_patterns() -> Mapping[str, str]:
    """The words for a place in a document, by what its parts are."""
    return {
        "page": _("p. {label}"),
        "slide": _("slide {label}"),
        "sheet": _("sheet {label}"),
        "chapter": _("chapter {label}"),
        "message": _("message {label}"),
        "part": _("part {label}"),
    }


def seconds(number: float) -> str:
    """A measured time: "1.8 s"."""
    return keep_last_word(_("{seconds} s").format(seconds=numeral(number, 1)))


def time_left(seconds: float) -> str:
    return _("{time} left").format(time=duration(seconds))


def duration(seconds: float) -> str:
    """An estimated time, rounded."""
    if seconds < 5:
        return _("a few seconds")
    if seconds < 55:
        return keep_last_word(_("about {number} s").format(number=round(seconds / 5) * 5))
    if seconds < 3600:
        return keep_last_word(_("about {number} min").format(number=round(seconds / 60)))
    return keep_last_word(_("about {number} h").format(number=numeral(seconds / 3600, 1)))


def file_facts(file: FileRow) -> str:
    """The line below a file's name. An unreadable member of an archive has no size."""
    size_fact = [size(file.size)] if file.size else []
    if file.ready:
        pages = [count(file.pages, file.page_word)] if file.pages > 1 else []
        return " · ".join([stages()[Stage.READY], *pages, count(file.passages, "passage"), *size_fact])
    parts = [_("Skipped") if file.passed_over else stages()[file.stage]]
    # bytes, also during a download
    if file.stage is Stage.READING and file.total and (file.kind == "ZIP" or not file.path):
        parts.append(_("{done} of {all}").format(done=size(file.done), all=size(file.total)))
    elif file.stage in (Stage.READING, Stage.EMBEDDING) and file.total > 1:
        thing = "passage" if file.stage is Stage.EMBEDDING else "page" if file.kind == "PDF" else "part"
        parts.append(_("{done} of {all}").format(done=numeral(file.done), all=count(file.total, thing)))
    # the wait is part of the total
    if file.seconds_left is not None and file.stage in (Stage.READING, Stage.EMBEDDING):
        parts.append(time_left(file.seconds_left))
    return " · ".join([*parts, *size_fact])


def file_problem(file: FileRow) -> str:
    """Why a file could not be read, or the first missing part and how many more there are; "" without a
    problem."""
    if file.problem is None:
        return ""
    more = len(file.left_out) - 1
    if more < 1:
        return translate(file.problem.what)
    others = ngettext("And {number} more, see Details.", "And {number} more, see Details.", more)
    return f"{translate(file.problem.what)} {others.format(number=numeral(more))}"


def place(source: Source) -> str:
    """ "handbook.pdf · p. 4" """
    return " · ".join(filter(None, [source.file_name, page(source)]))


def page(source: Source) -> str:
    """ "p. 4"; "" without pages."""
    return part(source.page_word, source.page_label) if source.page_label else ""


def mode_label(name: str) -> str:
    """The label of a chat mode or response mode in the lab."""
    mode = chat_modes().get(name) or response_modes().get(name)
    return mode.label if mode else name.replace("_", " ")


def plain_mode_label(name: str) -> str:
    """The label of a chat mode, or "All together (compact)" for a response mode."""
    mode = plain_response_modes().get(name)
    return f"{mode.label} ({field_name(name)})" if mode else mode_label(name)


def with_field_name(text: str, field: str) -> str:
    """Markdown of a label: plain words, and behind them in grey what the field calls it.

    >>> with_field_name("Freedom of wording", "temperature")
    'Freedom of wording :gray[temperature]'
    """
    return f"{text} :gray[{field}]"


def caption(name: str) -> str:
    """The sentence about a mode, with its name in the literature."""
    mode = chat_modes().get(name) or response_modes()[name]
    return f"{mode.sentence} ({field_name(name)})"


def field_name(mode: str) -> str:
    """The name of a mode in the literature."""
    names = {"condense_plus_context": "condense + context", "react": "ReAct", "openai": "function calling"}
    return names.get(mode, mode.replace("_", " "))


def price(price: Price, currency: str, *, model: bool = True) -> str:
    """ "14 calls, about 9,200 tokens, about 40 s"; only the time without a `model`."""
    if not price.calls:
        return _("no model calls")
    time = _("time not known yet") if price.seconds is None else duration(price.seconds)
    parts = [count(price.calls, "call"), about_tokens(price.tokens), time] if model else [time]
    if price.money is not None:
        parts.append(_("about {money}").format(money=money(price.money, currency)))
    return ", ".join(parts)


def quotes_are_similar() -> str:
    return _("Without a language model answers are quotes, and different ways often give the same one.")


def money(amount: float, currency: str) -> str:
    """An amount with more digits if it is small."""
    if 0 < amount < 0.0001:
        return f"< {currency}{numeral(0.0001, 4)}"
    return f"{currency}{numeral(amount, 2 if amount >= 0.1 or not amount else 4)}"


def about_tokens(number: int) -> str:
    """A number rounded to two digits: "about 9,200 tokens"."""
    return _("about {number} tokens").format(number=numeral(int(float(f"{number:.2g}"))))


def coverage(facts: AnswerFacts) -> str:
    """ "6 of 340 passages, 2 of 9 files" """
    passages = ngettext("{used} of {number} passage", "{used} of {number} passages", facts.passages_total)
    read = passages.format(used=numeral(facts.passages_used), number=numeral(facts.passages_total))
    if not facts.files_total:  # an old answer, without a count of files
        return read
    files = ngettext("{used} of {number} file", "{used} of {number} files", facts.files_total)
    return f"{read}, {files.format(used=numeral(facts.files_used), number=numeral(facts.files_total))}"


def end_message(states: Sequence[State]) -> str:
    if set(states) == {"stopped"}:
        return _("Stopped.")
    if set(states) == {"failed"}:
        return (
            _("The answer could not be finished.")
            if len(states) == 1
            else _("The answers could not be finished.")
        )
    return _("The answer is ready.") if len(states) == 1 else _("The answers are ready.")


def recording_note(facts: AnswerFacts) -> list[str]:
    """ "Recorded on May 1, 2026" for a recorded answer, or else nothing."""
    if facts.recorded is None:
        return []
    return [_("Recorded on {day}").format(day=day(facts.recorded))]


def cost_facts(facts: AnswerFacts) -> list[str]:
    """ "6 calls", "2,310 tokens", "1.8 s (about 5 s expected)", "€0.02". Only the time without a language
    model."""
    tokens, expected = facts.prompt_tokens + facts.completion_tokens, facts.expected
    calls = 0 if facts.extractive else facts.calls
    parts = [count(calls, "call")] if calls else []
    if calls and tokens:  # unknown for a stopped answer
        parts.append(about_tokens(tokens) if facts.tokens_estimated else count(tokens, "token"))
    parts.append(seconds(facts.seconds))
    if expected is not None and expected.calls and expected.seconds is not None:
        parts[-1] += " " + _("({time} expected)").format(time=duration(expected.seconds))
    if facts.money is not None:
        parts.append(money(facts.money, facts.currency))
    return parts


def answer_facts(facts: AnswerFacts) -> str:
    parts = recording_note(facts)
    if facts.reading != "best":
        parts.append(readings()[facts.reading].label)
    parts.append(plain_mode_label(facts.mode))
    parts += cost_facts(facts)
    # "generation" finds passages but does not read them
    if facts.passages_used and facts.has_sources:
        parts.append(coverage(facts))
    if facts.writes:
        parts += writer_name(facts)
    return " · ".join(parts)


def writer_name(facts: AnswerFacts) -> list[str]:
    """The model that wrote the answer, or that there was none."""
    if facts.extractive:
        return [_("no language model: quoting your documents")]
    return [facts.model] if facts.model else []


def index_name(name: str) -> str:
    """The name of an index. The default name of the first index is translated."""
    return _("My documents") if name == FIRST_NAME else name
