"""Extractors over passages of several documents: what they write into the metadata, and with how many
calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

KINDS = ["title", "keywords", "questions", "self", "self prev next", "next"]


def cases() -> Iterator[Case]:
    chance = random.Random(14)
    for number in range(6):
        sizes = [chance.randint(1, 7) for _ in range(chance.randint(1, 3))]
        nodes = [
            [f"d{document}", f"text {document}.{place}"]
            for document, size in enumerate(sizes)
            for place in range(size)
        ]
        for kind in KINDS:
            yield Case(
                f"{kind.replace(' ', '-')}-{number}",
                {"kind": kind, "nodes": nodes, "first": chance.randint(1, 5)},
            )


def theirs(given: Any) -> Any:
    from llama_index.core import extractors
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    calls: list[str] = []

    class Echoing(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            calls.append(prompt)
            return CompletionResponse(text=f"<{prompt}>")

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise AssertionError

    nodes = [
        TextNode(text=text, relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)})
        for source, text in given["nodes"]
    ]
    llm, kind = Echoing(), given["kind"]
    bare = "{context_str}"
    if kind == "title":
        chosen: Any = extractors.TitleExtractor(
            llm=llm, nodes=given["first"], node_template=bare, combine_template=bare
        )
    elif kind == "keywords":
        chosen = extractors.KeywordExtractor(llm=llm, prompt_template=bare)
    elif kind == "questions":
        chosen = extractors.QuestionsAnsweredExtractor(llm=llm, prompt_template=bare)
    else:
        chosen = extractors.SummaryExtractor(llm=llm, summaries=kind.split(), prompt_template=bare)
    return {"metadata": [node.metadata for node in chosen(nodes)], "calls": len(calls)}


def ours(given: Any) -> Any:
    from ragcore import extractors
    from ragcore.llms.base import LLMCall
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.prompts.prompt import as_text
    from ragcore.schema import TextNode

    def echo(call: LLMCall) -> str:
        context = call.variables["text"] if "text" in call.variables else call.variables["context_str"]
        text = ", ".join(map(str, context)) if isinstance(context, tuple) else as_text(context)
        return f"<{text}>"

    nodes = [TextNode(text, text, ref_doc_id=source) for source, text in given["nodes"]]
    llm, kind = ScriptedLLM(echo), given["kind"]
    if kind == "title":
        chosen: Any = extractors.TitleExtractor(llm, nodes=given["first"])
    elif kind == "keywords":
        chosen = extractors.KeywordExtractor(llm)
    elif kind == "questions":
        chosen = extractors.QuestionsAnsweredExtractor(llm)
    else:
        chosen = extractors.SummaryExtractor(llm, kind.split())
    return {"metadata": [dict(node.metadata) for node in chosen(nodes)], "calls": len(llm.calls)}


def explain(given: Any, theirs: Any, ours: Any) -> str:
    sources = [source for source, _ in given["nodes"]]
    for place, metadata in enumerate(theirs["metadata"]):
        if sources[place - 1 : place] != sources[place : place + 1]:
            metadata.pop("prev_section_summary", None)
        if sources[place + 1 : place + 2] != sources[place : place + 1]:
            metadata.pop("next_section_summary", None)
    # theirs takes the last passage of another document for a neighbour
    return "1.4" if theirs == ours else ""
