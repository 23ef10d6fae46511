"""A replay as a table with a row per question and a column per chat mode. A phone shows one mode at a
time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from lectern.runs.chat_mode_replay import Cell, Lack, Lane, Replay, Steps, ToolUse, find_lack
from lectern.schema import AnswerFacts, Source
from lectern.ui import labels
from lectern.ui.i18n import _, ngettext, translate
from lectern.ui.state import event
from lectern.ui.widgets.component import component
from ragcore.extractive.answerer import Writer

_REPLAY = component("chat_mode_replay", '<div class="root"></div>')


def describe_lack(lack: Lack) -> str:
    """Why the model cannot use a mode, in one sentence."""
    if lack == "model":
        return _("Needs a language model; without one, it cannot answer.")
    return _("Needs a model that can search by itself.")


def draw_table(replay: Replay, writer: Writer, again: Callable[[str], None]) -> None:
    """Draws all lanes, then the modes that this model cannot use, with the reason. `again` is a callback that
    repeats the last answer in a mode."""
    lanes = {lane.mode: lane for lane in replay.lanes}
    modes = [mode for mode in labels.chat_modes() if mode in lanes]
    modes += [mode for mode in labels.chat_modes() if mode not in lanes and find_lack(mode, writer)]
    columns = [
        _column(mode, lanes.get(mode), len(replay.questions), replay.running, writer) for mode in modes
    ]
    rows = [
        {
            "question": labels.excerpt(question),
            "cells": [_cell(lanes.get(mode), place, replay) for mode in modes],
        }
        for place, question in enumerate(replay.questions)
    ]
    data = {
        "columns": columns,
        "rows": rows,
        "words": {
            "table": _("The same questions in each mode"),
            "choose": _("Chat mode"),
            "more": _("Show all"),
            "less": _("Show less"),
            "calls": _("How this answer was made"),
            "again": _("Try again"),
        },
    }
    _REPLAY(key="replay_table", data=data, on_again_change=lambda: _again(again))


def _again(again: Callable[[str], None]) -> None:
    if request := event("replay_table", "again"):
        again(str(request.get("mode", "")))


def _column(mode: str, lane: Lane | None, questions: int, running: bool, writer: Writer) -> dict[str, object]:
    column: dict[str, object] = {"mode": mode, "label": labels.chat_modes()[mode].label, "state": "lacks"}
    column["title"] = labels.caption(mode)
    if lane is None:
        lack = find_lack(mode, writer)
        return column | {"facts": describe_lack(lack) if lack else ""}
    done = sum(cell.state == "done" for cell in lane.cells)
    busy = running and any(cell.state == "writing" for cell in lane.cells)
    complete = done == questions
    estimated = any(cell.facts.tokens_estimated for cell in lane.cells if cell.facts)
    calls = 0 if all(cell.facts.extractive for cell in lane.cells if cell.facts) else lane.calls
    facts = _cost(calls, lane.tokens, lane.seconds, estimated) if lane.cells and done else ""
    used_modes = {cell.steps.worked_as for cell in lane.cells if cell.steps} - {mode, ""}
    if len(used_modes) == 1:
        facts = " · ".join(
            filter(None, [_("as {mode}").format(mode=f"“{labels.mode_label(used_modes.pop())}”"), facts])
        )
    if running and not complete and not busy and not facts:
        facts = _("Waiting")
    return column | {"state": "busy" if busy else "done" if complete else "part", "facts": facts}


def _facts(facts: AnswerFacts) -> str:
    calls = 0 if facts.extractive else facts.calls
    cost = _cost(calls, facts.prompt_tokens + facts.completion_tokens, facts.seconds, facts.tokens_estimated)
    return " · ".join([*labels.recording_note(facts), cost])


def _cost(calls: int, tokens: int, seconds: float, estimated: bool) -> str:
    if not calls:  # of a language model
        return labels.seconds(seconds)
    token_count = labels.about_tokens(tokens) if estimated else labels.count(tokens, "token")
    return " · ".join([labels.count(calls, "call"), token_count, labels.seconds(seconds)])


def _cell(lane: Lane | None, place: int, replay: Replay) -> dict[str, object] | None:
    """None if the model cannot use this mode."""
    if lane is None:
        return None
    if place >= len(lane.cells):
        waiting = replay.running and not lane.is_broken
        return {
            "state": "waiting" if waiting else "left",
            "note": _("Waiting") if waiting else _("Not asked"),
        }
    cell = lane.cells[place]
    return {
        "state": cell.state,
        "id": cell.message_id,
        "text": cell.text,
        "note": _note(cell),
        "problem": [translate(cell.problem.what), translate(cell.problem.hint)] if cell.problem else [],
        "marks": _marks(cell.steps) if cell.steps else [],
        "lookups": _lookups(cell.steps) if cell.steps else [],
        "same": _same_as(cell, lane, place, replay.lanes),
        "sources": [_source(cell, source) for source in cell.sources],
        "facts": _facts(cell.facts) if cell.facts else "",
        "calls": f"#calls-{cell.message_id}" if cell.steps else "",
        "again": lane.is_broken and not replay.running and place == len(lane.cells) - 1,
    }


def _note(cell: Cell) -> str:
    return {
        "writing": "" if cell.text else _("Thinking…"),
        "stopped": _("Stopped. The text so far has been kept.")
        if cell.text
        else _("Stopped before anything was written."),
        "interrupted": _("This answer was interrupted."),
    }.get(cell.state, "")


def _marks(steps: Steps) -> list[dict[str, object]]:
    """Three facts about each answer in a fixed order, for comparison between columns."""
    passages = _("No search") if steps.passages is None else labels.count(steps.passages, "passage")
    calls = ngettext("{number} tool call", "{number} tool calls", len(steps.tools)).format(
        number=len(steps.tools)
    )
    return [
        {
            "icon": "rewritten",
            "on": bool(steps.rewritten),
            "text": _("Rewritten") if steps.rewritten else _("As typed"),
        },
        {"icon": "searched", "on": steps.passages is not None, "text": passages},
        {"icon": "tool", "on": bool(steps.tools), "text": calls if steps.tools else _("No tool")},
    ]


def _lookups(steps: Steps) -> list[dict[str, str]]:
    """The search text, if it differs from the question, and each tool call."""
    lookups = [
        (_("Called {tool} with").format(tool=use.tool.replace("_", " ")), _argument(use))
        for use in steps.tools
    ]
    if steps.rewritten:
        lookups.insert(0, (_("Searched for"), steps.rewritten))
    return [{"what": what, "text": labels.excerpt(text)} for what, text in lookups]


def _argument(use: ToolUse) -> str:
    """The value of a single argument, or else the arguments as JSON."""
    try:
        arguments = json.loads(use.arguments)
    except ValueError:
        return use.arguments
    return (
        str(next(iter(arguments.values())))
        if isinstance(arguments, dict) and len(arguments) == 1
        else use.arguments
    )


def _same_as(cell: Cell, lane: Lane, place: int, lanes: Sequence[Lane]) -> str:
    """A sentence about the first earlier column with the same answer, or ""."""
    if cell.state != "done":
        return ""
    by_mode = {other.mode: other for other in lanes}
    text = " ".join(cell.text.split())
    for mode in labels.chat_modes():
        if mode == lane.mode:
            break
        other = by_mode.get(mode)
        earlier = other.cells[place] if other is not None and place < len(other.cells) else None
        if earlier is not None and earlier.state == "done" and " ".join(earlier.text.split()) == text:
            return _("Same answer as “{mode}”").format(mode=labels.mode_label(mode))
    return ""


def _source(cell: Cell, source: Source) -> dict[str, object]:
    return {
        "number": source.number,
        "title": labels.place(source),
        "address": f"#passage-{cell.message_id}.{source.number}",
    }
