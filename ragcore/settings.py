"""The defaults of constructors: `Settings`, and without them services that need no key, no server and no
download.

A script names its models in `Settings`. Only this module reads it, when an object is built; later changes do
not affect existing objects. The application passes its services explicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from ragcore.observe import add_listener
from ragcore.schema import Document, TextNode
from ragcore.text.tokens import Tokenizer, default_tokenizer

if TYPE_CHECKING:
    from ragcore.callbacks import CallbackManager
    from ragcore.embeddings.base import Embedder
    from ragcore.llms.base import LLM
    from ragcore.node_parser.prompt_helper import PromptHelper


class Transformation(Protocol):
    """A step from documents to passages: a splitter, or a step after one."""

    def __call__(self, nodes: Sequence[Document | TextNode], /) -> Sequence[Document | TextNode]: ...


def _size(name: str) -> property:
    """A size of the prompt helper, in tokens, with a setter of its own."""
    return property(
        attrgetter(f"prompt_helper.{name}"), lambda self, tokens: setattr(self, f"_{name}", tokens)
    )


def _chunk_tokens(name: str) -> property:
    """A size of the node parser's chunks, in tokens, with a setter of its own."""

    def read(self: SettingsOfAScript) -> int:
        chosen: int | None = getattr(self, f"_{name}")
        return int(_size_of(self.node_parser, name)) if chosen is None else chosen

    return property(read, lambda self, tokens: setattr(self, f"_{name}", tokens))


@dataclass(slots=True)
class SettingsOfAScript:
    """The choices of a script. Without a choice, and after None, each is the default: the extractive model,
    the bundled embedder, and a SentenceSplitter. Reading one loads and sends nothing; a model is loaded when
    it is first used.

    Sizes are in tokens. `chunk_size` and `chunk_overlap` are those of the `node_parser`, and a new
    `node_parser` brings its own.

    `context_window` and `num_output`, also those of a `prompt_helper`, replace the metadata of the model of
    these settings, also in requests to its server. Models that are passed to a constructor have their own
    sizes. Without a choice, they are the sizes of the model.

    >>> from ragcore.llms import MockLLM
    >>> Settings.llm = MockLLM()
    >>> Settings.context_window = 2048
    >>> services().llm.metadata.context_window
    2048
    >>> Settings.llm = Settings.context_window = None
    >>> Settings.embed_model.dimension
    384
    """

    _llm: LLM | None = None
    _embed_model: Embedder | None = None
    _chunk_size: int | None = None
    _chunk_overlap: int | None = None
    _tokenizer: Tokenizer | Callable[[str], Sized] | None = None
    _transformations: Sequence[Transformation | Embedder] | None = None
    _node_parser: Transformation | None = None
    _prompt_helper: PromptHelper | None = None
    _context_window: int | None = None
    _num_output: int | None = None
    _callbacks: tuple[CallbackManager, Callable[[], None]] | None = None  # and the function that removes it
    # Defaults, created at the first use.
    _default_llm: tuple[Embedder, LLM] | None = None  # and the embedder that it uses
    _default_embed_model: Embedder | None = None
    _default_transformations: list[Transformation | Embedder] | None = None
    _built_parser: tuple[tuple[object, ...], Transformation] | None = None  # and the choices behind it

    @property
    def llm(self) -> LLM:
        """The chosen model, or the extractive one with the `embed_model`."""
        from ragcore.extractive.answerer import ExtractiveLLM

        if self._llm is not None:
            return self._llm
        embed_model = self.embed_model
        if self._default_llm is None or self._default_llm[0] is not embed_model:
            self._default_llm = embed_model, ExtractiveLLM(embed_model)
        return self._default_llm[1]

    @llm.setter
    def llm(self, llm: LLM | None) -> None:
        """ValueError for a text."""
        is_default = self._default_llm is not None and llm is self._default_llm[1]
        self._llm = None if is_default else _check_llm(llm)

    @property
    def embed_model(self) -> Embedder:
        """The chosen embedder, or the bundled one."""
        if self._embed_model is None and self._default_embed_model is None:
            self._default_embed_model = embedder("local")
        return self._embed_model or self._default_embed_model  # type: ignore[return-value]

    @embed_model.setter
    def embed_model(self, embed_model: Embedder | str | None) -> None:
        """As for `embedder`; None and "default" are the bundled one."""
        is_default = embed_model is None or embed_model is self._default_embed_model
        self._embed_model = None if is_default or embed_model == "default" else embedder(embed_model)

    @property
    def tokenizer(self) -> Callable[[str], Sized]:
        """Same as `get_tokenizer()`."""
        return get_tokenizer()

    @tokenizer.setter
    def tokenizer(self, tokenizer: Tokenizer | Callable[[str], Sized] | None) -> None:
        self._tokenizer = None if tokenizer is _default_tokens else tokenizer

    @property
    def transformations(self) -> Sequence[Transformation | Embedder]:
        """The chosen steps, or the `node_parser`, as a list that may be changed."""
        if self._transformations is not None:
            return self._transformations
        parser = self.node_parser
        if self._default_transformations is None:
            self._default_transformations = [parser]
        return self._default_transformations

    @transformations.setter
    def transformations(self, transformations: Sequence[Transformation | Embedder] | None) -> None:
        is_default = transformations is self._default_transformations
        self._transformations = None if is_default else transformations
        if transformations is None:
            self._default_transformations = None

    chunk_size = _chunk_tokens("chunk_size")
    chunk_overlap = _chunk_tokens("chunk_overlap")

    @property
    def prompt_helper(self) -> PromptHelper:
        from ragcore.node_parser.prompt_helper import PromptHelper

        if self._prompt_helper is None and self._llm is not None:
            return PromptHelper.from_llm_metadata(replace(self._llm.metadata, **self.sizes))
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
        """The chosen parser or a SentenceSplitter, with the chosen chunk sizes. ValueError if it has none."""
        choices = (self._node_parser, self._chunk_size, self._chunk_overlap, self._tokenizer)
        if self._built_parser is None or self._built_parser[0] != choices:
            before, parser = self._built_parser, self._build_parser()
            steps = self._default_transformations or []
            if before is not None and before[1] in steps:
                steps[steps.index(before[1])] = parser
            self._built_parser = choices, parser
        return self._built_parser[1]

    @node_parser.setter
    def node_parser(self, parser: Transformation | None) -> None:
        if self._built_parser is None or parser is not self._built_parser[1]:
            self._node_parser, self._chunk_size, self._chunk_overlap = parser, None, None

    text_splitter = node_parser

    def _build_parser(self) -> Transformation:
        from ragcore.node_parser.sentence import SentenceSplitter

        chosen = (("chunk_size", self._chunk_size), ("chunk_overlap", self._chunk_overlap))
        sizes: dict[str, Any] = {name: tokens for name, tokens in chosen if tokens is not None}
        if self._node_parser is None:
            return SentenceSplitter(**sizes, tokenizer=self._tokenizer)
        parser = copy(self._node_parser) if sizes else self._node_parser
        for name, tokens in sizes.items():
            _size_of(parser, name)
            setattr(parser, name, tokens)
        if sizes and _size_of(parser, "chunk_overlap") > _size_of(parser, "chunk_size"):
            raise ValueError(f"chunk_overlap is larger than chunk_size in the settings: {sizes}")
        return parser


