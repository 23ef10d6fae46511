"""Splitters that follow a structure: levels, sentences with windows, Markdown sections, JSON, HTML."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case

MARKDOWN = [
    "# One\n\ntext of one\n\n## Two\n\ntext of two\n\n# Three\n\ntext of three\n",
    "intro\n\n# A\n\n```\n# no heading\n```\n\n## B\n\nb",
    "# Only a heading\n",
    "no heading at all",
    "# A\n\n### C\n\nskipped a level\n\n## B\n\nback\n",
]
JSONS = [
    '{"name": "Ada", "age": 36}',
    '[{"a": 1}, {"a": 2}]',
    '{"outer": {"inner": [1, 2]}}',
    '{"x": null, "y": true}',
]
PAGES = [
    "<html><body><h1>Title</h1><p>First.</p><p>Second.</p></body></html>",
    "<h2>A</h2><p>a</p><h2>B</h2><p>b</p>",
    "<ul><li>one</li><li>two</li></ul><p>end</p>",
]
WORDS = ["river", "mountain", "lake", "forest", "cloud", "stone", "field", "valley"]


def cases() -> Iterator[Case]:
    for number, text in enumerate(MARKDOWN):
        yield Case(f"markdown-{number}", {"kind": "markdown", "text": text})
    for number, text in enumerate(JSONS):
        yield Case(f"json-{number}", {"kind": "json", "text": text})
    for number, text in enumerate(PAGES):
        yield Case(f"html-{number}", {"kind": "html", "text": text})
    chance = random.Random(4)
    for number in range(12):
        sentences = [
            " ".join(chance.choice(WORDS) for _ in range(chance.randint(3, 8))).capitalize() + "."
            for _ in range(8)
        ]
        text = " ".join(sentences)
        yield Case(f"window-{number}", {"kind": "window", "text": text, "size": chance.randint(1, 3)})
        yield Case(
            f"levels-{number}",
            {"kind": "levels", "text": text, "sizes": [chance.randint(25, 40), chance.randint(9, 14)]},
        )


def theirs(given: Any) -> Any:
    from llama_index.core import Document, set_global_tokenizer
    from llama_index.core.node_parser import (
        HierarchicalNodeParser,
        HTMLNodeParser,
        JSONNodeParser,
        MarkdownNodeParser,
        SentenceWindowNodeParser,
    )
    from llama_index.core.node_parser.relational.hierarchical import get_leaf_nodes, get_root_nodes
    from llama_index.core.schema import NodeRelationship

    set_global_tokenizer(str.split)
    document = Document(text=given["text"], id_="d")
    if given["kind"] == "markdown":
        nodes = MarkdownNodeParser().get_nodes_from_documents([document])
        return [[node.text, node.metadata.get("header_path")] for node in nodes]
    if given["kind"] == "json":
        return [node.text for node in JSONNodeParser().get_nodes_from_documents([document])]
    if given["kind"] == "html":
        nodes = HTMLNodeParser().get_nodes_from_documents([document])
        return [[node.text, node.metadata.get("tag")] for node in nodes]
    if given["kind"] == "window":
        parser = SentenceWindowNodeParser.from_defaults(window_size=given["size"])
        nodes = parser.get_nodes_from_documents([document])
        return [[node.text.strip(), " ".join(node.metadata["window"].split())] for node in nodes]
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=given["sizes"], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([document])
    by_id = {node.node_id: node for node in nodes}
    return {
        "roots": [node.text for node in get_root_nodes(nodes)],
        "leaves": [
            [node.text, by_id[node.relationships[NodeRelationship.PARENT].node_id].text]
            for node in get_leaf_nodes(nodes)
        ],
    }


def ours(given: Any) -> Any:
    from ragcore.llamaindex.node_parser import SentenceWindowNodeParser
    from ragcore.node_parser import (
        HierarchicalNodeParser,
        HTMLNodeParser,
        JSONNodeParser,
        MarkdownNodeParser,
        get_leaf_nodes,
        get_root_nodes,
    )
    from ragcore.schema import Document

    document = Document(given["text"], "d")
    if given["kind"] == "markdown":
        nodes = MarkdownNodeParser().get_nodes_from_documents([document])
        return [[node.text, node.metadata.get("header_path")] for node in nodes]
    if given["kind"] == "json":
        return [node.text for node in JSONNodeParser().get_nodes_from_documents([document])]
    if given["kind"] == "html":
        nodes = HTMLNodeParser().get_nodes_from_documents([document])
        return [[node.text, node.metadata.get("tag")] for node in nodes]
    if given["kind"] == "window":
        parser = SentenceWindowNodeParser.from_defaults(window_size=given["size"])
        nodes = parser.get_nodes_from_documents([document])
        return [[node.text.strip(), " ".join(str(node.metadata["window"]).split())] for node in nodes]
    parser = HierarchicalNodeParser.from_defaults(
        chunk_sizes=given["sizes"], chunk_overlap=0, tokenizer=str.split
    )
    tree = parser.get_nodes_from_documents([document])
    return {
        "roots": [node.text for node in get_root_nodes(tree)],
        "leaves": [[node.text, tree.parent(node.id_).text] for node in get_leaf_nodes(tree)],
    }


def explain(given: Any, theirs: Any, ours: Any) -> str:
    return ""
