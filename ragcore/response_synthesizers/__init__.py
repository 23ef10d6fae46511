"""One answer out of a question and its passages, in one of several modes."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.response_synthesizers.attribution import AnswerCheck, AttributedAnswer
    from ragcore.response_synthesizers.response_mode import ResponseMode
    from ragcore.response_synthesizers.synthesizer import (
        Accumulate,
        BaseSynthesizer,
        CompactAndAccumulate,
        CompactAndRefine,
        Generation,
        Refine,
        SimpleSummarize,
        Synthesizer,
        TreeSummarize,
        get_response_synthesizer,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
