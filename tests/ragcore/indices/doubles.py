"""Documents with one passage a line, and a model that answers every call of an index by plain rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.errors import LLMServerError
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.prompt import Choice, Passage, Task, as_text
from ragcore.schema import Document, NodeWithScore, TextNode


def by_line(nodes: Sequence[Document | TextNode]) -> list[TextNode]:
    """A splitter with one passage for each line; its id is the document's with the line's number."""
    return [
        TextNode(line, f"{document.id_}#{number}", document.metadata, document.id_)
        for document in nodes
        for number, line in enumerate(document.text.split("\n"))
    ]


def document(id_: str, *lines: str) -> Document:
    return Document("\n".join(lines), id_)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def shared(question: str, text: str) -> int:
    return len(words(question) & words(text))


def obliging(forbidden: str = "") -> ScriptedLLM:
    """Sums up by writing everything in a row in angles; chooses and ranks by words in common; names the words
    as keywords.

    A call that has the word `forbidden` in it fails.
    """

    def rule(call: LLMCall) -> str | Exception:
        if forbidden and forbidden in " ".join(as_text(value) for value in call.variables.values()):
            return LLMServerError("The server failed.")
        question = as_text(call.variables.get("query_str", ""))
        if call.prompt.task is Task.SUMMARIZE:
            return f"<{'|'.join(passage.text for passage in passages(call))}>"
        if call.prompt.task is Task.SELECT:
            offered = [item for item in call.variables["choices"] if isinstance(item, Choice)]
            best = sorted(offered, key=lambda choice: -shared(question, choice.text))
            return str([{"choice": choice.number, "reason": "words"} for choice in best]).replace("'", '"')
        if call.prompt.task is Task.RANK:
            helpful = [(passage.number, shared(question, passage.text)) for passage in passages(call)]
            return "\n".join(f"Doc: {number}, Relevance: {count}" for number, count in helpful if count)
        if call.prompt.task is Task.KEYWORDS:
            return f"KEYWORDS: {', '.join(re.findall(r'[A-Za-z]+', as_text(call.variables['text'])))}"
        raise AssertionError(call.prompt.name)

    return ScriptedLLM(rule)


def passages(call: LLMCall) -> list[Passage]:
    return [item for item in call.variables["context_str"] if isinstance(item, Passage)]


def found(hits: Sequence[NodeWithScore]) -> list[tuple[str, float | None]]:
    return [(hit.node.id_, hit.score) for hit in hits]
