"""Pydantic under LlamaIndex's path: `from ragcore.bridge.pydantic import BaseModel`."""

import sys

import pydantic as pydantic

__path__: list[str] = []
sys.modules[f"{__name__}.pydantic"] = pydantic
