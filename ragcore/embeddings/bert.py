"""The embedders of the installation, with torch only.

sentence-transformers computes the same vectors, but imports scikit-learn, pandas and all of transformers:
importing it takes three times as long as loading the model here, in each process that embeds. `python -m
benchmarks.vs_llamaindex` measures it as "set up the embedder".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from ragcore.schema import Vectors

_NAMES = (  # of a tensor in the file, and here
    (r"^embeddings\.LayerNorm", "norm"),
    (r"^embeddings\.(word|position|token_type)_embeddings", r"\1"),
    (r"^encoder\.layer", "layers"),
    (r"attention\.self\.", ""),
    (r"attention\.output\.dense", "attended"),
    (r"attention\.output\.LayerNorm", "attended_norm"),
    (r"intermediate\.dense", "inner"),
    (r"output\.dense", "outer"),
    (r"output\.LayerNorm", "outer_norm"),
)
TABLES = ("word", "position", "token_type")


class BertEncoder(torch.nn.Module):
    """BERT (Devlin et al. 2019, https://arxiv.org/abs/1810.04805) and the mean of its tokens' vectors, from a
    folder as sentence-transformers publishes it. `device` is torch's.

    The layers compute in `dtype`. The table of words has the type of the file, and results are float32.
    """

    def __init__(self, folder: Path, device: str, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        config = json.loads((folder / "config.json").read_text("utf-8"))
        width, epsilon = config["hidden_size"], config["layer_norm_eps"]
        tensors = _rename(load_file(folder / "model.safetensors"))
        self.word, self.position, self.token_type = (_table(tensors[f"{name}.weight"]) for name in TABLES)
        self.norm = torch.nn.LayerNorm(width, epsilon)
        self.layers = torch.nn.ModuleList(
            _Layer(width, config["num_attention_heads"], config["intermediate_size"], epsilon)
            for _ in range(config["num_hidden_layers"])
        )
        self.load_state_dict(tensors, assign=True)
        self.layers.to(dtype)
        self.to(device)
        self.dtype = dtype
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.pad_token_id = int(config["pad_token_id"])
        self.max_seq_length = int(
            json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))["max_seq_length"]
        )

    @property
    def device(self) -> torch.device:
        return self.word.weight.device

    def get_embedding_dimension(self) -> int:
        return self.word.embedding_dim

    def preprocess(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Both (n, longest): the ids of the tokens, and a mask, 1 for a token, 0 for padding."""
        rows = [torch.tensor(each.ids) for each in self.tokenizer.encode_batch(list(texts))]
        return {
            "input_ids": pad_sequence(rows, batch_first=True, padding_value=self.pad_token_id),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in rows], batch_first=True),
        }

    def look_up(self, ids: Sequence[int]) -> Vectors:
        """(n, d): the unit vectors of these tokens in the table, without context."""
        with torch.inference_mode():
            rows = F.normalize(self.word(torch.tensor(ids, dtype=torch.long, device=self.device)), dim=1)
        return np.asarray(rows.float().cpu().numpy())

    def forward(self, features: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """ "token_embeddings" (n, longest, d), and their means "sentence_embedding" (n, d)."""
        ids, mask = features["input_ids"], features["attention_mask"]
        rows = self.word(ids).float() + self.position.weight[: ids.shape[1]] + self.token_type.weight[0]
        rows = self.norm(rows).to(self.dtype)
        for layer in self.layers:
            rows = layer(rows, mask[:, None, None, :].bool())
        rows = rows.float()
        weights = mask[:, :, None].float()
        return {"token_embeddings": rows, "sentence_embedding": (rows * weights).sum(1) / weights.sum(1)}


class _Layer(torch.nn.Module):
    def __init__(self, width: int, heads: int, inner: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.attended = (torch.nn.Linear(width, width) for _ in range(4))
        self.attended_norm = torch.nn.LayerNorm(width, epsilon)
        self.inner, self.outer = torch.nn.Linear(width, inner), torch.nn.Linear(inner, width)
        self.outer_norm = torch.nn.LayerNorm(width, epsilon)

    def forward(self, rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """`rows` (n, longest, d), `mask` (n, 1, 1, longest), True where there is a token -> (n, longest,
        d)"""
        query, key, value = (self._by_head(part(rows)) for part in (self.query, self.key, self.value))
        # (n, heads, longest, d / heads)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        rows = self.attended_norm(rows + self.attended(attended.transpose(1, 2).flatten(2)))
        outer: torch.Tensor = self.outer_norm(rows + self.outer(F.gelu(self.inner(rows))))
        return outer

    def _by_head(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)


def _table(rows: torch.Tensor) -> torch.nn.Embedding:
    """Initialised with these numbers: random numbers for a large vocabulary would take a second."""
    return torch.nn.Embedding(rows.shape[0], rows.shape[1], _weight=rows)


def _rename(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors by their names here, without the untrained pooler and the numbers of the positions."""
    renamed = {}
    for name, tensor in tensors.items():
        if not name.startswith("pooler") and not name.endswith("position_ids"):
            for there, here in _NAMES:
                name = re.sub(there, here, name)
            renamed[name] = tensor
    return renamed
