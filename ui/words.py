"""How the screens say things: sizes, times, places, and one plain sentence for every way of answering."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from ragcore.conversations import AnswerFacts, Price, Reading, Source
from ragcore.ingestion.files import FileRow, Stage
from ui.i18n import _, ngettext


@dataclass(frozen=True, slots=True)
class Mode:
    label: str
    sentence: str


CHAT_MODES: Mapping[str, Mode] = {
    "condense_plus_context": Mode(
        "Follow-ups and documents",
        "Works out what a follow-up question means, looks in your documents, and remembers the conversation.",
    ),
    "context": Mode("Documents each time", "Looks in your documents with your exact words, and remembers the conversation."),
    "condense_question": Mode(
        "One full question", "Turns what you say into one complete question and answers that from your documents alone."
    ),
    "simple": Mode("Just talk", "Does not look in your documents. Needs a language model."),
    "react": Mode(
        "Step by step", "Thinks aloud, looks in your documents as often as it needs to, then answers. Several calls; slow."
    ),
    "openai": Mode(
        "By functions", "The model decides itself when to look in your documents. Needs a model that calls functions."
    ),
    "best": Mode("Best for your model", "By functions where your model can; otherwise the same as “Follow-ups and documents”."),
}

RESPONSE_MODES: Mapping[str, Mode] = {
    "compact": Mode("Compact", "Puts as many passages as fit into each call. The usual choice."),
    "refine": Mode("Refine", "Reads one passage after another and improves the answer each time. Thorough, and slow."),
    "tree_summarize": Mode("Tree summarize", "Sums up groups of passages, then the summaries. Good for “what is this about?”"),
    "simple_summarize": Mode("Simple summarize", "Shortens all passages to fit one call. Quick, and may leave things out."),
    "accumulate": Mode("Accumulate", "Asks the question of each passage on its own and lists the answers."),
    "compact_accumulate": Mode("Compact accumulate", "Like Accumulate, with several passages in each call."),
    "generation": Mode("Generation", "Does not look in your documents: the language model answers from what it knows."),
    "no_text": Mode("Passages only", "Finds the passages and writes no answer."),
}

READINGS: Mapping[Reading, Mode] = {
    "best": Mode("Best passages", "Finds the passages that fit the question best, and answers from them."),
    "everything": Mode("Read everything", "Reads every passage of your documents. Nothing is left out, and it takes longer."),
    "each_file": Mode("Each document", "Asks each document on its own. The answers become a table."),
}

STAGES: Mapping[Stage, str] = {
    Stage.QUEUED: "Waiting",
    Stage.READING: "Reading",
    Stage.SPLITTING: "Splitting",
    Stage.EMBEDDING: "Indexing",
    Stage.STORING: "Saving",
    Stage.READY: "Ready",
    Stage.FAILED: "Could not be read",
    Stage.STOPPED: "Stopped",
}


def size(count: int) -> str:
    """Bytes as people say them."""
    if count < 1_000_000:
        return f"{max(1, round(count / 1000)) if count else 0} KB"
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


def count(number: int, thing: str) -> str:
    """ "1 page", "1,204 pages" """
    if number == 1:
        return f"1 {thing}"
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {plural}"


def time_left(seconds: float) -> str:
    return f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """As far as an estimate can say it."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5} s"
    if seconds < 3600:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3600:.1f} h"


def file_facts(file: FileRow) -> str:
    """The thin line under a file's name. What has no size, such as an unreadable member of an archive, gets none."""
    weight = [size(file.size)] if file.size else []
    if file.ready:
        pages = [count(file.pages, file.page_word)] if file.pages > 1 else []
        return " · ".join(["Ready", *pages, count(file.passages, "passage"), *weight])
    parts = [STAGES[file.stage]]
    if file.stage is Stage.READING and file.kind == "ZIP" and file.total:
        parts.append(f"{size(file.done)} of {size(file.total)}")
    elif file.stage in (Stage.READING, Stage.EMBEDDING) and file.total > 1:
        thing = "passage" if file.stage is Stage.EMBEDDING else "page" if file.kind == "PDF" else "part"
        parts.append(f"{file.done:,} of {count(file.total, thing)}")
    if file.seconds_left is not None and file.stage in (Stage.READING, Stage.EMBEDDING):  # of one that waits: in the sum
        parts.append(time_left(file.seconds_left))
    return " · ".join([*parts, *weight])


