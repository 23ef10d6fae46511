"""What handlers are told of questions: which events, in which order, and how many tokens a call was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

OURS_TOO = ("query", "retrieve", "embedding", "synthesize", "llm")
WORDS = ["herons", "fish", "owls", "hunt", "mice", "at", "night"]


def cases() -> Iterator[Case]:
    chance = random.Random(21)
    for mode in ("compact", "refine", "simple_summarize", "tree_summarize", "generation", "no_text"):
        for top_k in (1, 3):
            yield Case(f"{mode}-{top_k}", {"kind": "events", "mode": mode, "top_k": top_k})
    for number in range(10):
        prompts = [
            " ".join(chance.choices(WORDS, k=chance.randint(1, 12))) for _ in range(chance.randint(1, 4))
        ]
        yield Case(f"tokens-{number}", {"kind": "tokens", "prompts": prompts, "answer": chance.randint(1, 9)})


def theirs(given: Any) -> Any:
    from llama_index.core import MockEmbedding, PromptTemplate, Settings, VectorStoreIndex
    from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler, TokenCountingHandler
    from llama_index.core.llms import MockLLM
    from llama_index.core.schema import TextNode

    Settings.tokenizer = str.split
    debug, counter = LlamaDebugHandler(print_trace_on_end=False), TokenCountingHandler(tokenizer=str.split)
    Settings.callback_manager = CallbackManager([debug, counter])
    Settings.llm, Settings.embed_model = MockLLM(max_tokens=given.get("answer", 3)), MockEmbedding(4)
    if given["kind"] == "tokens":
        return _counted(Settings.llm, counter, [PromptTemplate(text) for text in given["prompts"]])
    return _list_events(VectorStoreIndex([TextNode(text=word) for word in WORDS]), debug, given)


def ours(given: Any) -> Any:
    from ragcore import PromptTemplate, Settings, TextNode, VectorStoreIndex
    from ragcore.callbacks import CallbackManager, LlamaDebugHandler, TokenCountingHandler
    from ragcore.embeddings import MockEmbedding
    from ragcore.llms import MockLLM

    debug, counter = LlamaDebugHandler(print_trace_on_end=False), TokenCountingHandler(tokenizer=str.split)
    llm = MockLLM(max_tokens=given.get("answer", 3))
    Settings.callback_manager = CallbackManager([debug, counter])
    try:
        if given["kind"] == "tokens":
            return _counted(llm, counter, [PromptTemplate(text) for text in given["prompts"]])
        return _list_events(
            VectorStoreIndex([TextNode(word) for word in WORDS], embed_model=MockEmbedding(4), llm=llm),
            debug,
            given,
        )
    finally:
        Settings.callback_manager = None


def _counted(llm: Any, counter: Any, prompts: list[Any]) -> Any:
    for prompt in prompts:
        llm.predict(prompt)
    each = [
        [call.prompt, call.prompt_token_count, call.completion_token_count]
        for call in counter.llm_token_counts
    ]
    return {"each": each, "total": counter.total_llm_token_count}


def _list_events(index: Any, debug: Any, given: Any) -> Any:
    debug.flush_event_logs()
    index.as_query_engine(response_mode=given["mode"], similarity_top_k=given["top_k"]).query("who fishes")
    return [event.event_type.value for event in debug.get_events() if event.event_type.value in OURS_TOO]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
