"""The embedder that comes with the installation, by torch alone.

sentence-transformers, which gives the same vectors, brings scikit-learn, pandas and all of transformers, and its import takes
three times as long as all of this until the model is there, in each process that embeds. `python -m benchmarks.vs_llamaindex`
measures it as "set up the embedder".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional as F

_NAMES = (  # what a tensor is called in the file, and here
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


class MiniLM(torch.nn.Module):
    """BERT (Devlin et al. 2019, https://arxiv.org/abs/1810.04805) and the mean of its tokens' vectors, from the folder that
    sentence-transformers published. `device` is torch's."""

    def __init__(self, folder: Path, device: str) -> None:
        super().__init__()
        config = json.loads((folder / "config.json").read_text("utf-8"))
        width, epsilon = config["hidden_size"], config["layer_norm_eps"]
        self.word = torch.nn.Embedding(config["vocab_size"], width)
        self.position = torch.nn.Embedding(config["max_position_embeddings"], width)
        self.token_type = torch.nn.Embedding(config["type_vocab_size"], width)
        self.norm = torch.nn.LayerNorm(width, epsilon)
        self.layers = torch.nn.ModuleList(
            _Layer(width, config["num_attention_heads"], config["intermediate_size"], epsilon)
            for _ in range(config["num_hidden_layers"])
        )
        self.load_state_dict(_renamed(load_file(folder / "model.safetensors")), assign=True)
        self.to(device)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.enable_padding(pad_id=config["pad_token_id"])
        self.max_seq_length = int(json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))["max_seq_length"])

    @property
    def device(self) -> torch.device:
        return self.word.weight.device

    def get_embedding_dimension(self) -> int:
        return self.word.embedding_dim

    def preprocess(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Both (n, longest): the ids of the tokens, and 1 where there is one, 0 where a text is filled up."""
        encoded = self.tokenizer.encode_batch(list(texts))
        return {
            "input_ids": torch.tensor([each.ids for each in encoded]),
            "attention_mask": torch.tensor([each.attention_mask for each in encoded]),
        }

    def forward(self, features: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """ "token_embeddings" (n, longest, d), and their means "sentence_embedding" (n, d)."""
        ids, mask = features["input_ids"], features["attention_mask"]
        rows = self.word(ids) + self.position.weight[: ids.shape[1]] + self.token_type.weight[0]
        rows = self.norm(rows)
        for layer in self.layers:
            rows = layer(rows, mask[:, None, None, :].bool())
        weights = mask[:, :, None].to(rows.dtype)
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
        """`rows` (n, longest, d), `mask` (n, 1, 1, longest), True where there is a token -> (n, longest, d)"""
        query, key, value = (self._by_head(part(rows)) for part in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)  # (n, heads, longest, d / heads)
        rows = self.attended_norm(rows + self.attended(attended.transpose(1, 2).flatten(2)))
        outer: torch.Tensor = self.outer_norm(rows + self.outer(F.gelu(self.inner(rows))))
        return outer

    def _by_head(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)


def _renamed(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Without the pooler, which this model was not trained to use, and the numbers of the positions."""
    renamed = {}
    for name, tensor in tensors.items():
        if not name.startswith("pooler") and not name.endswith("position_ids"):
            for there, here in _NAMES:
                name = re.sub(there, here, name)
            renamed[name] = tensor
    return renamed
