"""The header of a GGUF file: the name of a model and its memory, without loading it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from ragcore.errors import LLMError

MAX_STRING = 16 * 2**20  # bytes; a chat template has some thousands
MAX_ENTRIES = 100_000
COMPUTE = 300 * 2**20  # bytes for llama.cpp itself, its buffers and its cache of prompts

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_BYTES_OF_256 = {  # numbers of a tensor, by its type (ggml.h); no bytes are expected of other types
    0: 1024, 1: 512, 2: 144, 3: 160, 6: 176, 7: 192, 8: 272, 10: 84, 11: 110, 12: 144, 13: 176, 14: 210,
    20: 144, 23: 136, 30: 512,
}  # fmt: skip


class ModelFileError(LLMError):
    """The file of a model is missing, or llama.cpp cannot load it."""


@dataclass(frozen=True, slots=True)
class GGUFHeader:
    """`trained_context` is tokens, `cache_per_token` bytes of memory for each token of the context."""

    name: str
    trained_context: int
    cache_per_token: int
    file_size: int  # bytes

    def memory(self, tokens: int) -> int:
        """The memory in bytes for a context of `tokens`. Models with limited attention in some layers need
        less."""
        return self.file_size + tokens * self.cache_per_token + COMPUTE


def read_header(path: Path) -> GGUFHeader:
    """ModelFileError for a file that is missing, incomplete, or not GGUF."""
    try:
        with path.open("rb") as file:
            tensors = _tensor_count(file)
            values = _values(file)
            complete = _complete_size(file, tensors, values.get("general.alignment", 32))
            size = path.stat().st_size
    except OSError as error:
        raise ModelFileError(
            f"The model file {path.name} cannot be read.",
            hint="Check that it exists and that you may read it.",
        ) from error
    except (struct.error, ValueError, KeyError) as error:
        raise ModelFileError(
            f"The file {path.name} is not a language model in GGUF format, or is incomplete.",
            hint="Download it again, or choose another file; its name usually ends with .gguf.",
        ) from error
    if size < complete:
        raise ModelFileError(
            f"The model file {path.name} is incomplete.",
            hint="Wait until it has been copied, or copy it again.",
        )
    kind = str(values.get("general.architecture", ""))

    def number(name: str, default: int) -> int:
        value = values.get(f"{kind}.{name}", default)
        return (
            max(value) if isinstance(value, list) and value else value if isinstance(value, int) else default
        )

    heads = number("attention.head_count", 1)
    width = number("embedding_length", 0) // max(heads, 1)
    per_head = number("attention.key_length", width) + number("attention.value_length", width)
    return GGUFHeader(
        name=str(values.get("general.name", path.stem)),
        trained_context=number("context_length", 4096),
        cache_per_token=2
        * number("block_count", 1)
        * number("attention.head_count_kv", heads)
        * per_head,  # 2 bytes a number
        file_size=size,
    )


def _tensor_count(file: BinaryIO) -> int:
    if file.read(4) != b"GGUF":
        raise ValueError("not GGUF")
    if _scalar(file, "<I") not in (2, 3):
        raise ValueError("another version, or another byte order")
    return int(_scalar(file, "<Q"))


def _values(file: BinaryIO) -> dict[str, Any]:
    """The values by name; None for long lists such as the vocabulary."""
    count = _scalar(file, "<Q")
    if count > MAX_ENTRIES:
        raise ValueError("too many entries")
    return {_string(file): _value(file, _scalar(file, "<I")) for _ in range(count)}


def _complete_size(file: BinaryIO, tensors: int, alignment: int) -> int:
    """The least bytes of the whole file, from the places of its tensors, which follow the values."""
    if tensors > MAX_ENTRIES:
        raise ValueError("too many tensors")
    end = 0
    for _ in range(tensors):
        _string(file)
        numbers = prod(_scalar(file, "<Q") for _ in range(_scalar(file, "<I")))
        kind, offset = _scalar(file, "<I"), _scalar(file, "<Q")
        end = max(end, offset + numbers * _BYTES_OF_256.get(kind, 0) // 256)
    return -(-file.tell() // alignment) * alignment + end if tensors else 0


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _scalar(file, _SCALARS[kind])
    inner, length = _scalar(file, "<I"), _scalar(file, "<Q")
    if inner == _STRING:
        for _ in range(length):
            _string(file)
        return None
    form = _SCALARS[inner]
    data = _exactly(file, length * struct.calcsize(form))
    return [item for (item,) in struct.iter_unpack(form, data)] if length <= 1024 else None


def _string(file: BinaryIO) -> str:
    return _exactly(file, _scalar(file, "<Q")).decode("utf-8", "replace")


def _scalar(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]


def _exactly(file: BinaryIO, size: int) -> bytes:
    if size > MAX_STRING:
        raise ValueError("too long")
    data = file.read(size)
    if len(data) < size:
        raise ValueError("the file ends too early")
    return data
