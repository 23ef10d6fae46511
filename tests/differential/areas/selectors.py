"""Which of several choices a selector takes from a model's reply, messy replies and choices that there are
not included."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import in_turn, our_embedding, our_llm, their_llm

CHOICES = ["cooking pasta and sauces", "repairing a bicycle", "planting trees in spring", "writing letters"]
QUESTION = "repairing my bicycle"
PLAIN: list[tuple[str, str, Any]] = [
    ("json", '[{"choice": 2, "reason": "fits"}]', [1]),
    ("object", '{"choice": 3, "reason": "fits"}', [2]),
    ("fenced", '```json\n[{"choice": 1, "reason": "fits"}]\n```', [0]),
    ("words-before", 'Sure! Here it is:\n[{"choice": 4, "reason": "fits"}]', [3]),
    ("words-behind", '[{"choice": 4, "reason": "fits"}]\nI hope this helps.', [3]),
    ("yaml", "[{choice: 2, reason: fits}]", [1]),
    ("text-number", '[{"choice": "2", "reason": "fits"}]', [1]),
    ("too-high", '[{"choice": 9, "reason": "fits"}]', None),
    ("zero", '[{"choice": 0, "reason": "fits"}]', None),
    ("below-zero", '[{"choice": -3, "reason": "fits"}]', None),
    ("null-reason", '[{"choice": 2, "reason": null}]', [1]),
    ("no-reason", '[{"choice": 2}]', [1]),
    ("prose", "Choice 2 is best, because it is about bicycles.", [1]),
    ("prose-without-number", "I would take the one about the bicycle.", None),
    ("empty", "", None),
    ("broken", '[{"choice": 2, "reason": "it is "best""}]', [1]),
    ("single-quotes", "[{'choice': 2, 'reason': 'fits'}]", [1]),
]
SEVERAL: list[tuple[str, str, Any]] = [
    ("two", '[{"choice": 1, "reason": "a"}, {"choice": 3, "reason": "b"}]', [0, 2]),
    (
        "wrapped",
        (
            '{"selections": [{"choice": 1, "reason": "a"}, {"choice": 2, "reason": "b"}, {"choice": 4, '
            '"reason": "c"}]}'
        ),
        [0, 1, 3],
    ),
    ("one-too-high", '[{"choice": 1, "reason": "a"}, {"choice": 8, "reason": "b"}]', [0]),
]


def cases() -> Iterator[Case]:
    for name, reply, meant in PLAIN:
        yield Case(f"single-{name}", {"reply": reply, "multi": False, "meant": meant})
    for name, reply, meant in SEVERAL:
        yield Case(f"multi-{name}", {"reply": reply, "multi": True, "meant": meant})
    chance = random.Random(12)
    for number in range(16):
        picked = chance.sample(range(1, 5), chance.randint(1, 3))
        said = json.dumps(
            [{"choice": choice, "reason": "because"} for choice in picked], indent=chance.choice([None, 2])
        )
        reply = chance.choice(["", "Here: ", "```json\n"]) + said + chance.choice(["", "\nDone."])
        yield Case(
            f"random-{number}", {"reply": reply, "multi": True, "meant": [choice - 1 for choice in picked]}
        )


def theirs(given: Any) -> Any:
    from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector

    kind = LLMMultiSelector if given["multi"] else LLMSingleSelector
    return kind.from_defaults(llm=their_llm(in_turn([given["reply"]]))).select(CHOICES, QUESTION).inds


def ours(given: Any) -> Any:
    from ragcore.selectors import LLMMultiSelector, LLMSingleSelector

    kind = LLMMultiSelector if given["multi"] else LLMSingleSelector
    model = our_llm(in_turn([given["reply"]]))
    return kind.from_defaults(llm=model, embed_model=our_embedding()).select(CHOICES, QUESTION).inds


def explain(given: Any, theirs: Any, ours: Any) -> str:
    nearest = CHOICES.index("repairing a bicycle")
    if ours != ([nearest] if given["meant"] is None else given["meant"]):
        return ""
    if isinstance(theirs, dict):
        return "D29"  # a reply that can be understood, or else the nearest choice, is no failure
    outside = any(not 0 <= index < len(CHOICES) for index in theirs)
    return "D29" if outside or len(theirs) < len(ours) else ""
