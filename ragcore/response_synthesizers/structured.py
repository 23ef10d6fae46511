"""Answers with a verdict whether the passages held the answer."""

from __future__ import annotations

import json
from typing import Any

from ragcore.prompts.structured_output import object_schema
from ragcore.text.json_replies import loose_json

SATISFIED = object_schema({"answer": {"type": "string"}, "query_satisfied": {"type": "boolean"}})
_NO = ("false", "no", "0", "none")


def satisfied_answer(reply: str) -> str:
    """The "answer" of a reply to a `structured` prompt; "" where "query_satisfied" denies it.

    Many models answer in plain words all the same: those are the answer.
    """
    try:
        told = loose_json(reply)
    except ValueError:
        return reply.strip()
    if not isinstance(told, dict) or not told.keys() & {"answer", "query_satisfied"}:
        return reply.strip()
    if str(told.get("query_satisfied", True)).strip().lower() in _NO:
        return ""
    return _text(told.get("answer"))


def _text(answer: Any) -> str:
    if answer is None:
        return ""
    return answer.strip() if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
