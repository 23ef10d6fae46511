"""What is used where a constructor is not told: `Settings`, and below it what needs no key, no server and no download.

`Settings` lets a script name its models in one place. Only `services` reads it, when something is built; what is built keeps
what it got. The application passes its services itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ragcore.schema import Document, TextNode
from ragcore.text.tokens import Tokenizer

if TYPE_CHECKING:
    from ragcore.embeddings.base import Embedder
    from ragcore.llms.base import LLM


class Transformation(Protocol):
    """A step from documents to passages: a splitter, or what comes after one."""

    def __call__(self, nodes: Sequence[Document | TextNode], /) -> Sequence[Document | TextNode]: ...


@dataclass(slots=True)
class SettingsOfAScript:
    """What a script chose; None where it did not. Sizes are in tokens. `node_parser` goes before the two sizes."""

    llm: LLM | None = None
    embed_model: Embedder | str | None = None
    node_parser: Transformation | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    tokenizer: Tokenizer | Callable[[str], Sized] | None = None
    transformations: Sequence[Transformation] | None = None

    @property
    def text_splitter(self) -> Transformation | None:
        """Another name of `node_parser`."""
        return self.node_parser

    @text_splitter.setter
    def text_splitter(self, splitter: Transformation | None) -> None:
        self.node_parser = splitter


Settings = SettingsOfAScript()


@dataclass(frozen=True, slots=True)
class Services:
    llm: LLM
    embed_model: Embedder
    transformations: tuple[Transformation, ...]


def services(
    llm: LLM | None = None, embed_model: Embedder | str | None = None, transformations: Sequence[Transformation] | None = None
) -> Services:
    """What is given; else what `Settings` names; else the bundled embedder, the reader that quotes, and a SentenceSplitter.

    An embedder may be named, "local:BAAI/bge-small-en-v1.5"; "local" is the bundled one. ValueError for any other text. Nothing
    is loaded or sent by this.
    """
    from ragcore.llms.extractive import ExtractiveLLM
    from ragcore.node_parser.sentence import SentenceSplitter

    embedder = _embedder(embed_model or Settings.embed_model or "local")
    chosen = llm or Settings.llm or ExtractiveLLM(embedder)
    if isinstance(chosen, str):
        raise ValueError(f"llm is the text {chosen!r}; give the model itself, such as OpenAI(model={chosen!r})")
    if transformations is None:
        transformations = Settings.transformations
    if transformations is None:
        usual = SentenceSplitter()
        size = usual.chunk_size if Settings.chunk_size is None else Settings.chunk_size
        overlap = usual.chunk_overlap if Settings.chunk_overlap is None else Settings.chunk_overlap
        transformations = (Settings.node_parser or SentenceSplitter(size, overlap, tokenizer=Settings.tokenizer),)
    return Services(chosen, embedder, tuple(transformations))


def _embedder(given: Embedder | str) -> Embedder:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    if not isinstance(given, str):
        return given
    place, _, name = given.partition(":")
    if place != "local":
        raise ValueError(f"embed_model is the text {given!r}; give the model itself, or 'local:' and the name or folder of one")
    return HuggingFaceEmbedding(model_name=name) if name else HuggingFaceEmbedding()