def place(source: Source) -> str:
    """ "handbook.pdf · p. 4" """
    if not source.page_label:
        return source.file_name
    word = "p." if source.page_word == "page" else source.page_word
    return f"{source.file_name} · {word} {source.page_label}"


def mode_label(name: str) -> str:
    """What the screens call a way of answering, in a chat or on its own."""
    mode = CHAT_MODES.get(name) or RESPONSE_MODES.get(name)
    return mode.label if mode else name.replace("_", " ")


def caption(name: str) -> str:
    """The sentence of a way of answering, and its name in the literature and in code."""
    mode = CHAT_MODES.get(name) or RESPONSE_MODES[name]
    return f"{mode.sentence} ({name.replace('_', ' ')})"


def price(price: Price, currency: str) -> str:
    """ "14 calls, about 9,200 tokens, about 40 s" """
    if not price.calls:
        return _("no call to a model")
    calls = ngettext("{number} call", "{number} calls", price.calls).format(number=f"{price.calls:,}")
    parts = [calls, _("about {number} tokens").format(number=f"{_rounded(price.tokens):,}")]
    parts.append(_("no idea yet how long") if price.seconds is None else duration(price.seconds))
    if price.money is not None:
        parts.append(_("about {money}").format(money=money(price.money, currency)))
    return ", ".join(parts)


def money(amount: float, currency: str) -> str:
    """With as many digits as a small amount needs."""
    digits = 2 if amount >= 0.1 or not amount else 4
    return f"{currency}{amount:.{digits}f}" if amount >= 0.0001 or not amount else f"< {currency}0.0001"


def _rounded(number: int) -> int:
    """To two digits."""
    return int(float(f"{number:.2g}"))


def coverage(facts: AnswerFacts) -> str:
    """ "6 of 340 passages, 2 of 9 files" """
    passages = ngettext("{used} of {number} passage", "{used} of {number} passages", facts.passages_total)
    read = passages.format(used=f"{facts.passages_used:,}", number=f"{facts.passages_total:,}")
    if not facts.files_total:  # an answer of before files were counted
        return read
    files = ngettext("{used} of {number} file", "{used} of {number} files", facts.files_total)
    return f"{read}, {files.format(used=f'{facts.files_used:,}', number=f'{facts.files_total:,}')}"


def recorded(facts: AnswerFacts) -> list[str]:
    """ "Recorded on 2026-05-01" of an answer that was played; else nothing."""
    if facts.recorded is None:
        return []
    return [_("Recorded on {day}").format(day=time.strftime("%Y-%m-%d", time.localtime(facts.recorded)))]


def answer_facts(facts: AnswerFacts) -> str:
    """The thin line under an answer; with what was expected where that was said before."""
    parts = recorded(facts)
    if facts.reading != "best":
        parts.append(READINGS[facts.reading].label)
    parts.append(mode_label(facts.mode))
    if facts.calls:
        parts.append(count(facts.calls, "call"))
    expected = facts.expected
    if expected is not None and facts.calls:
        parts.append(count(facts.prompt_tokens + facts.completion_tokens, "token"))
    about = f" ({duration(expected.seconds)} expected)" if expected is not None and expected.seconds is not None else ""
    parts.append(f"{facts.seconds:.1f} s{about}")
    if facts.money is not None:
        parts.append(money(facts.money, facts.currency))
    if facts.passages_used and facts.mode != "generation":  # which finds passages and does not look at them
        parts.append(coverage(facts))
    if facts.mode == "no_text":
        return " · ".join(parts)
    if facts.extractive:
        parts.append("no language model: quoting your documents")
    elif facts.model:
        parts.append(facts.model)
    return " · ".join(parts)