def _size_of(parser: Transformation, name: str) -> int:
    tokens: int | None = getattr(parser, name, None)
    if tokens is None:
        raise ValueError(f"the node parser of the settings, a {type(parser).__name__}, has no {name}")
    return tokens


Settings = SettingsOfAScript()


@dataclass(frozen=True, slots=True)
class Services:
    llm: LLM
    embed_model: Embedder
    transformations: tuple[Transformation | Embedder, ...]


def services(
    llm: LLM | None = None,
    embed_model: Embedder | str | None = None,
    transformations: Sequence[Transformation | Embedder] | None = None,
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
    # The default model quotes by the embedder of the call.
    chosen = _check_llm(llm) or Settings._llm or ExtractiveLLM(embed_model)
    if llm is None and Settings.sizes and not isinstance(chosen, ExtractiveLLM):
        chosen = WindowedLLM(chosen, replace(chosen.metadata, **Settings.sizes))
    if transformations is None:
        transformations = Settings.transformations
    return Services(chosen, embed_model, tuple(transformations))


def _check_llm(llm: LLM | None) -> LLM | None:
    """Returns `llm`. ValueError for a text."""
    if isinstance(llm, str):
        raise ValueError(f"llm is the text {llm!r}; give the model itself, such as OpenAI(model={llm!r})")
    return llm


def embedder(embed_model: Embedder | str | None = None) -> Embedder:
    """The argument; else that of `Settings`; else the bundled embedder.

    The name "local:BAAI/bge-small-en-v1.5" is a model, "local" the bundled embedder. ValueError for any other
    text.
    """
    if embed_model is None:
        return Settings.embed_model
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
    chosen = Settings._tokenizer
    if chosen is None:
        return _default_tokens
    return chosen if callable(chosen) else partial(_tokens, chosen)


def _default_tokens(text: str) -> list[str]:
    return _tokens(default_tokenizer(), text)


def _tokens(tokenizer: Tokenizer, text: str) -> list[str]:
    starts = [*tokenizer.starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


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
