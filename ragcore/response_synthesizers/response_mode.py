"""The response modes. Each is declared here with all that others must know about it without running it.

A further mode needs its declaration here, its function in `modes`, and in Lectern its words in
`lectern/ui/labels.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Shape = Literal["none", "single", "strip", "tree", "rows"]
Packing = Literal["none", "one", "full", "cut"]
PromptKind = Literal["text_qa", "refine", "summary", "simple"]


@dataclass(frozen=True, slots=True)
class ModeTraits:
    """What a response mode does.

    `shape` says how its calls depend on each other. "none": there is no call. "single": there is one.
    "strip": each call improves the answer of the call before. "tree": further calls read the replies of
    others, until one reply remains. "rows": each call gives an answer of its own.

    `packing` says which passages a call reads. "none": it reads no passages. "one": it reads one. "full": it
    reads as many as fit. "cut": it reads all, and the longest are shortened until they fit.

    `prompts` are the kinds of prompt that the mode sends. `reads_everything` is its position among the modes
    that are offered to read whole documents, or 0.
    """

    shape: Shape
    packing: Packing
    prompts: tuple[PromptKind, ...] = ()
    reads_everything: int = 0


class ResponseMode(str, Enum):
    """How passages become an answer, and with how many calls of the model.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.response_synthesizers import get_response_synthesizer
    >>> from ragcore.schema import NodeWithScore, TextNode
    >>> synthesizer = get_response_synthesizer(ScriptedLLM(["Ada [1]."]), ResponseMode.TREE_SUMMARIZE)
    >>> str(synthesizer.synthesize("Who wrote notes?", [NodeWithScore(TextNode("Ada wrote notes."))]))
    'Ada [1].'
    """

    REFINE = "refine"  # one call per passage: an answer from the first, improved with each of the others
    COMPACT = "compact"  # the same with as many passages in a call as fit: usually one call
    SIMPLE_SUMMARIZE = "simple_summarize"  # one call; if the passages do not fit, the longest are cut
    # one call for as many passages as fit, then calls over the answers until one remains
    TREE_SUMMARIZE = "tree_summarize"
    GENERATION = "generation"  # one call with the question alone; the passages are only sources
    NO_TEXT = "no_text"  # no call, only the passages
    ACCUMULATE = "accumulate"  # one call per passage; the answers stand below each other
    COMPACT_ACCUMULATE = "compact_accumulate"  # the same with as many passages in a call as fit

    @property
    def traits(self) -> ModeTraits:
        return _TRAITS[self]

    @property
    def reads_passages(self) -> bool:
        """Whether its answer depends on the passages."""
        return self.traits.packing != "none"

    @property
    def writes(self) -> bool:
        """Whether it gives an answer, and not only passages."""
        return self.traits.shape != "none" or self.reads_passages

    @property
    def has_sources(self) -> bool:
        """Whether the passages have to do with what it gives."""
        return self.reads_passages or not self.writes

    @property
    def gives_one_answer(self) -> bool:
        """Whether its answer is one text, and not a list of several answers."""
        return self.traits.shape in ("single", "strip", "tree")

    @property
    def answers_in_parts(self) -> bool:
        """Whether its answer is several answers below each other."""
        return self.traits.shape == "rows"

    @property
    def refines(self) -> bool:
        """Whether it can improve an answer that exists."""
        return self.traits.shape == "strip"

    @property
    def max_passages(self) -> int | None:
        """The largest number of passages in a call; None for as many as fit."""
        return 1 if self.traits.packing == "one" else None

    def calls(self, packs: int) -> int:
        """How many calls read the passages if they fill so many calls. A tree has further calls, over the
        replies."""
        if self.traits.shape == "none":
            return 0
        return packs if self.traits.packing in ("one", "full") else 1


_TRAITS: Mapping[ResponseMode, ModeTraits] = {
    ResponseMode.REFINE: ModeTraits("strip", "one", ("text_qa", "refine"), reads_everything=2),
    ResponseMode.COMPACT: ModeTraits("strip", "full", ("text_qa", "refine")),
    ResponseMode.SIMPLE_SUMMARIZE: ModeTraits("single", "cut", ("text_qa",)),
    ResponseMode.TREE_SUMMARIZE: ModeTraits("tree", "full", ("summary",), reads_everything=1),
    ResponseMode.GENERATION: ModeTraits("single", "none", ("simple",)),
    ResponseMode.NO_TEXT: ModeTraits("none", "none"),
    ResponseMode.ACCUMULATE: ModeTraits("rows", "one", ("text_qa",), reads_everything=3),
    ResponseMode.COMPACT_ACCUMULATE: ModeTraits("rows", "full", ("text_qa",)),
}


def find_mode(name: str) -> ResponseMode | None:
    """The response mode of this name; None for a chat mode, "", and a mode of another version."""
    try:
        return ResponseMode(name)
    except ValueError:
        return None
