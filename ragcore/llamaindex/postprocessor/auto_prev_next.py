"""Passages with those before or after them, as a model chooses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.context_window import shorten_texts
from ragcore.observe import span
from ragcore.postprocessor.base import BaseNodePostprocessor, question_of
from ragcore.postprocessor.prev_next import Direction, add_neighbours, reader_of
from ragcore.prompts.prompt import Passage, Variables
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import NEIGHBOUR
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Store


class AutoPrevNextNodePostprocessor(BaseNodePostprocessor):
    """As PrevNextNodePostprocessor; a model chooses the side of each passage in one call, or none.

    A passage that is too long for the call loses its end in it, which the span "choose" notes.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> from ragcore.storage import SimpleDocumentStore
    >>> nodes = [TextNode("First.", "n1", next_id="n2"), TextNode("Second.", "n2", prev_id="n1")]
    >>> docstore = SimpleDocumentStore()
    >>> docstore.add_documents(nodes)
    >>> postprocessor = AutoPrevNextNodePostprocessor(docstore, ScriptedLLM(["previous"]))
    >>> [hit.text for hit in postprocessor.postprocess_nodes([NodeWithScore(nodes[1])], query_str="Why?")]
    ['First.', 'Second.']
    """

    prompt_attributes: ClassVar = {"prompt": "_prompt"}

    def __init__(
        self,
        docstore: Store | DocumentStore,
        llm: LLM | None = None,
        num_nodes: int = 1,
        prompt: Wording = NEIGHBOUR,
    ) -> None:
        self._read = reader_of(docstore)
        self._llm = services(llm).llm
        self._count = num_nodes
        self._prompt = replace_prompt(NEIGHBOUR, prompt, self._llm)

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        question = question_of(query_bundle)
        return add_neighbours([(hit, self._side(hit, question)) for hit in nodes], self._count, self._read)

    def _side(self, hit: NodeWithScore, question: str) -> Direction:
        with span("choose", texts=1) as step:
            (text,) = shorten_texts(
                self._llm, self._prompt, {"context_str": (), "query_str": question}, [hit.text], step
            )
            variables: Variables = {"context_str": (Passage(text),), "query_str": question}
            reply = self._llm.generate(LLMCall(self._prompt, variables)).text
        named = re.search(r"\b(previous|next|none)\b", reply.lower())
        sides: dict[str, Direction] = {"previous": "previous", "next": "next"}
        return sides.get(named[1], "none") if named else "none"
