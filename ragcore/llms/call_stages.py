"""The stages of a call to a model, as its span reports them until it ends."""

from __future__ import annotations

from enum import StrEnum


class CallStage(StrEnum):
    WAITING = "waiting"  # in the queue of its server, behind other calls
    LOADING = "loading"  # a model on this computer is loaded into memory
    READING = "reading"  # the prompt
    WRITING = "writing"
