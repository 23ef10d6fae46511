"""Query engines made of others: the calls of the model, what is asked of whom, and the sources of the
answer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_embedding, our_llm, their_embedding, their_llm

TOOLS = ["rivers", "mountains"]
WORDS = ["river", "mountain", "lake", "forest", "cloud", "stone", "field", "valley"]


def cases() -> Iterator[Case]:
    for count in (0, 1, 3):
        for mode in ("compact", "refine", "tree_summarize", "accumulate", "no_text"):
            yield Case(
                f"retriever-{mode}-{count}",
                {"kind": "retriever", "count": count, "mode": mode, "cutoff": None},
            )
    yield Case("retriever-cutoff", {"kind": "retriever", "count": 3, "mode": "refine", "cutoff": 0.75})
    for picked in ([1], [2], [1, 2], [2, 1]):
        yield Case(f"router-{picked}", {"kind": "router", "picked": picked})
    parts = [
        [("rivers", "how long")],
        [("rivers", "how long"), ("mountains", "how high")],
        [("mountains", "where"), ("mountains", "how high")],
    ]
    for number, asked in enumerate(parts):
        yield Case(f"parts-{number}", {"kind": "parts", "asked": asked})
    yield Case("parts-of-nobody", {"kind": "parts", "asked": [("nobody", "who")]})
    yield Case("hyde", {"kind": "hyde", "original": True})
    yield Case("hyde-alone", {"kind": "hyde", "original": False})
    chance = random.Random(24)
    for number in range(8):
        sentences = [
            " ".join(chance.choices(WORDS, k=chance.randint(3, 6))).capitalize() + "."
            for _ in range(chance.randint(1, 8))
        ]
        yield Case(
            f"citation-{number}",
            {"kind": "citation", "text": " ".join(sentences), "size": chance.choice([8, 12, 40])},
        )


def _reply(given: Any) -> Any:
    """What the model says: choices, parts of the question, else an answer numbered by call."""
    answers = iter(f"A{number}" for number in range(1, 20))

    def rule(prompt: str) -> str:
        if given["kind"] == "router" and "hoice" in prompt and given["picked"] and "A1" not in prompt:
            return json.dumps([{"choice": number, "reason": "fits"} for number in given["picked"]])
        if given["kind"] == "parts" and "sub_question" in prompt:
            parts = [{"sub_question": question, "tool_name": tool} for tool, question in given["asked"]]
            return f"```json\n{json.dumps({'items': parts})}\n```"
        if given.get("mode") == "accumulate":  # its calls may end in any order
            passage = re.search(r"<(\d+)>", prompt)
            assert passage
            return f"A{int(passage[1]) + 1}"
        return next(answers)

    return rule


def theirs(given: Any) -> Any:
    from llama_index.core import PromptTemplate, Settings, get_response_synthesizer
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.indices.query.query_transform import HyDEQueryTransform
    from llama_index.core.postprocessor import SimilarityPostprocessor
    from llama_index.core.query_engine import (
        CitationQueryEngine,
        CustomQueryEngine,
        RetrieverQueryEngine,
        RouterQueryEngine,
        SubQuestionQueryEngine,
        TransformQueryEngine,
    )
    from llama_index.core.question_gen import LLMQuestionGenerator
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.selectors import LLMMultiSelector
    from llama_index.core.tools import QueryEngineTool

    prompts: list[str] = []
    asked: list[list[str]] = []
    model = their_llm(_reply(given), prompts)
    Settings.llm, Settings.embed_model, Settings.tokenizer = model, their_embedding(), str.split

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            asked.append([query_bundle.query_str, *query_bundle.embedding_strs])
            return [NodeWithScore(node=TextNode(text=text), score=score) for text, score in _passages(given)]

    class Named(CustomQueryEngine):
        name: str

        def custom_query(self, query_str: str) -> str:
            asked.append([self.name, query_str])
            return f"{self.name} says {len(asked)}"

    if given["kind"] == "retriever":
        kept = [SimilarityPostprocessor(similarity_cutoff=given["cutoff"])] if given["cutoff"] else []
        engine: Any = RetrieverQueryEngine.from_args(
            Fixed(), llm=model, response_mode=given["mode"], node_postprocessors=kept
        )
    elif given["kind"] == "hyde":
        transform = HyDEQueryTransform(llm=model, include_original=given["original"])
        engine = TransformQueryEngine(RetrieverQueryEngine.from_args(Fixed(), llm=model), transform)
    elif given["kind"] == "citation":
        engine = CitationQueryEngine(
            Fixed(), llm=model, citation_chunk_size=given["size"], citation_chunk_overlap=0
        )
    else:
        tools = [
            QueryEngineTool.from_defaults(Named(name=name), name=name, description=f"all about {name}")
            for name in TOOLS
        ]
        synthesizer = get_response_synthesizer(
            llm=model,
            response_mode="tree_summarize",  # type: ignore[arg-type]
            summary_template=PromptTemplate("SUM {context_str} {query_str}"),
            use_async=False,
        )
        if given["kind"] == "router":
            selector = LLMMultiSelector.from_defaults(llm=model)
            engine = RouterQueryEngine(selector, tools, llm=model, summarizer=synthesizer)  # type: ignore[arg-type]
        else:
            generator = LLMQuestionGenerator.from_defaults(llm=model)
            engine = SubQuestionQueryEngine.from_defaults(
                tools,
                question_gen=generator,
                response_synthesizer=synthesizer,
                use_async=False,
                verbose=False,
            )
    answer = engine.query("why is that")
    return _outcome(given, prompts, asked, answer)


def ours(given: Any) -> Any:
    from ragcore.llamaindex.query_engine import (
        CitationQueryEngine,
        SubQuestionQueryEngine,
        TransformQueryEngine,
    )
    from ragcore.llamaindex.retrievers.transform_retriever import HyDEQueryTransform
    from ragcore.node_parser import SentenceSplitter
    from ragcore.postprocessor import SimilarityPostprocessor
    from ragcore.query_engine import RetrieverQueryEngine, RouterQueryEngine
    from ragcore.schema import NodeWithScore, QueryBundle, Response, TextNode, as_bundle
    from ragcore.selectors import LLMMultiSelector
    from ragcore.tools import QueryEngineTool

    prompts: list[str] = []
    asked: list[list[str]] = []
    model = our_llm(_reply(given), prompts)

    class Fixed:
        def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
            bundle = as_bundle(query)
            asked.append([bundle.query_str, *bundle.embedding_strs])
            return [NodeWithScore(TextNode(text), score) for text, score in _passages(given)]

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def query(self, query: str | QueryBundle) -> Response:
            asked.append([self.name, as_bundle(query).query_str])
            return Response(f"{self.name} says {len(asked)}")

        def stream_query(self, query: str | QueryBundle) -> Any:
            from ragcore.response_synthesizers.answer import AnswerStream

            answer = str(self.query(query))
            return AnswerStream(piece for piece in [answer])

    if given["kind"] == "retriever":
        kept = [SimilarityPostprocessor(given["cutoff"])] if given["cutoff"] else []
        engine: Any = RetrieverQueryEngine.from_args(Fixed(), model, given["mode"], node_postprocessors=kept)
    elif given["kind"] == "hyde":
        transform = HyDEQueryTransform(model, include_original=given["original"])
        engine = TransformQueryEngine(RetrieverQueryEngine.from_args(Fixed(), model), transform)
    elif given["kind"] == "citation":
        splitter = SentenceSplitter(chunk_size=given["size"], chunk_overlap=0, tokenizer=str.split)
        engine = CitationQueryEngine(Fixed(), model, text_splitter=splitter)
    else:
        tools = [QueryEngineTool.from_defaults(Named(name), name, f"all about {name}") for name in TOOLS]
        if given["kind"] == "router":
            engine = RouterQueryEngine(LLMMultiSelector(model, embed_model=our_embedding()), tools, model)
        else:
            engine = SubQuestionQueryEngine.from_defaults(tools, model)
    answer = engine.query("why is that")
    return _outcome(given, prompts, asked, answer)


def _passages(given: Any) -> list[tuple[str, float]]:
    if given["kind"] == "citation":
        return [(given["text"], 0.5)]
    return [(f"<{number}> words of a passage", 0.9 - number / 10) for number in range(given.get("count", 2))]


def _outcome(given: Any, prompts: list[str], asked: list[list[str]], answer: Any) -> Any:
    sources = [hit.node.get_content() for hit in answer.source_nodes]
    if given["kind"] == "citation":
        return {
            "calls": len(prompts),
            "sources": [" ".join(text.split("\n", 1)[-1].split()) for text in sources],
        }
    shown = [[number for number in range(9) if f"<{number}>" in prompt] for prompt in prompts]
    if given.get("mode") == "accumulate":  # its calls begin in threads, so in any order
        shown.sort()
    return {"calls": shown, "asked": asked, "answer": str(answer), "sources": sources}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if {"calls", "asked", "answer", "sources"} - theirs.keys() or {
        "calls",
        "asked",
        "answer",
        "sources",
    } - ours.keys():
        return ""
    if given["kind"] == "retriever":
        if {**theirs, "answer": ""} != {**ours, "answer": ""} or ours["calls"]:
            return ""
        if not given["count"]:
            return "words" if theirs["answer"] == "Empty Response" and "nothing" in ours["answer"] else ""
        return (
            "1.15"
            if given["mode"] == "no_text" and (theirs["answer"], ours["answer"]) == ("None", "")
            else ""
        )
    if given["kind"] == "parts":
        if given["asked"][0][0] not in TOOLS:  # nobody to ask: the question itself goes to all
            return (
                "1.16"
                if ours["asked"] == [[tool, "why is that"] for tool in TOOLS] and ours["answer"] == "A1"
                else ""
            )
        # The parts with their answers are in theirs' sources; in ours they stand in the metadata.
        real = [source for source in theirs["sources"] if not source.startswith("Sub question: ")]
        return "1.16" if {**theirs, "sources": real} == ours else ""
    return ""
