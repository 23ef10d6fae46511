"""Displays answers and passages: as text on a terminal, and as Markdown in a notebook if IPython is
installed.

>>> from ragcore.schema import NodeWithScore, Response, TextNode
>>> hit = NodeWithScore(TextNode("Ada wrote notes.", "n1"), 0.5)
>>> pprint_response(Response("Ada did.", (hit,)), show_source=True)
Final Response: Ada did.
______________________________________________________________________
Source Node 1/1
Node ID: n1
Similarity: 0.5
Text: Ada wrote notes.
"""

from __future__ import annotations

import sys
from textwrap import fill

from ragcore.prompts.prompt import Prompt
from ragcore.schema import MetadataMode, NodeWithScore, Response


def pprint_source_node(source_node: NodeWithScore, source_length: int = 350, wrap_width: int = 70) -> None:
    """A passage with its id and score; lengths are in characters.

    >>> from ragcore.schema import TextNode
    >>> pprint_source_node(NodeWithScore(TextNode("Ada wrote notes.", "n1"), 0.5), source_length=6)
    Node ID: n1
    Similarity: 0.5
    Text: Ada...
    """
    _write(f"Node ID: {source_node.node.id_}\nSimilarity: {source_node.score}")
    _write(fill(f"Text: {_cut(source_node.node.get_content().strip(), source_length)}", width=wrap_width))


def pprint_response(
    response: Response, source_length: int = 350, wrap_width: int = 70, show_source: bool = False
) -> None:
    """An answer, and with `show_source` its passages.

    >>> pprint_response(Response("Ada did."))
    Final Response: Ada did.
    """
    _write(fill(f"Final Response: {str(response).strip()}", width=wrap_width))
    for number, hit in enumerate(response.source_nodes if show_source else (), 1):
        _write("_" * wrap_width + f"\nSource Node {number}/{len(response.source_nodes)}")
        pprint_source_node(hit, source_length, wrap_width)


def display_source_node(
    source_node: NodeWithScore,
    source_length: int = 100,
    show_source_metadata: bool = False,
    metadata_mode: MetadataMode = MetadataMode.NONE,
) -> None:
    """A passage with its id and score.

    >>> from ragcore.schema import TextNode
    >>> display_source_node(NodeWithScore(TextNode("Ada wrote notes.", "n1"), 0.5))
    **Node ID:** n1<br>**Similarity:** 0.5<br>**Text:** Ada wrote notes.<br>
    """
    text = _cut(source_node.node.get_content(metadata_mode).strip(), source_length)
    markdown = (
        f"**Node ID:** {source_node.node.id_}<br>**Similarity:** {source_node.score}<br>**Text:** {text}<br>"
    )
    _show(markdown + (f"**Metadata:** {dict(source_node.metadata)}<br>" if show_source_metadata else ""))


def display_response(
    response: Response,
    source_length: int = 100,
    show_source: bool = False,
    show_metadata: bool = False,
    show_source_metadata: bool = False,
) -> None:
    """An answer, with `show_source` its passages.

    >>> display_response(Response("Ada did."))
    **`Final Response:`** Ada did.
    """
    _show(f"**`Final Response:`** {str(response).strip()}")
    for number, hit in enumerate(response.source_nodes if show_source else (), 1):
        _show(f"---\n**`Source Node {number}/{len(response.source_nodes)}`**")
        display_source_node(hit, source_length, show_source_metadata)
    if show_metadata:
        _show(f"**`Metadata`** {response.metadata}")


def display_prompt_dict(prompts_dict: dict[str, Prompt]) -> None:
    """The templates of a part, as its `get_prompts` returns them.

    >>> from ragcore.prompts import PromptTemplate
    >>> display_prompt_dict({"text_qa": PromptTemplate("Who wrote {book}?")})
    **Prompt Key**: text_qa<br>**Text:** <br>
    Who wrote {book}?
    """
    for name, prompt in prompts_dict.items():
        _show(f"**Prompt Key**: {name}<br>**Text:** <br>")
        _write(prompt.get_template())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3].rstrip() + "..."


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _show(markdown: str) -> None:
    try:
        from IPython import get_ipython
        from IPython.display import Markdown, display
    except ImportError:
        _write(markdown)
        return
    display(Markdown(markdown)) if get_ipython() else _write(markdown)
