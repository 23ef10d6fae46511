"""One class for each mode, by the names of LlamaIndex: `TreeSummarize(llm=...)` is `get_response_synthesizer` with its mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ragcore.llms.base import LLM
from ragcore.prompts.templates import Wording
from ragcore.response_synthesizers.modes import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer

if TYPE_CHECKING:
    from pydantic import BaseModel


class _OfOneMode(Synthesizer):
    own_mode: ClassVar[ResponseMode]

    def __init__(
        self,
        llm: LLM | None = None,
        text_qa_template: Wording | None = None,
        refine_template: Wording | None = None,
        summary_template: Wording | None = None,
        simple_template: Wording | None = None,
        *,
        output_cls: type[BaseModel] | None = None,
        structured_answer_filtering: bool = False,
        use_async: bool = True,
        streaming: bool = False,
    ) -> None:
        """As `get_response_synthesizer` takes them."""
        made = get_response_synthesizer(
            llm,
            self.own_mode,
            text_qa_template,
            refine_template,
            summary_template,
            simple_template,
            output_cls=output_cls,
            structured_answer_filtering=structured_answer_filtering,
            use_async=use_async,
            streaming=streaming,
        )
        self.__dict__.update(vars(made))


class Refine(_OfOneMode):
    """One call a passage, each improving the answer so far.

    >>> from ragcore.llms import ScriptedLLM
    >>> Refine(llm=ScriptedLLM(["1843", "In 1843."])).get_response("When?", ["Ada wrote notes.", "It was 1843."])
    'In 1843.'
    """

    own_mode = ResponseMode.REFINE


class CompactAndRefine(_OfOneMode):
    """The same with as many passages in a call as fit.

    >>> from ragcore.llms import ScriptedLLM
    >>> CompactAndRefine(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["Ada wrote notes.", "It was 1843."])
    'In 1843.'
    """

    own_mode = ResponseMode.COMPACT


class TreeSummarize(_OfOneMode):
    """Answers of as many passages as fit, then answers of these answers.

    >>> from ragcore.llms import ScriptedLLM
    >>> TreeSummarize(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["Ada wrote notes.", "It was 1843."])
    'In 1843.'
    """

    own_mode = ResponseMode.TREE_SUMMARIZE


class SimpleSummarize(_OfOneMode):
    """One call, with what fits into it.

    >>> from ragcore.llms import ScriptedLLM
    >>> SimpleSummarize(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["It was 1843."])
    'In 1843.'
    """

    own_mode = ResponseMode.SIMPLE_SUMMARIZE


class Generation(_OfOneMode):
    """The model's own answer, without passages.

    >>> from ragcore.llms import ScriptedLLM
    >>> Generation(llm=ScriptedLLM(["Hello."])).get_response("Hi", [])
    'Hello.'
    """

    own_mode = ResponseMode.GENERATION


class Accumulate(_OfOneMode):
    """An answer for each passage, one below the other.

    >>> from ragcore.llms import ScriptedLLM
    >>> print(Accumulate(llm=ScriptedLLM(["One."])).get_response("What?", ["A passage."]))
    Response 1: One.
    """

    own_mode = ResponseMode.ACCUMULATE


class CompactAndAccumulate(_OfOneMode):
    """An answer for as many passages as fit a call, one below the other.

    >>> from ragcore.llms import ScriptedLLM
    >>> print(CompactAndAccumulate(llm=ScriptedLLM(["One."])).get_response("What?", ["A passage.", "Another."]))
    Response 1: One.
    """

    own_mode = ResponseMode.COMPACT_ACCUMULATE
