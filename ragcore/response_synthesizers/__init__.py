"""One answer out of a question and its passages, in one of eight modes. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.response_synthesizers.modes import ResponseMode
    from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer

_HOMES = {
    "ResponseMode": "ragcore.response_synthesizers.modes",
    "Synthesizer": "ragcore.response_synthesizers.synthesizer",
    "get_response_synthesizer": "ragcore.response_synthesizers.synthesizer",
}

__all__ = ["ResponseMode", "Synthesizer", "get_response_synthesizer"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
