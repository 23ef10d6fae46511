"""Brings answers of earlier versions up to date, which stored no outcome, or none for each part of an answer.

Here, and nowhere else, a reply is recognised by its words: those that earlier versions wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from lectern.db.stored_json import parse_trace, read_stored
from lectern.schema import AnswerPart
from ragcore.schema import Outcome
from ragcore.sql.base import Connection, Database

MIGRATED = "typed_replies"  # the row of the table `shared` in a library that is up to date

_CLOSEST = (
    "Closest passages:",
    "Ähnlichste Passagen:",
    "Pasajes más cercanos:",
    "Passages les plus proches :",
    "最接近的段落：",
)
_NOTHING_FOUND = (
    "I found nothing about this in your documents.",
    "Ich habe in Ihren Dokumenten nichts dazu gefunden.",
    "No he encontrado nada sobre esto en sus documentos.",
    "Je n’ai rien trouvé à ce sujet dans vos documents.",
    "我在您的文档中没有找到任何相关内容。",
)
_LOOKED_FOR = (
    "I looked for: ",
    "Gesucht habe ich nach: ",
    "He buscado: ",
    "J’ai cherché : ",
    "我查找的内容：",
)
_NOT_FOUND = (  # of the first versions: alone, or before closest passages
    "I could not find this in your documents.",
    "Ich konnte das in Ihren Dokumenten nicht finden.",
    "No he encontrado esto en sus documentos.",
    "Je n’ai pas trouvé cela dans vos documents.",
    "我在您的文档中没有找到这方面的内容。",
)
_SEPARATOR = "\n---------------------\n"


def migrate(database: Database) -> None:
    """Brings the answers of a library up to date, once. StoreError for one that cannot be written."""
    with database.snapshot() as db:
        if db.execute("SELECT 1 FROM shared WHERE name = ?", (MIGRATED,)).fetchone():
            return
        messages = _changed_messages(db)
        results = _changed_results(db)
    with database.transaction() as db:
        for row, facts, trace in messages:
            db.execute(
                "UPDATE messages SET facts = ?, trace = ? WHERE id = ? AND facts = ?",
                (facts, trace, row["id"], row["facts"]),
            )
        for row, detail in results:
            db.execute(
                "UPDATE eval_results SET detail = ? WHERE run_id = ? AND question_id = ?",
                (detail, row["run_id"], row["question_id"]),
            )
        db.execute(
            "INSERT INTO shared (name, value) VALUES (?, '1') ON CONFLICT (name) DO NOTHING", (MIGRATED,)
        )


def update_copied_row(table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row of a copy of a library as this version stores it."""
    if table == "messages" and row["facts"]:
        facts = update_facts(row["text"], row["facts"])
        if facts != row["facts"]:
            return {**row, "facts": facts, "trace": _update_trace(row["facts"], row["trace"])}
    if table == "eval_results":
        return {**row, "detail": update_detail(row["detail"], row["scores"])}
    return row


def _changed_messages(db: Connection) -> list[tuple[Any, str, str | None]]:
    """The rows of answers to change, with their new facts and traces."""
    changed = []
    query = "SELECT id, text, facts FROM messages WHERE role = 'assistant' AND facts IS NOT NULL"
    for row in db.execute(query).fetchall():
        facts = update_facts(row["text"], row["facts"])
        if facts != row["facts"]:
            stored = db.execute("SELECT trace FROM messages WHERE id = ?", (row["id"],)).fetchone()
            changed.append((row, facts, _update_trace(row["facts"], stored["trace"])))
    return changed


def _changed_results(db: Connection) -> list[tuple[Any, str]]:
    """The rows of measurements to change, with their new details."""
    changed = []
    query = "SELECT run_id, question_id, scores, detail FROM eval_results"
    for row in db.execute(query).fetchall():
        detail = update_detail(row["detail"], row["scores"])
        if detail != row["detail"]:
            changed.append((row, detail))
    return changed


