"""Summary, tree and keyword-table indexes: how many calls make them, what their summaries are over, what they
find."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

WORDS = ["apfel", "birne", "zitrone", "feige", "traube", "pflaume"]  # of no stop list, and not stemmed apart


def cases() -> Iterator[Case]:
    chance = random.Random(26)
    for count in (1, 2, 3, 4, 7, 9, 10, 11, 16, 25):
        for most in (2, 3, 10):
            yield Case(
                f"tree-{count}-{most}",
                {"index": "tree", "texts": [f"L{n}" for n in range(count)], "most": most},
            )
    for number in range(20):
        texts = [" ".join(chance.sample(WORDS, chance.randint(1, 4))) for _ in range(chance.randint(1, 12))]
        question = " ".join(chance.sample(WORDS, chance.randint(1, 3)))
        for kind in ("keyword", "all", "chosen"):
            yield Case(
                f"{kind}-{number}",
                {"index": kind, "texts": texts, "question": question, "most": chance.randint(1, 12)},
            )


def _shared(question: str, text: str) -> int:
    return len(set(question.split()) & set(text.split()))


def theirs(given: Any) -> Any:
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.indices import KeywordTableIndex, SummaryIndex, TreeIndex
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.prompts import PromptTemplate
    from llama_index.core.schema import TextNode

    calls: list[str] = []

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=8000, num_output=100)

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            calls.append(prompt)
            if given["index"] == "keyword":
                return CompletionResponse(text=f"KEYWORDS: {', '.join(prompt.split())}")
            if given["index"] == "chosen":
                passages = re.findall(r"Document (\d+):\n(.*)", prompt)
                lines = [(int(number), _shared(given["question"], text)) for number, text in passages]
                return CompletionResponse(
                    text="\n".join(f"Doc: {n}, Relevance: {count}" for n, count in lines if count)
                )
            return CompletionResponse(text=prompt)

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise AssertionError

    model = Scripted()
    nodes = [TextNode(text=text, id_=f"n{number}") for number, text in enumerate(given["texts"])]
    if given["index"] == "tree":
        tree = TreeIndex(
            nodes, num_children=given["most"], summary_template=PromptTemplate("{context_str}"), llm=model
        )
        roots = [
            tree.docstore.get_node(id_).get_content()
            for _, id_ in sorted(tree.index_struct.root_nodes.items())
        ]
        return {"calls": len(calls), "roots": _over(roots)}
    if given["index"] == "keyword":
        bare = PromptTemplate("{text}"), PromptTemplate("{question}")
        table = KeywordTableIndex(
            nodes, llm=model, keyword_extract_template=bare[0], max_keywords_per_chunk=10
        )
        retriever: Any = table.as_retriever(
            query_keyword_extract_template=bare[1], num_chunks_per_query=given["most"]
        )
        return [hit.node.node_id for hit in retriever.retrieve(given["question"])]
    index = SummaryIndex(nodes, embed_model=MockEmbedding(embed_dim=2))
    if given["index"] == "all":
        return [hit.node.node_id for hit in index.as_retriever().retrieve("q")]
    retriever = index.as_retriever(retriever_mode="llm", llm=model, choice_batch_size=given["most"])
    hits = retriever.retrieve(given["question"])
    return {"calls": len(calls), "found": sorted([hit.node.node_id, hit.score] for hit in hits)}


def ours(given: Any) -> Any:
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.indices.summary.index import SummaryIndex
    from ragcore.indices.tree.index import TreeIndex
    from ragcore.llamaindex.indices.keyword_table.base import KeywordTableIndex
    from ragcore.llms.base import LLMCall
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.prompts.prompt import Passage, as_text
    from ragcore.schema import TextNode

    def rule(call: LLMCall) -> str:
        if given["index"] == "keyword":
            return f"KEYWORDS: {', '.join(as_text(call.variables['text']).split())}"
        passages = [item for item in call.variables["context_str"] if isinstance(item, Passage)]
        if given["index"] == "chosen":
            lines = [(passage.number, _shared(given["question"], passage.text)) for passage in passages]
            return "\n".join(f"Doc: {number}, Relevance: {count}" for number, count in lines if count)
        return " ".join(passage.text for passage in passages)

    llm = ScriptedLLM(rule)
    services: Any = {"llm": llm, "embed_model": HashEmbedding(8)}
    nodes = [TextNode(text, f"n{number}") for number, text in enumerate(given["texts"])]
    if given["index"] == "tree":
        tree = TreeIndex(nodes, num_children=given["most"], **services)
        roots = [hit.text for hit in tree.as_retriever("root").retrieve("q")]
        return {"calls": len(llm.calls), "roots": _over(roots)}
    if given["index"] == "keyword":
        table = KeywordTableIndex(nodes, **services)
        found = table.as_retriever(num_chunks_per_query=given["most"]).retrieve(given["question"])
        return [hit.node.id_ for hit in found]
    index = SummaryIndex(nodes, **services)
    if given["index"] == "all":
        return [hit.node.id_ for hit in index.as_retriever().retrieve("q")]
    hits = index.as_retriever("llm", choice_batch_size=given["most"]).retrieve(given["question"])
    return {"calls": len(llm.calls), "found": sorted([hit.node.id_, hit.score] for hit in hits)}


def _over(roots: list[str]) -> list[list[str]]:
    return [re.findall(r"L\d+", root) for root in roots]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["index"] != "keyword":
        return ""
    counts = {f"n{number}": _shared(given["question"], text) for number, text in enumerate(given["texts"])}
    right = sorted((count for count in counts.values() if count), reverse=True)[: given["most"]]
    if [counts[id_] for id_ in ours] == right == [counts[id_] for id_ in theirs]:
        return "D33"  # equal scores stand in another order: ours in that of being found
    return ""
