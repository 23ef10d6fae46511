"""How passages are packed into calls that fit a window, and what becomes of long answers and of passages that
are too long.

Tokens are words. The words of all passages are numbered through, so that a call can be told by the words it
holds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_llm, their_llm

OUTPUT = 20  # tokens kept free for the answer
QA, REFINE = "QA {context_str} {query_str}", "REFINE {query_str} {existing_answer} {context_msg}"


def cases() -> Iterator[Case]:
    chance = random.Random(6)
    for number in range(18):
        lengths = [chance.randint(1, 40) for _ in range(chance.randint(1, 8))]
        yield Case(
            f"packed-{number}",
            {"kind": "packed", "lengths": lengths, "window": chance.choice([60, 80, 120, 400])},
        )
    yield Case("six-words", {"kind": "packed", "lengths": [1] * 6, "window": 90})
    yield Case("no-room", {"kind": "packed", "lengths": [3], "window": 21})
    for words in (5, 40, 150, 600):
        for count in (2, 4):
            yield Case(f"answer-of-{words}-{count}", _answered("refine", [60] * count, 300, words))
    for length in (300, 2500, 6000):  # the second and third in parts
        yield Case(f"one-long-passage-{length}", _answered("refine", [length], 2000, 3))
    yield Case("long-passages", _answered("refine", [2500, 100, 2500], 2000, 3))
    for words in (800, 1200):
        yield Case(f"long-passage-long-answer-{words}", _answered("refine", [6000], 2500, words))
        yield Case(f"long-pack-long-answer-{words}", _answered("compact", [3000, 3000], 2500, words))
    for mode in ("compact", "refine"):
        for window in (300, 500, 700, 2000, 8000):
            yield Case(f"{mode}-in-{window}", _answered(mode, [100, 100, 100], window, 3))
    for lengths in ([5], [5, 6], [1, 2, 3]):
        yield Case(f"simple-{len(lengths)}", _answered("simple_summarize", lengths, 2000, 3))


def _answered(mode: str, lengths: list[int], window: int, words: int) -> dict[str, Any]:
    return {"kind": "answered", "mode": mode, "lengths": lengths, "window": window, "answer": words}


def _texts(given: Any) -> list[str]:
    texts, start = [], 0
    for length in given["lengths"]:
        texts.append(" ".join(f"w{number}" for number in range(start, start + length)))
        start += length
    return texts


def theirs(given: Any) -> Any:
    from llama_index.core import PromptHelper, PromptTemplate, Settings, get_response_synthesizer
    from llama_index.core.schema import NodeWithScore, TextNode

    Settings.tokenizer = str.split
    if given["kind"] == "packed":
        packer = PromptHelper(given["window"], OUTPUT, chunk_overlap_ratio=0, tokenizer=str.split)
        prompt = PromptTemplate("{context_str}")
        return [_words(text) for text in packer.repack(prompt, _texts(given))]
    prompts: list[str] = []
    model = their_llm(lambda _: " ".join(["said"] * given["answer"]), prompts, given["window"], OUTPUT)
    synthesizer = get_response_synthesizer(
        llm=model,
        response_mode=given["mode"],
        text_qa_template=PromptTemplate(QA),
        refine_template=PromptTemplate(REFINE),
    )
    nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in _texts(given)]
    try:
        synthesizer.synthesize("why", nodes)
    except ValueError:
        return {"calls": [_words(prompt) for prompt in prompts], "failed": True}
    return {
        "calls": [_words(prompt) for prompt in prompts],
        "failed": False,
        "as a list": any("['w" in text for text in prompts),
    }


def ours(given: Any) -> Any:
    from ragcore.errors import RagError
    from ragcore.prompts.prompt import Passage, Prompt, Task
    from ragcore.response_synthesizers.packer import Packer
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
    from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, TextNode

    prompts: list[str] = []
    model = our_llm(lambda _: " ".join(["said"] * given["answer"]), prompts, given["window"], OUTPUT)

    def prompt(name: str, task: Task, text: str) -> Prompt:
        return Prompt(name, task, (ChatMessage(MessageRole.USER, text),))

    if given["kind"] == "packed":
        passages = tuple(Passage(text) for text in _texts(given))
        packed = Packer(model).pack(prompt("all", Task.ANSWER, "{context_str}"), {}, passages)
        return [_words(call.messages()[0].content) for call in packed.calls]
    refine = prompt("refine", Task.REFINE, REFINE.replace("context_msg", "context_str"))
    synthesizer = get_response_synthesizer(model, given["mode"], prompt("qa", Task.ANSWER, QA), refine)
    nodes = [NodeWithScore(TextNode(text), 1.0) for text in _texts(given)]
    try:
        synthesizer.synthesize("why", nodes)
    except RagError:
        return {"calls": [_words(prompt) for prompt in prompts], "failed": True}
    return {
        "calls": [_words(prompt) for prompt in prompts],
        "failed": False,
        "as a list": any("['w" in text for text in prompts),
    }


def _words(text: str) -> list[int]:
    """First and last of the numbered words, and how many there are."""
    numbers = [int(number) for number in re.findall(r"\bw(\d+)\b", text)]
    return [numbers[0], numbers[-1], len(numbers)] if numbers else []


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if isinstance(theirs, dict) and "error" in theirs and "error" in ours:
        return "error's name" if given["window"] <= OUTPUT + 5 else ""
    calls = ours if given["kind"] == "packed" else ours.get("calls")
    if not isinstance(calls, list) or not _all_in_order(calls, sum(given["lengths"])):
        return ""
    if given["kind"] == "packed":
        # a message has four tokens of its own, and the passages a delimiter on either side
        room = given["window"] - OUTPUT - 6
        if any(count > room for _, _, count in calls) or not _stays_whole(calls, given["lengths"], room):
            return ""
        # theirs cuts anywhere, and keeps padding free
        return "D7" if len(calls) < len(theirs) else "whole passages"
    if ours["failed"]:
        return ""
    if given["mode"] != "simple_summarize" and not _as_few(given, calls):
        return ""
    if theirs["failed"]:
        # its padding takes it all
        return "D6" if given["answer"] >= 40 else "D7" if given["window"] <= 520 else ""
    if given["mode"] == "simple_summarize":
        return "D24" if theirs["as a list"] and not ours["as a list"] and _ends(theirs) == _ends(ours) else ""
    begins = [first for first, _, _ in theirs["calls"]]
    if begins != sorted(begins):
        return "D23"
    if len(ours["calls"]) == len(theirs["calls"]):
        # the end of a call again
        return "overlap" if sum(call[2] for call in theirs["calls"]) > sum(given["lengths"]) else ""
    return "D7" if len(ours["calls"]) < len(theirs["calls"]) else ""


def _all_in_order(calls: list[list[int]], words: int) -> bool:
    """Each word is in one call, one call begins where the one before it ends."""
    begins = [0, *(last + 1 for _, last, _ in calls)]
    return (
        all(first == begin for (first, _, _), begin in zip(calls, begins, strict=False))
        and begins[-1] == words
    )


def _stays_whole(calls: list[list[int]], lengths: list[int], room: int) -> bool:
    """A passage that fits into a call is in one, and no two calls in a row could be one."""
    begins, start = {0}, 0
    for length in lengths:
        inside = range(start + 1, start + length)
        if length <= room and any(first in inside for first, _, _ in calls):
            return False
        start += length
        begins |= {start}
    whole = [call for call in calls if call[0] in begins and call[1] + 1 in begins]
    return all(
        before[2] + after[2] > room for before, after in pairwise(calls) if before in whole and after in whole
    )


def _ends(outcome: Any) -> Any:
    return [call[:2] for call in outcome["calls"]]


def _as_few(given: Any, calls: list[list[int]]) -> bool:
    """In refine each passage that fits has a call of its own; in compact no two calls in a row could be
    one."""
    begins = [sum(given["lengths"][:place]) for place in range(len(given["lengths"]))]
    if given["mode"] == "refine":
        return set(begins) <= {first for first, _, _ in calls} and (
            max(given["lengths"]) > given["window"] // 4 or len(calls) == len(begins)
        )
    # what the wording and the numbers of passages may take
    room = given["window"] - OUTPUT - given["answer"] - 10
    return (
        all(before[2] + after[2] > room for before, after in pairwise(calls)) or max(given["lengths"]) > room
    )