def update_facts(text: str, facts: str) -> str:
    """The JSON of the facts of an answer with this text: with its outcome, its parts, and in the answers for
    single documents the program's words apart. Unchanged if it has them or cannot be read."""
    values = _read(facts)
    if not values or "parts" in values:
        return facts
    changes: dict[str, Any] = {}
    is_quote = values.get("extractive") is True
    outcome = outcome_of_text(text)
    if is_quote and (parts := find_parts(text)):
        changes["parts"] = [asdict(part) for part in parts]
    rows = values.get("rows")
    if isinstance(rows, list) and rows:
        if not all(isinstance(row, dict) and isinstance(row.get("text"), str) for row in rows):
            return facts
        changes["rows"] = [_update_file_answer(row) for row in rows]
        outcome = _best([outcome_of_text(row["text"]) for row in rows if row.get("found") != "failed"])
    # A language model wrote what looks like closest passages itself.
    if "outcome" not in values and (outcome == "nothing" or (is_quote and outcome == "closest")):
        changes["outcome"] = outcome
    return json.dumps(values | changes) if changes else facts


def update_detail(detail: str, scores: str) -> str:
    """The JSON of the result of a measurement with the outcome of its answer, and its parts. Unchanged if it
    has them or cannot be read."""
    values = _read(detail)
    answer = values.get("answer")
    if "outcome" in values or not isinstance(answer, str) or not answer:
        return detail
    answered = _read(scores).get("answered")
    outcome = outcome_of_text(answer)
    parts: tuple[AnswerPart, ...] = ()
    if answered is not None:
        parts = find_parts(answer)
        # The score is of the whole answer; words that are none of ours were quoted.
        outcome = "answer" if answered else "closest" if outcome == "answer" else outcome
    return json.dumps({**values, "outcome": outcome, "parts": [asdict(part) for part in parts]})


def outcome_of_text(text: str) -> Outcome:
    """The outcome of a reply of an earlier version, by its words."""
    if parts := find_parts(text):
        return _best([part.outcome for part in parts])
    text = text.strip()
    if text.startswith(_NOT_FOUND) and "\n\n" in text:
        return "closest"
    if text.startswith(tuple(f"{heading}\n\n" for heading in _CLOSEST)):
        return "closest"
    if text in (*_NOTHING_FOUND, *_NOT_FOUND):
        return "nothing"
    for sentence in _NOTHING_FOUND:
        text = text.removeprefix(sentence).lstrip()
    return "nothing" if text.startswith(_LOOKED_FOR) and "\n" not in text else "answer"


def find_parts(text: str) -> tuple[AnswerPart, ...]:
    """The parts of an answer of accumulate: "Response 1: ...", "Response 2: ..."; none in any other text."""
    heading = "Response 1: "
    if not text.startswith(heading):
        return ()
    parts: list[AnswerPart] = []
    start = len(heading)
    end = 0
    while end < len(text):
        heading = f"{_SEPARATOR}Response {len(parts) + 2}: "
        end = text.find(heading, start)
        if end < 0:
            end = len(text)
        parts.append(AnswerPart(start, end, outcome_of_text(text[start:end])))
        start = end + len(heading)
    return tuple(parts)


def _best(outcomes: Sequence[str]) -> Outcome:
    """The best of the outcomes, of which one is enough for the whole answer."""
    for outcome in get_args(Outcome):
        if outcome in outcomes:
            return outcome  # type: ignore[no-any-return]
    return "answer"


def _update_file_answer(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer for one document with the program's own words in `notice`."""
    if row.get("found") == "failed":
        return row
    text = row["text"]
    outcome = outcome_of_text(text)
    if outcome == "nothing" or (outcome == "closest" and row.get("found") != "closest"):
        return {**row, "text": "", "notice": text}
    if outcome == "closest":
        notice, _, quotes = text.lstrip().partition("\n\n")
        return {**row, "text": quotes.lstrip(), "notice": notice}
    return row


def _update_trace(facts: str, trace: str | None) -> str | None:
    """The JSON of the trace of an answer with these earlier facts, with the outcome of each quoted reply."""
    if "outcome" in _read(facts):  # its calls have outcomes, too
        return trace
    root = read_stored(parse_trace, trace, None, row="trace of an earlier answer")
    if root is None:
        return trace
    for call in root.spans("llm"):
        reply = call.facts.get("reply")
        if call.facts.get("model") == "extractive" and isinstance(reply, str):
            call.note(outcome=outcome_of_text(reply))
    return json.dumps(root.to_dict())


def _read(text: str) -> dict[str, Any]:
    """The object in JSON; empty for any other text."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
