"""What a listener hears of a question: which stages begin, how often, that each ends, and where a failure is
told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_embedding, our_llm, their_embedding, their_llm

STAGES = ["query", "retrieve", "embed", "synthesize", "llm"]


def cases() -> Iterator[Case]:
    for mode in ("compact", "refine", "tree_summarize", "no_text", "generation"):
        for top_k in (1, 3):
            yield Case(f"{mode}-{top_k}", {"mode": mode, "top_k": top_k, "fails": None, "questions": 1})
    for call in (1, 2):
        yield Case(f"model-fails-at-{call}", {"mode": "refine", "top_k": 3, "fails": call, "questions": 1})
    chance = random.Random(21)
    for number in range(6):
        given = {"mode": chance.choice(["refine", "compact"]), "top_k": chance.randint(1, 4), "fails": None}
        yield Case(f"random-{number}", {**given, "questions": chance.randint(1, 3)})


def theirs(given: Any) -> Any:
    from llama_index.core import Settings, VectorStoreIndex
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.span.base import BaseSpan
    from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
    from llama_index.core.schema import TextNode

    # The names of the functions that are stages; each is wrapped in others of the same name, of which the
    # outermost counts.
    kinds = {
        "RetrieverQueryEngine.query": "query",
        "VectorIndexRetriever.retrieve": "retrieve",
        "Hashed.get_query_embedding": "embed",
        "Scripted.predict": "llm",
    }
    heard: dict[str, list[str]] = {}

    class Hearing(BaseSpanHandler[BaseSpan]):
        def new_span(self, id_: str, bound_args: Any, instance: Any = None, **kwargs: Any) -> Any:
            name = id_.rsplit("-", 5)[0]
            name = f"{type(instance).__name__}.{name.rsplit('.', 1)[-1]}"
            kind = "synthesize" if name.endswith(".synthesize") and "Engine" not in name else kinds.get(name)
            if kind:
                heard[id_] = [kind, "begun"]
            return BaseSpan(id_=id_)

        def prepare_to_exit_span(self, id_: str, *args: Any, **kwargs: Any) -> Any:
            if id_ in heard:
                heard[id_].append("ended")

        def prepare_to_drop_span(self, id_: str, *args: Any, **kwargs: Any) -> Any:
            if id_ in heard:
                heard[id_].append("failed")

    Settings.llm = model = their_llm(_saying(given))
    Settings.embed_model = their_embedding()
    Settings.tokenizer = str.split
    index = VectorStoreIndex([TextNode(text=f"<{number}> a text") for number in range(5)])
    engine = index.as_query_engine(llm=model, response_mode=given["mode"], similarity_top_k=given["top_k"])
    get_dispatcher().add_span_handler(Hearing())
    _ask_questions(engine, given)
    return _counted(list(heard.values()))


def ours(given: Any) -> Any:
    from ragcore import VectorStoreIndex
    from ragcore.node_parser import SentenceSplitter
    from ragcore.observe import Listener, Span, add_listener
    from ragcore.schema import TextNode

    heard: dict[int, list[str]] = {}
    kept: list[Span] = []

    class Hearing(Listener):
        def on_start(self, span: Span) -> None:
            kept.append(span)
            if span.name in STAGES and not (span.parent is not None and span.parent.name == span.name):
                heard[id(span)] = [span.name, "begun"]

        def on_finish(self, span: Span) -> None:
            if id(span) in heard:
                heard[id(span)].append("failed" if span.error else "ended")

    splitter = [SentenceSplitter(tokenizer=str.split)]
    model = our_llm(_saying(given))
    nodes = [TextNode(f"<{number}> a text") for number in range(5)]
    index = VectorStoreIndex(nodes, embed_model=our_embedding(), transformations=splitter)
    engine = index.as_query_engine(model, given["mode"], similarity_top_k=given["top_k"])
    remove = add_listener(Hearing())
    try:
        _ask_questions(engine, given)
    finally:
        remove()
    return _counted(list(heard.values()))


def _saying(given: Any) -> Any:
    calls = [0]

    def rule(_: str) -> str:
        calls[0] += 1
        if calls[0] == given["fails"]:
            raise RuntimeError("no answer")
        return "said"

    return rule


def _ask_questions(engine: Any, given: Any) -> None:
    for number in range(given["questions"]):
        try:
            engine.query(f"question {number}")
        except RuntimeError:
            if given["fails"] is None:
                raise


def _counted(heard: list[list[str]]) -> Any:
    """How often each stage came to each end."""
    outcomes = [f"{kind} {' '.join(told)}" for kind, *told in heard]
    return {outcome: outcomes.count(outcome) for outcome in sorted(outcomes)}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
