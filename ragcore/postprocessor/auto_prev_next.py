"""Each passage with those before or after it, where a language model expects the rest of the answer there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.context_window import shortened
from ragcore.observe import span
from ragcore.postprocessor.base import BaseNodePostprocessor, asked
from ragcore.postprocessor.neighbour_links import Direction, reader_of, with_neighbours
from ragcore.prompts.prompt import Passage, Variables
from ragcore.prompts.templates import Wording, in_place_of
from ragcore.prompts.wording import NEIGHBOUR
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Store


class AutoPrevNextNodePostprocessor(BaseNodePostprocessor):
    """As PrevNextNodePostprocessor, with the side chosen for each passage by one call. A reply that names none adds nothing.

    A passage that is too long for the call loses its end there, which a span "choose" says.
    """

    prompt_attributes: ClassVar = {"prompt": "_prompt"}

    def __init__(
        self, docstore: Store | DocumentStore, llm: LLM | None = None, num_nodes: int = 1, prompt: Wording = NEIGHBOUR
    ) -> None:
        self._read = reader_of(docstore)
        self._llm = services(llm).llm
        self._count = num_nodes
        self._prompt = in_place_of(NEIGHBOUR, prompt, self._llm)

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        question = asked(query_bundle).query_str
        return with_neighbours([(hit, self._side(hit, question)) for hit in nodes], self._count, self._read)

    def _side(self, hit: NodeWithScore, question: str) -> Direction:
        with span("choose", texts=1) as step:
            (text,) = shortened(self._llm, self._prompt, {"context_str": (), "query_str": question}, [hit.text], step)
            told: Variables = {"context_str": (Passage(text),), "query_str": question}
            reply = self._llm.generate(LLMCall(self._prompt, told)).text
        named = re.search(r"\b(previous|next|none)\b", reply.lower())
        sides: dict[str, Direction] = {"previous": "previous", "next": "next"}
        return sides.get(named[1], "none") if named else "none"
