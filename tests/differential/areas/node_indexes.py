"""Summary, tree, keyword and document-summary indexes: what they are made of after changes, and what their
retrievers find.

The model names in each summary or list of keywords the words of the form kw... that it was shown.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import our_embedding, their_embedding, their_llm

QUESTION = "where is the kwriver, the kwriver or the kwlake"


def cases() -> Iterator[Case]:
    texts = [f"kw{word} text" for word in ("river", "lake", "road", "town", "snow", "stone", "field")]
    for mode in ("default", "embedding", "llm"):
        yield Case(f"summary-{mode}", {"kind": "summary", "texts": texts[:4], "mode": mode, "delete": None})
        yield Case(
            f"summary-{mode}-deleted", {"kind": "summary", "texts": texts[:4], "mode": mode, "delete": "1"}
        )
    for count in (1, 2, 3, 5, 7):
        for children in (2, 3):
            yield Case(f"tree-{count}-{children}", _tree(texts[:count], children))
    for mode in ("all_leaf", "root", "select_leaf", "select_leaf_embedding"):
        for count in (3, 7):
            yield Case(f"tree-{mode}-{count}", _tree(texts[:count], 3, mode=mode))
    for count in (3, 5):
        yield Case(f"tree-inserted-{count}", _tree(texts[:count], 2, insert="kwnew text"))
        yield Case(f"tree-deleted-{count}", _tree(texts[:count], 2, delete="0"))
        yield Case(f"tree-at-once-{count}", _tree(texts[:count], 2, at_once=True))
    chance = random.Random(16)
    words = ["kwriver", "kwlake", "kwroad", "kwtown", "kwsnow"]
    for number in range(8):
        table = [" ".join(chance.sample(words, chance.randint(1, 3))) for _ in range(4)]
        asked = " ".join(chance.sample(words, 2))
        yield Case(
            f"keywords-{number}",
            {"kind": "keywords", "texts": table, "query": asked, "delete": chance.choice([None, "2"])},
        )
    documents = ["kwriver one. kwsea two.", "kwlake three. kwice four.", "kwroad five."]
    for mode in ("llm", "embedding"):
        for delete in (None, "0", "2"):
            yield Case(
                f"documents-{mode}-{delete}",
                {"kind": "documents", "texts": documents, "mode": mode, "delete": delete},
            )


def _tree(texts: list[str], children: int, **more: Any) -> dict[str, Any]:
    base = {
        "kind": "tree",
        "texts": texts,
        "children": children,
        "mode": None,
        "insert": None,
        "delete": None,
        "at_once": False,
    }
    return base | more


def _named(text: str) -> str:
    return " ".join(dict.fromkeys(re.findall(r"kw\w+", text)))


def theirs(given: Any) -> Any:
    from llama_index.core import (
        Document,
        DocumentSummaryIndex,
        KeywordTableIndex,
        Settings,
        SummaryIndex,
        TreeIndex,
        get_response_synthesizer,
    )
    from llama_index.core.node_parser import SentenceSplitter

    def rule(prompt: str) -> str:
        if "Relevance" in prompt:
            return "Doc: 1, Relevance: 8"
        if "ANSWER" in prompt:
            return "ANSWER: 1"
        return f"KEYWORDS: {', '.join(_named(prompt).split())}" if "KEYWORDS" in prompt else _named(prompt)

    Settings.tokenizer = str.split
    Settings.llm = model = their_llm(rule)
    Settings.embed_model = embed_model = their_embedding()
    Settings.transformations = [SentenceSplitter(chunk_size=3, chunk_overlap=0, tokenizer=str.split)]
    documents = [Document(id_=str(number), text=text) for number, text in enumerate(given["texts"])]
    if given["kind"] == "summary":
        index: Any = SummaryIndex.from_documents(documents)
        return _retrieve(
            given,
            index,
            index.as_retriever(given["mode"], similarity_top_k=1, llm=model, embed_model=embed_model),
        )
    if given["kind"] == "keywords":
        index = KeywordTableIndex.from_documents(documents, llm=model)
        return _retrieve(given, index, None)
    if given["kind"] == "documents":
        synthesizer = get_response_synthesizer(llm=model, response_mode="tree_summarize")  # type: ignore[arg-type]
        index = DocumentSummaryIndex.from_documents(
            documents, llm=model, response_synthesizer=synthesizer, embed_model=embed_model
        )
        return _retrieve(given, index, None)
    index = TreeIndex.from_documents(
        documents, num_children=given["children"], llm=model, use_async=given["at_once"]
    )
    if given["insert"]:
        index.insert(Document(id_="new", text=given["insert"]))
    if given["delete"]:
        index.delete_ref_doc(given["delete"])
    if given["mode"]:
        return _retrieve(given, index, index.as_retriever(given["mode"]))
    struct, docstore = index.index_struct, index.docstore

    def shape(id_: str) -> Any:
        below = struct.get_children(docstore.get_node(id_))
        return (
            [shape(below[place]) for place in sorted(below)]
            if below
            else docstore.get_node(id_).get_content()
        )

    roots = [struct.root_nodes[place] for place in sorted(struct.root_nodes)]
    return {
        "shape": [shape(id_) for id_ in roots],
        "roots": [docstore.get_node(id_).get_content() for id_ in roots],
    }


def ours(given: Any) -> Any:
    from ragcore.indices import SummaryIndex, TreeIndex
    from ragcore.llamaindex.indices import DocumentSummaryIndex, KeywordTableIndex
    from ragcore.llms.base import LLMCall
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.node_parser import SentenceSplitter
    from ragcore.prompts.prompt import Task
    from ragcore.schema import Document

    def reply(call: LLMCall) -> str:
        shown = _named("\n".join(message.content for message in call.messages()))
        said = {Task.RANK: "Doc: 1, Relevance: 8", Task.SELECT: '[{"choice": 1, "reason": "first"}]'}
        return said.get(
            call.prompt.task,
            f"KEYWORDS: {', '.join(shown.split())}" if call.prompt.task is Task.KEYWORDS else shown,
        )

    model = ScriptedLLM(reply, counts_words=True)
    splitter = [SentenceSplitter(chunk_size=3, chunk_overlap=0, tokenizer=str.split)]
    with_models: Any = {"llm": model, "embed_model": our_embedding(), "transformations": splitter}
    documents = [Document(text, str(number)) for number, text in enumerate(given["texts"])]
    if given["kind"] == "summary":
        index: Any = SummaryIndex.from_documents(documents, **with_models)
        return _retrieve(given, index, index.as_retriever(given["mode"]))
    if given["kind"] == "keywords":
        return _retrieve(given, KeywordTableIndex.from_documents(documents, **with_models), None)
    if given["kind"] == "documents":
        return _retrieve(given, DocumentSummaryIndex.from_documents(documents, **with_models), None)
    index = TreeIndex(documents, num_children=given["children"], **with_models)
    if given["insert"]:
        index.insert(Document(given["insert"], "new"))
    if given["delete"]:
        index.delete_ref_doc(given["delete"])
    if given["mode"]:
        return _retrieve(given, index, index.as_retriever(given["mode"]))

    def shape(id_: str) -> Any:
        node, below = index.items([id_])[0]
        return [shape(child) for child in below] if below else node.get_content()

    roots = index.root_ids
    return {
        "shape": [shape(id_) for id_ in roots],
        "roots": [node.get_content() for node, _ in index.items(roots)],
    }


def _retrieve(given: Any, index: Any, retriever: Any) -> Any:
    if given["delete"] and given["kind"] != "tree":
        index.delete_ref_doc(given["delete"])
    if given["kind"] == "keywords":
        hits = index.as_retriever().retrieve(given["query"])
        terms = set(given["query"].split())
        # Best first; which of equally good ones comes first is not compared.
        return sorted(
            [-len(terms & set(hit.node.get_content().split())), hit.node.get_content()] for hit in hits
        )
    if given["kind"] == "documents":
        hits = index.as_retriever(retriever_mode=given["mode"]).retrieve(QUESTION)
        summaries = [
            index.get_document_summary(id_).strip() for id_ in ("0", "1", "2") if id_ != given["delete"]
        ]
        return {"found": [hit.node.get_content() for hit in hits], "summaries": summaries}
    hits = retriever.retrieve(QUESTION)
    return [hit.node.get_content() for hit in hits]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if given["kind"] != "tree" or "error" in ours:
        return ""
    if given["delete"]:
        left = given["texts"][1:]
        return "1.6" if "error" in theirs and _leaves(ours["shape"]) == left and _fresh(ours) else ""
    if given["insert"]:
        texts = sorted([*given["texts"], given["insert"]])
        right = (
            sorted(_leaves(ours["shape"])) == texts
            and _fresh(ours)
            and _narrow(ours["shape"], given["children"])
        )
        return "D26" if right and not (_fresh(theirs) and sorted(_leaves(theirs["shape"])) == texts) else ""
    if given["at_once"]:
        # Theirs takes the first character of a summary for the whole, and fails when there is another level
        # to summarise.
        cut = "error" in theirs or {len(text) for text in theirs["roots"]} == {1}
        return "D26" if cut and _fresh(ours) and _leaves(ours["shape"]) == given["texts"] else ""
    if given["mode"] == "all_leaf":
        # theirs gives the summaries with the leaves
        return "1.6" if ours == given["texts"] == theirs[: len(ours)] else ""
    return ""


def _leaves(shape: Any) -> list[str]:
    return [shape] if isinstance(shape, str) else [leaf for below in shape for leaf in _leaves(below)]


def _fresh(outcome: Any) -> bool:
    """Whether each root names all that is below it."""
    return all(
        set(_named(" ".join(_leaves(shape))).split()) <= set(text.split())
        for shape, text in zip(outcome["shape"], outcome["roots"], strict=True)
    )


def _narrow(shape: Any, most: int) -> bool:
    return isinstance(shape, str) or (len(shape) <= most and all(_narrow(below, most) for below in shape))
