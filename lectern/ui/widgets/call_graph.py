"""The side panel with a drawing of an answer's model calls. Each opens to its prompt, reply, tokens and
time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby

import streamlit as st

from lectern.explain.call_graph import Call, CallGraph, Step, build_call_graph
from lectern.schema import Message
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.state import event, session
from lectern.ui.widgets.component import component
from ragcore.response_synthesizers.response_mode import find_mode
from ragcore.text.word_diff import legible

_CALL_GRAPH = component("call_graph", '<div class="root"></div>')

EXTRACTIVE = "extractive"  # the name of the built-in reader in a trace
MAX_STEPS = 120  # in the list. Of more, only the first and the last are drawn.
LAST_STEPS = 20
TEXT_CHARS = 2000  # of a reply in the list; an opened call has all of it
CACHE_SIZE = 16  # graphs, because reading a long trace takes time


def draw_call_graph(message: Message, opened: int) -> None:
    """Draws the calls of an answer, with the details of call `opened`. Calls are numbered from 1; 0 opens
    none."""
    try:
        graph = _build(resources.library().name, message.id, repr(message.facts))
    except LookupError:
        st.markdown(_("The calls for this answer were not recorded. Try again to see them."))
        return
    st.markdown(_sentence(graph))
    if message.facts is not None and message.facts.extractive and graph.calls:
        st.caption(
            _(
                "No language model: the built-in reader took the same steps through your documents and "
                "quoted them at each one."
            )
        )
    call = graph.call(opened)
    data = {
        "items": _items(graph),
        "tree": _tree(graph),
        "opened": _details(call) if call else None,
        "origins": {
            "instructions": _("Instructions"),
            "documents": _("Documents"),
            "question": _("Question"),
            "history": _("Conversation"),
            "answer": _("Earlier answer"),
        },
        "words": {
            "reply": _("Reply"),
            "prompt": _("Prompt"),
            "tree": _("Calls, the last one at the top"),
            "asks": _("asks for"),
        },
    }
    _CALL_GRAPH(key="film", data=data, on_open_change=lambda: _open(message, opened))


def describe_calls(message: Message) -> str:
    """What this response mode did for the question, in one sentence; "" if the calls were not recorded."""
    try:
        graph = _build(resources.library().name, message.id, repr(message.facts))
    except LookupError:
        return ""
    return summary(graph)


def summary(graph: CallGraph) -> str:
    """What the response mode did for the question, in one sentence.

    >>> summary(CallGraph("none", "no_text", "", (), (), 0.1))
    'Found the passages; no answer was written.'
    """
    reading = [call for call in graph.calls if call.kind != "condense"]
    number = len(reading)
    if not number:
        return _("Found the passages; no answer was written.")
    mode = find_mode(graph.mode)
    if mode is not None and not mode.reads_passages:
        return _("Answered without reading any passages.")
    if graph.shape == "rows":
        return _describe_rows(reading)
    if number == 1 and reading[0].model == EXTRACTIVE:
        return _("Read all passages at once.")
    if mode is not None and mode.traits.packing == "cut":
        return _("Put all passages into one call, shortened where needed.")
    if number == 1:
        return _("All passages fit into one question to the model.")
    if graph.shape == "tree":
        groups = sum(call.level == 1 for call in reading)
        text = ngettext(
            "Summarised the passages, then the summary.",
            "Summarised the passages in {groups} groups, then those summaries.",
            groups,
        )
        return text.format(groups=numeral(groups))
    changed = sum(call.changed_answer for call in reading)
    calls = ngettext("{number} more call", "{number} more calls", number - 1).format(
        number=numeral(number - 1)
    )
    if not changed:
        return _("Read on in {calls}, none of which changed the first answer.").format(calls=calls)
    return _("Read on in {calls}, {changed} of which changed the answer.").format(
        calls=calls, changed=numeral(changed)
    )


def _describe_rows(calls: Sequence[Call]) -> str:
    """The replies that only quote the closest passages, or find nothing, are not counted as answers."""
    number, answers = len(calls), sum(call.outcome == "answer" for call in calls)
    if answers == number:
        text = ngettext("Gave one answer.", "Gave {number} answers, each from its own passages.", number)
    else:
        text = ngettext(
            "The passages gave no sure answer.",
            "Of {number} replies, each from its own passages, {answers} answered the question.",
            number,
        )
    return text.format(number=numeral(number), answers=numeral(answers))


@lru_cache(maxsize=CACHE_SIZE)
def _build(library: str, message_id: str, facts: str) -> CallGraph:
    """Reads the trace in the open library; `library` is part of the cache key. LookupError, uncached, without
    a trace."""
    trace = resources.library().conversations.trace(message_id)
    if trace is None:
        raise LookupError(message_id)
    return build_call_graph(trace)


def _open(message: Message, opened: int) -> None:
    if request := event("film", "open"):
        number = int(request.get("number", 0))
        session().panel = f"calls.{message.id}" + (f".{number}" if number and number != opened else "")


def _sentence(graph: CallGraph) -> str:
    condensed = any(call.kind == "condense" for call in graph.calls)
    several = sum(call.kind != "condense" for call in graph.calls) > 1
    match graph.shape:
        case "none":
            return _("No model was called: passages were retrieved, but no answer was written.")
        case "strip" if several:
            return _(
                "Each call reads more passages and improves the previous answer. New words are "
                "underlined, removed words struck through."
            )
        case "tree" if several:
            return _("Groups of passages are summarised, then the summaries, until one answer is left.")
        case "rows":
            return _("Each passage, or batch of passages, is asked separately.")
        case "rounds":
            return _("Round by round, the model decides which tool to use, until it answers.")
        case "documents":
            return _("Each document is asked separately.")
    if condensed:
        return _("One call writes a standalone question, the next one the answer.")
    return _("A single call writes the answer.")


def _items(graph: CallGraph) -> list[dict[str, object]]:
    """The rows of the list."""
    items: list[dict[str, object]] = []
    longest = max((call.milliseconds for call in graph.calls), default=0.0)
    group = ""
    for number, step in enumerate(graph.steps):
        if MAX_STEPS - LAST_STEPS <= number < len(graph.steps) - LAST_STEPS and len(graph.steps) > MAX_STEPS:
            if number == MAX_STEPS - LAST_STEPS:
                more = len(graph.steps) - MAX_STEPS
                items.append(
                    {
                        "note": ngettext("{number} more step", "{number} more steps", more).format(
                            number=numeral(more)
                        )
                    }
                )
            continue
        if step.group != group:
            group = step.group
            items.append(
                {"head": _("Round {number}").format(number=group) if graph.shape == "rounds" else group}
            )
        call = graph.call(step.call) if step.call else None
        items.append(_call_item(graph, call, longest) if call else _step_item(step))
    return items


def _call_item(graph: CallGraph, call: Call, longest: float) -> dict[str, object]:
    changed = legible(call.changes) if call.inputs else ()
    return {
        "number": call.number,
        "title": _title(call),
        "sub": _subtitle(call),
        "share": call.milliseconds / longest if longest else 0.0,
        "changes": [[change.kind, change.text] for change in changed]
        if len(call.reply) <= TEXT_CHARS
        else [],
        "text": labels.cut_at_word(call.reply, TEXT_CHARS),
        "tools": list(call.tools),
        "error": call.error,
        "inTree": graph.shape == "tree" and call.kind == "summarize" and len(graph.calls) > 1,
    }


def _step_item(step: Step) -> dict[str, object]:
    time = _time(step.milliseconds)
    match step.kind:
        case "retrieve":
            count = ngettext("{number} passage found", "{number} passages found", step.passages or 0)
            title = _("Searches for passages")
            sub = f"{count.format(number=numeral(step.passages or 0))} · {time}"
        case "tool":
            title, sub = _("Uses {tool}").format(tool=step.text), time
        case _:
            title = _postprocessor_titles().get(step.text) or _("Chooses among the passages")
            sub = _("{number} kept").format(number=numeral(step.passages or 0)) + f" · {time}"
    text = step.text if step.kind == "retrieve" else labels.cut_at_word(step.result, TEXT_CHARS)
    return {"title": title, "sub": sub, "text": text, "error": step.error}


def _postprocessor_titles() -> Mapping[str, str]:
    """What a postprocessor does, by its class."""
    return {
        "SimilarityPostprocessor": _("Leaves out passages with a low score"),
        "SentenceTransformerRerank": _("Puts the passages in a better order"),
        "DiversePostprocessor": _("Picks passages that differ"),
        "First": _("Picks the top passages"),
        "DocumentVersions": _("Puts the newest version first"),
        "WholeLists": _("Completes lists that were cut off"),
    }


def _title(call: Call) -> str:
    match call.kind:
        case "condense":
            return _("Rewrites it as a standalone question")
        case "refine":
            changed = any(change.kind != "same" for change in call.changes)
            return (
                _("Improves the answer") if changed or not call.changes else _("Leaves the answer unchanged")
            )
        case "summarize":
            return _("Summarises the summaries") if call.inputs and not call.passages else _("Summarises")
        case "act":
            return _("Decides what to do") if call.tools else _("Decides, or answers")
        case "answer":
            return _("Answers")
    return call.prompt.replace("_", " ")


def _subtitle(call: Call) -> str:
    parts = []
    if call.passages:
        text = ngettext("passage {numbers}", "passages {numbers}", len(call.passages))
        parts.append(text.format(numbers=_ranges(call.passages)))
    if call.inputs and not call.changes:
        text = ngettext("reply of call {numbers}", "replies of calls {numbers}", len(call.inputs))
        parts.append(text.format(numbers=_ranges(call.inputs)))
    if tokens := call.prompt_tokens + call.completion_tokens:  # quoting counts none
        parts.append(labels.about_tokens(tokens) if call.estimated else labels.count(tokens, "token"))
    return " · ".join([*parts, _time(call.milliseconds)])


def _details(call: Call) -> dict[str, object]:
    roles = {"system": _("System"), "user": _("User"), "assistant": _("Assistant"), "tool": _("Tool")}
    figures = []
    if call.prompt_tokens:
        figures += [
            _("{number} tokens read").format(number=numeral(call.prompt_tokens)),
            _("{number} written").format(number=numeral(call.completion_tokens)),
        ]
    figures += [
        *([_("counted here, because the server gave no count")] if call.estimated else []),
        _time(call.milliseconds),
        _("started {time} after the question").format(time=_time(call.began * 1000)),
        *([call.model] if call.model and call.model != EXTRACTIVE else []),
    ]
    return {
        "number": call.number,
        "figures": " · ".join(figures),
        "messages": [
            {"role": roles.get(message.role, message.role), "parts": [list(part) for part in message.parts]}
            for message in call.messages
        ],
        "reply": call.reply,
        "tools": list(call.tools),
        "error": call.error,
    }


def _tree(graph: CallGraph) -> dict[str, object] | None:
    """The calls by level, lowest first, and which reply went into which call."""
    calls = [call for call in graph.calls if call.kind == "summarize"]
    if graph.shape != "tree" or len(graph.calls) < 2:
        return None
    levels = [
        [_node(call) for call in level] for _level, level in groupby(calls, key=lambda call: call.level)
    ]
    return {"levels": levels, "edges": [[source, call.number] for call in calls for source in call.inputs]}


def _node(call: Call) -> dict[str, object]:
    return {
        "number": call.number,
        "label": f"{_title(call)}: {_subtitle(call)}",
        "time": _time(call.milliseconds),
        "passages": _ranges(call.passages),
        "error": bool(call.error),
    }


def _time(milliseconds: float) -> str:
    return (
        _("{number} ms").format(number=numeral(milliseconds))
        if milliseconds < 100
        else labels.seconds(milliseconds / 1000)
    )


def _ranges(numbers: Sequence[int]) -> str:
    """[1, 2, 3, 7] as "1–3, 7" """
    # Consecutive numbers have the same difference to their position.
    groups = groupby(enumerate(sorted(set(numbers))), key=lambda item: item[1] - item[0])
    runs = [[number for _position, number in group] for _difference, group in groups]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
