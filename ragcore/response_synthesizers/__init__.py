"""One answer out of a question and its passages, in one of eight modes."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.response_synthesizers.attribution import AnswerCheck as AnswerCheck
    from ragcore.response_synthesizers.attribution import AttributedAnswer as AttributedAnswer
    from ragcore.response_synthesizers.modes import ResponseMode as ResponseMode
    from ragcore.response_synthesizers.synthesizer import Accumulate as Accumulate
    from ragcore.response_synthesizers.synthesizer import BaseSynthesizer as BaseSynthesizer
    from ragcore.response_synthesizers.synthesizer import CompactAndAccumulate as CompactAndAccumulate
    from ragcore.response_synthesizers.synthesizer import CompactAndRefine as CompactAndRefine
    from ragcore.response_synthesizers.synthesizer import Generation as Generation
    from ragcore.response_synthesizers.synthesizer import Refine as Refine
    from ragcore.response_synthesizers.synthesizer import SimpleSummarize as SimpleSummarize
    from ragcore.response_synthesizers.synthesizer import Synthesizer as Synthesizer
    from ragcore.response_synthesizers.synthesizer import TreeSummarize as TreeSummarize
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer as get_response_synthesizer
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
