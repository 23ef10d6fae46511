"""The eight response modes: which calls are made, with which passages, in which order, and what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

MODES = [
    "refine",
    "compact",
    "simple_summarize",
    "tree_summarize",
    "generation",
    "no_text",
    "accumulate",
    "compact_accumulate",
]
WINDOWS = [700, 1500, 8000, 128000]
COUNTS = [0, 1, 3, 6]
OUTPUT = 100  # tokens kept free for the answer


def cases() -> Iterator[Case]:
    for mode in MODES:
        for window in WINDOWS:
            for count in COUNTS:
                yield Case(f"{mode}-{window}-{count}", {"mode": mode, "window": window, "count": count})


def _chunks(count: int) -> list[str]:
    return [f"<{number}> " + " ".join(["word"] * 149) for number in range(count)]


def _outcome(calls: list[tuple[str, str]], answer: str) -> Any:
    """Each call as its kind and the numbers of the passages in it, in order."""
    seen = [[kind, [number for number in range(9) if f"<{number}>" in prompt]] for kind, prompt in calls]
    return {"calls": seen, "answer": answer}


def theirs(given: Any) -> Any:
    from llama_index.core import PromptTemplate, Settings, get_response_synthesizer
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.llms.callbacks import llm_completion_callback
    from llama_index.core.schema import NodeWithScore, TextNode

    calls: list[tuple[str, str]] = []

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=given["window"], num_output=OUTPUT)

        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            kind = prompt.split()[0]
            calls.append((kind, prompt))
            return CompletionResponse(text=f"A{len(calls)}")

        @llm_completion_callback()
        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise AssertionError

    Settings.llm = Scripted()
    Settings.tokenizer = str.split
    Settings.context_window = given["window"]
    Settings.num_output = OUTPUT
    synthesizer = get_response_synthesizer(
        llm=Settings.llm,
        response_mode=given["mode"],
        text_qa_template=PromptTemplate("QA {context_str} {query_str}"),
        refine_template=PromptTemplate("REFINE {query_str} {existing_answer} {context_msg}"),
        summary_template=PromptTemplate("TREE {context_str} {query_str}"),
        simple_template=PromptTemplate("SIMPLE {query_str}"),
        use_async=False,
    )
    nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in _chunks(given["count"])]
    answer = synthesizer.synthesize("why", nodes)
    return _outcome(calls, answer.response or "")


def ours(given: Any) -> Any:
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.prompts.prompt import Prompt, Task
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
    from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, TextNode

    def prompt(kind: str, task: Task, text: str) -> Prompt:
        return Prompt(kind, task, (ChatMessage(MessageRole.USER, text),))

    replies = [f"A{number}" for number in range(1, 40)]
    model = ScriptedLLM(replies, context_window=given["window"], num_output=OUTPUT, counts_words=True)
    synthesizer = get_response_synthesizer(
        model,
        given["mode"],
        prompt("QA", Task.ANSWER, "QA {context_str} {query_str}"),
        prompt("REFINE", Task.REFINE, "REFINE {query_str} {existing_answer} {context_str}"),
        prompt("TREE", Task.SUMMARIZE, "TREE {context_str} {query_str}"),
        prompt("SIMPLE", Task.GENERATE, "SIMPLE {query_str}"),
        use_async=False,
    )
    nodes = [NodeWithScore(TextNode(text), 1.0) for text in _chunks(given["count"])]
    answer = synthesizer.synthesize("why", nodes)
    calls = [(call.prompt, "".join(message.content for message in call.messages)) for call in model.calls]
    return _outcome(calls, str(answer))


def explain(given: Any, theirs: Any, ours: Any) -> str:
    count, mode = given["count"], given["mode"]
    if not count:
        # Without passages nothing is sent, in any mode; it is said in words.
        if given["mode"] == "generation":
            return "1.15" if ours["calls"] == [] and ours["answer"].startswith("I found nothing") else ""
        nothing = theirs["calls"] == ours["calls"] == [] and theirs["answer"] == "Empty Response"
        return "words" if nothing and ours["answer"].startswith("I found nothing") else ""
    if not _in_form(mode, ours) or (mode in ("refine", "accumulate") and len(ours["calls"]) != count):
        return ""
    seen = [number for _, numbers in ours["calls"] for number in numbers]
    in_order = seen == sorted(seen) and set(seen) == set(range(count))
    if mode == "simple_summarize":
        # One call; with too little room each passage loses its end, in theirs the last ones are gone.
        return "D16" if len(ours["calls"]) == 1 and in_order and ours["answer"] == "A1" else ""
    if in_order and len(ours["calls"]) < len(theirs["calls"]):
        return "D7"  # theirs packs again and keeps padding free
    if in_order and len(ours["calls"]) == len(theirs["calls"]):
        return "citations"  # ours shows each passage with its number, and divides them otherwise
    return ""


def _in_form(mode: str, ours: Any) -> bool:
    """Whether calls of the right kinds were made in the mode's order, and the answer is made of theirs."""
    kinds = [kind for kind, _ in ours["calls"]]
    said = [f"A{number}" for number in range(1, len(kinds) + 1)]
    if mode in ("refine", "compact"):
        return kinds == ["QA", *["REFINE"] * (len(kinds) - 1)] and ours["answer"] == said[-1]
    if mode.endswith("accumulate"):
        parts = "\n---------------------\n".join(
            f"Response {place}: {answer}" for place, answer in enumerate(said, 1)
        )
        return set(kinds) == {"QA"} and ours["answer"] == parts
    kind = {"tree_summarize": "TREE", "simple_summarize": "QA", "generation": "SIMPLE"}.get(mode)
    return set(kinds) == ({kind} if kind else set()) and ours["answer"] in ("", *said[-1:])
