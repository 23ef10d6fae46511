"""One class per mode, with LlamaIndex's names."""

from __future__ import annotations

from ragcore.response_synthesizers.modes import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer


class Refine(Synthesizer):
    """One call per passage, each improving the answer.

    >>> from ragcore.llms import ScriptedLLM
    >>> Refine(llm=ScriptedLLM(["1843", "In 1843."])).get_response("When?", ["Ada wrote notes.", "It was 1843."])
    'In 1843.'
    """

    default_mode = ResponseMode.REFINE


class CompactAndRefine(Synthesizer):
    """The same with as many passages in a call as fit.

    >>> from ragcore.llms import ScriptedLLM
    >>> CompactAndRefine(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["Ada wrote notes.", "It was 1843."])
    'In 1843.'
    """


class TreeSummarize(Synthesizer):
    """Answers from as many passages as fit a call, then an answer from these answers.

    >>> from ragcore.llms import ScriptedLLM
    >>> TreeSummarize(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["Ada wrote notes.", "It was 1843."])
    'In 1843.'
    """

    default_mode = ResponseMode.TREE_SUMMARIZE


class SimpleSummarize(Synthesizer):
    """One call, with what fits into it.

    >>> from ragcore.llms import ScriptedLLM
    >>> SimpleSummarize(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["It was 1843."])
    'In 1843.'
    """

    default_mode = ResponseMode.SIMPLE_SUMMARIZE


class Generation(Synthesizer):
    """The model's own answer, without passages.

    >>> from ragcore.llms import ScriptedLLM
    >>> Generation(llm=ScriptedLLM(["Hello."])).get_response("Hi", [])
    'Hello.'
    """

    default_mode = ResponseMode.GENERATION


class Accumulate(Synthesizer):
    """An answer per passage, one below the other.

    >>> from ragcore.llms import ScriptedLLM
    >>> print(Accumulate(llm=ScriptedLLM(["One."])).get_response("What?", ["A passage."]))
    Response 1: One.
    """

    default_mode = ResponseMode.ACCUMULATE


class CompactAndAccumulate(Synthesizer):
    """An answer for as many passages as fit a call, one below the other."""

    default_mode = ResponseMode.COMPACT_ACCUMULATE
