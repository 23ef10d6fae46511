"""Reads the instructions of deploy/Dockerfile."""

from __future__ import annotations

import json
from pathlib import Path

DOCKERFILE = Path(__file__).parents[1] / "deploy" / "Dockerfile"


def instructions(name: str) -> list[str]:
    """The arguments of every instruction of that name, in order."""
    text = DOCKERFILE.read_text("utf-8").replace("\\\n", "")
    lines = [line.partition(" ") for line in text.splitlines() if not line.startswith("#")]
    return [arguments.strip() for instruction, _space, arguments in lines if instruction == name]


def health_command() -> list[str]:
    """The command that tells whether the application in a container is up."""
    return list(json.loads(instructions("HEALTHCHECK")[-1].partition("CMD ")[2]))
