"""Texts cut by a PromptHelper to what fits beside a prompt. Tokens are words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

TEMPLATES = ["{text}", "this is {text} a", "a longer {one} of {two} and more words", "no variable at all"]


def cases() -> Iterator[Case]:
    chance = random.Random(14)
    for number in range(32):
        texts = [_words(chance) for _ in range(chance.randint(0, 5))]
        helper = [
            chance.choice([9, 14, 20, 40, 200]),
            chance.choice([1, 3, 8]),
            chance.choice([0.0, 0.1, 0.3]),
        ]
        limit = chance.choice([None, None, 3, 10])
        how = ["repack", "truncate"][number % 2]
        given = {"how": how, "helper": [*helper, limit], "texts": texts, "padding": chance.choice([0, 1, 5])}
        yield Case(f"{how}-{number}", {**given, "template": chance.choice(TEMPLATES)})
    for number in range(4):
        yield Case(f"biggest-{number}", {"how": "biggest", "templates": chance.sample(TEMPLATES, 3)})


def _words(chance: random.Random) -> str:
    return " " * chance.randint(0, 1) + " ".join(
        f"w{chance.randint(0, 99)}" for _ in range(chance.choice([0, 1, 4, 12, 30]))
    )


def theirs(given: Any) -> Any:
    from llama_index.core import PromptHelper, PromptTemplate
    from llama_index.core.prompts.prompt_utils import get_biggest_prompt

    if given["how"] == "biggest":
        return get_biggest_prompt([PromptTemplate(text) for text in given["templates"]]).get_template()
    return _cut(PromptHelper, PromptTemplate(given["template"]), given)


def ours(given: Any) -> Any:
    from ragcore import PromptHelper, PromptTemplate
    from ragcore.node_parser.prompt_helper import get_biggest_prompt

    if given["how"] == "biggest":
        return get_biggest_prompt([PromptTemplate(text) for text in given["templates"]]).get_template()
    return _cut(PromptHelper, PromptTemplate(given["template"]), given)


def _cut(kind: Any, prompt: Any, given: Any) -> Any:
    try:
        return getattr(kind(*given["helper"], tokenizer=str.split), given["how"])(
            prompt, given["texts"], padding=given["padding"]
        )
    except ValueError:
        return "refused"


def explain(given: Any, theirs: Any, ours: Any) -> str:
    blank = any(text and not text.strip() for text in given["texts"])
    return "blank text" if blank and theirs == {"error": "IndexError"} and "" in ours else ""
