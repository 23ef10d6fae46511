"""What a call to a model is doing, as the stage of its span says while it has not ended."""

from __future__ import annotations

from enum import StrEnum


class CallStage(StrEnum):
    WAITING = "waiting"  # in the queue of its server, behind other calls
    LOADING = "loading"  # a model on this computer is loaded into memory
    READING = "reading"  # the prompt
    WRITING = "writing"
