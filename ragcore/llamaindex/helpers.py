"""Small helpers of scripts: counters of tokens, folders and models by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from ragcore.embeddings.base import Embedder
from ragcore.llms.base import LLM
from ragcore.node_parser.text_splitter import TokenSplitter
from ragcore.settings import embedder, get_tokenizer, services
from ragcore.text.rank_replies import parse_scores


def resolve_embed_model(embed_model: Embedder | str | None = None) -> Embedder:
    """As `embedder`; "default" is the same as None.

    >>> from ragcore.embeddings import HashEmbedding
    >>> resolve_embed_model(HashEmbedding(dimension=8)).dimension
    8
    """
    return embedder(None if embed_model == "default" else embed_model)


def resolve_llm(llm: LLM | str | None = None) -> LLM:
    """The model; for None and "default" that of `services`. ValueError for any other text.

    >>> from ragcore.llms import MockLLM
    >>> str(resolve_llm(MockLLM()).complete("Hello"))
    'Hello'
    """
    return services(None if llm == "default" else llm).llm  # type: ignore[arg-type]  # a text is refused there


@dataclass(frozen=True)
class TokenCounter:
    """Counts tokens as `tokenizer` makes them.

    >>> TokenCounter().get_string_tokens("One two three")
    3
    """

    tokenizer: Callable[[str], Sized] = field(default_factory=get_tokenizer)

    def get_string_tokens(self, string: str) -> int:
        return len(self.tokenizer(string))


globals_helper = SimpleNamespace(tokenizer=lambda text: get_tokenizer()(text))


def get_cache_dir() -> str:
    """The folder for caches that scripts share with LlamaIndex, which exists: LLAMA_INDEX_CACHE_DIR, or that
    of the system."""
    import platformdirs

    folder = os.environ.get("LLAMA_INDEX_CACHE_DIR") or platformdirs.user_cache_dir("llama_index")
    Path(folder).mkdir(parents=True, exist_ok=True)
    return folder


def truncate_text(text: str, text_splitter: TokenSplitter) -> str:
    """The first chunk of the text."""
    return text_splitter.split_text(text)[0]


def default_parse_choice_select_answer_fn(answer: str, num_choices: int) -> tuple[list[int], list[float]]:
    """The numbers of the passages, from 1, and their relevances, in the order of the answer."""
    ranked = parse_scores(answer, num_choices) or [
        (int(place) - 1, float(score)) for place, score in _PAIR.findall(answer)
    ]
    named = [(place + 1, relevance) for place, relevance in ranked if 0 <= place < num_choices]
    return [place for place, _ in named], [relevance for _, relevance in named]


_PAIR = re.compile(r"^[^\d\n]*:\s*(\d+)[^\d\n]*:\s*(\d+)", re.MULTILINE)  # "any_name: 2, other_name: 8"
