"""The defaults of constructors: `Settings`, and without them services that need no key, no server and no
download.

A script names its models in `Settings`. Only this module reads it, when an object is built; later changes do
not affect existing objects. The application passes its services explicitly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from ragcore.observe import add_listener
from ragcore.schema import Document, TextNode
from ragcore.text.tokens import Tokenizer, default_tokenizer

if TYPE_CHECKING:
    from ragcore.callbacks import CallbackManager
    from ragcore.embeddings.base import Embedder
    from ragcore.llms.base import LLM
    from ragcore.prompt_helper import PromptHelper


class Transformation(Protocol):
    """A step from documents to passages: a splitter, or a step after one."""

    def __call__(self, nodes: Sequence[Document | TextNode], /) -> Sequence[Document | TextNode]: ...


def _size(name: str) -> property:
    """A size of the prompt helper, in tokens, with a setter of its own."""
    return property(
        attrgetter(f"prompt_helper.{name}"), lambda self, tokens: setattr(self, f"_{name}", tokens)
    )


@dataclass(slots=True)
class SettingsOfAScript:
    """The choices of a script; None for the default. Sizes are in tokens. A `node_parser` replaces the
    SentenceSplitter with the two chunk sizes.

    `context_window` and `num_output`, also those of a `prompt_helper`, replace the metadata of the model of
    these settings, also in requests to its server. Models that are passed to a constructor have their own
    sizes. Without a choice, they are the sizes of the model.

    >>> from ragcore.llms import MockLLM
    >>> Settings.llm = MockLLM()
    >>> Settings.context_window = 2048
    >>> services().llm.metadata.context_window
    2048
    >>> Settings.llm = Settings.context_window = None
    """

    llm: LLM | None = None
    embed_model: Embedder | str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    tokenizer: Tokenizer | Callable[[str], Sized] | None = None
    transformations: Sequence[Transformation] | None = None
    _node_parser: Transformation | None = None
    _prompt_helper: PromptHelper | None = None
    _context_window: int | None = None
    _num_output: int | None = None
    _callbacks: tuple[CallbackManager, Callable[[], None]] | None = None  # and the function that removes it

    @property
    def prompt_helper(self) -> PromptHelper:
        from ragcore.prompt_helper import PromptHelper

        if self._prompt_helper is None and self.llm is not None:
            return PromptHelper.from_llm_metadata(replace(self.llm.metadata, **self.sizes))
        return replace(self._prompt_helper or PromptHelper(), **self.sizes)

    @prompt_helper.setter
    def prompt_helper(self, helper: PromptHelper | None) -> None:
        self._prompt_helper, self._context_window, self._num_output = helper, None, None

    context_window = _size("context_window")
    num_output = _size("num_output")

    @property
    def sizes(self) -> dict[str, Any]:
        """`context_window` and `num_output`, if they were chosen."""
        helper = self._prompt_helper
        window = helper.context_window if helper and self._context_window is None else self._context_window
        output = helper.num_output if helper and self._num_output is None else self._num_output
        return {
            name: size
            for name, size in (("context_window", window), ("num_output", output))
            if size is not None
        }

    @property
    def callback_manager(self) -> CallbackManager:
        """Receives all events in all threads. It is created at the first use."""
        from ragcore.callbacks import CallbackManager

        if self._callbacks is None:
            manager = CallbackManager()
            self._callbacks = manager, add_listener(manager)
        return self._callbacks[0]

    @callback_manager.setter
    def callback_manager(self, manager: CallbackManager | None) -> None:
        if self._callbacks is not None:
            self._callbacks[1]()
        self._callbacks = None if manager is None else (manager, add_listener(manager))

    @property
    def node_parser(self) -> Transformation:
        from ragcore.node_parser.sentence import SentenceSplitter

        if self._node_parser is not None:
            return self._node_parser
        usual = SentenceSplitter()
        size = usual.chunk_size if self.chunk_size is None else self.chunk_size
        overlap = usual.chunk_overlap if self.chunk_overlap is None else self.chunk_overlap
        return SentenceSplitter(size, overlap, tokenizer=self.tokenizer)

    @node_parser.setter
    def node_parser(self, parser: Transformation | None) -> None:
        self._node_parser = parser

    text_splitter = node_parser


Settings = SettingsOfAScript()


@dataclass(frozen=True, slots=True)
class Services:
    llm: LLM
    embed_model: Embedder
    transformations: tuple[Transformation, ...]


def services(
    llm: LLM | None = None,
    embed_model: Embedder | str | None = None,
    transformations: Sequence[Transformation] | None = None,
) -> Services:
    """The arguments; else those of `Settings`; else the extractive model, the bundled embedder, and a
    SentenceSplitter.

    An embedder may be a name, see `embedder`. This function loads and sends nothing.

    >>> from ragcore.llms import ScriptedLLM
    >>> str(services(ScriptedLLM(["Hello!"])).llm.complete("Hi"))
    'Hello!'
    """
    from ragcore.extractive.answerer import ExtractiveLLM
    from ragcore.llms.context_window import WindowedLLM

    embed_model = embedder(embed_model)
    chosen = llm or Settings.llm or ExtractiveLLM(embed_model)
    if isinstance(chosen, str):
        raise ValueError(
            f"llm is the text {chosen!r}; give the model itself, such as OpenAI(model={chosen!r})"
        )
    if llm is None and Settings.sizes:
        chosen = WindowedLLM(chosen, replace(chosen.metadata, **Settings.sizes))
    if transformations is None:
        transformations = Settings.transformations
    if transformations is None:
        transformations = (Settings.node_parser,)
    return Services(chosen, embed_model, tuple(transformations))


def embedder(embed_model: Embedder | str | None = None) -> Embedder:
    """The argument; else that of `Settings`; else the bundled embedder.

    The name "local:BAAI/bge-small-en-v1.5" is a model, "local" the bundled embedder. ValueError for any other
    text.
    """
    embed_model = embed_model or Settings.embed_model or "local"
    if not isinstance(embed_model, str):
        return embed_model
    place, _, name = embed_model.partition(":")
    if place != "local":
        raise ValueError(
            f"embed_model is the text {embed_model!r}; give the model itself, or 'local:' and the name "
            "or folder of one"
        )
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    return HuggingFaceEmbedding(model_name=name) if name else HuggingFaceEmbedding()


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


def set_global_tokenizer(tokenizer: Tokenizer | Callable[[str], Sized]) -> None:
    """New splitters count tokens with it. Same as `Settings.tokenizer = ...`.

    >>> set_global_tokenizer(str.split)
    >>> get_tokenizer()("One two")
    ['One', 'two']
    >>> Settings.tokenizer = None
    """
    Settings.tokenizer = tokenizer


def get_tokenizer() -> Callable[[str], Sized]:
    """A function that splits a text into tokens, texts or numbers: that of `Settings` or of the bundled
    embedder.

    >>> len(get_tokenizer()("One two three"))
    3
    """
    chosen = Settings.tokenizer
    if chosen is not None and callable(chosen):
        return chosen
    tokenizer = default_tokenizer() if chosen is None else chosen

    def pieces(text: str) -> list[str]:
        starts = [*tokenizer.starts(text), len(text)]
        return [text[start:end] for start, end in pairwise(starts)]

    return pieces


def set_global_handler(eval_mode: str) -> None:
    """Add a handler for all events; "simple" is the SimpleLLMHandler. ValueError for any other name.

    >>> set_global_handler("simple")
    >>> [type(handler).__name__ for handler in Settings.callback_manager.handlers]
    ['SimpleLLMHandler']
    >>> Settings.callback_manager = None
    """
    from ragcore.callbacks import SimpleLLMHandler

    if eval_mode != "simple":
        raise ValueError(
            f"there is no handler {eval_mode!r} here, only 'simple'; docs/reference says how traces go "
            "to others"
        )
    Settings.callback_manager.add_handler(SimpleLLMHandler())


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
