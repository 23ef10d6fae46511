"""Embedding with the models of the installation, or any model of sentence-transformers by its name or
folder."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.embeddings import bundled_model, multilingual_e5
from ragcore.embeddings.base import BaseEmbedding, Tokens
from ragcore.errors import EmbeddingError
from ragcore.observe import span
from ragcore.schema import Vectors
from ragcore.text.tokens import slices

if TYPE_CHECKING:
    import tokenizers
    import torch
    from sentence_transformers import SentenceTransformer

    from ragcore.embeddings.bert import BertEncoder
    from ragcore.embeddings.torch_device import Placed
    from ragcore.observe import Span

BATCH_TOKENS = 1024  # padded tokens in one pass through the model
BATCH_TOKENS_ELSEWHERE = 8192  # on other devices than the processor, which would be idle with fewer

WINDOW = 512  # tokens, the default

BUNDLED = dict.fromkeys(bundled_model.ALIASES, bundled_model) | {multilingual_e5.NAME: multilingual_e5}


class HuggingFaceEmbedding(BaseEmbedding):
    """Any sentence-transformers model, loaded at its first use or by `warm`. Threads may share one.

    The installation has two: all-MiniLM-L6-v2, the default, for English, and multilingual-e5-small for every
    language.

    >>> HuggingFaceEmbedding().dimension
    384

    `max_length` is the window in tokens, if it should be shorter than the model's. The instructions precede
    every question and every text; None are those of the training of bge and e5 models, and none for others.
    `device` is torch's, such as "cpu" or "cuda:0"; None is the best; after a failure the processor takes
    over. `cache_folder` is for models from Hugging Face's hub. Instances of the same model share one copy in
    memory.
    """

    def __init__(
        self,
        model_name: str = bundled_model.NAME,
        *,
        max_length: int | None = None,
        query_instruction: str | None = None,
        text_instruction: str | None = None,
        normalize: bool = True,
        device: str | None = None,
        cache_folder: str | None = None,
    ) -> None:
        if max_length is not None and max_length < 8:
            raise ValueError(f"max_length is {max_length}; a window needs at least 8 tokens.")
        if not normalize:
            raise ValueError(
                "normalize is False, but every vector here has length 1: their dot product is their cosine."
            )
        self.model_name = model_name
        self.max_length = max_length
        usual = _usual_instructions(model_name)
        self.query_instruction = usual[0] if query_instruction is None else query_instruction
        self.text_instruction = usual[1] if text_instruction is None else text_instruction
        is_folder = model_name not in BUNDLED and Path(model_name).is_dir()
        # absolute, because the model is loaded later, perhaps after a change of the current folder
        self._source = str(Path(model_name).absolute()) if is_folder else model_name
        self._device = device
        self._cache_folder = cache_folder
        self._loaded: _LoadedModel | None = None

    @property
    def name(self) -> str:
        bundled = BUNDLED.get(self.model_name)
        model = f"{bundled.NAME}@{bundled.SHA256[:12]}" if bundled else self.model_name
        window = f" window={self.max_length}" if self.max_length else ""
        query = f" query={self.query_instruction!r}" if self.query_instruction else ""
        text = f" text={self.text_instruction!r}" if self.text_instruction else ""
        return f"{model}{window}{query}{text}"

    @property
    def dimension(self) -> int:
        """The length of the vectors. A bundled model is not loaded for it."""
        bundled = BUNDLED.get(self.model_name)
        return bundled.DIMENSION if bundled else self._model.dimension

    def warm(self) -> None:
        """Load the model now. EmbeddingError if that fails."""
        self._model.embed([""])

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        instruction = self.query_instruction if is_query else self.text_instruction
        return self._model.embed([instruction + text for text in texts], step)

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]] | None:
        """None except for unchanged bundled models, as other models have other distances between vectors of
        tokens."""
        if not self._as_bundled():
            return None
        with span("embed", model=self.name, provider=self.provider, count=len(texts), query=False) as step:
            tokens: list[Tokens] = []
            rows = self._model.embed([self.text_instruction + text for text in texts], step, tokens)
            step.note(dimension=rows.shape[1])
            return rows, [_without_start(each, len(self.text_instruction)) for each in tokens]

    def static_tokens(self, texts: Sequence[str]) -> list[Tokens] | None:
        """None except for unchanged bundled models, like `embed_tokens`."""
        return self._model.static_tokens(texts) if self._as_bundled() else None

    def knows(self, word: str) -> bool:
        """True except for the English model, as the vocabularies of others have too few whole words of any
        language."""
        return (
            self.model_name not in bundled_model.ALIASES or not self._as_bundled() or self._model.knows(word)
        )

    def _as_bundled(self) -> bool:
        instructions = (self.query_instruction, self.text_instruction)
        known = self.model_name in (*BUNDLED, multilingual_e5.ORIGINAL)
        return known and instructions == _usual_instructions(self.model_name)

    @property
    def _model(self) -> _LoadedModel:
        if self._loaded is None:
            with _loading:
                self._loaded = _load(self._source, self.max_length, self._device, self._cache_folder)
        return self._loaded


class _LoadedModel:
    """A model in memory, and the division of long texts into its windows."""

    def __init__(self, placed: Placed[SentenceTransformer | BertEncoder]) -> None:
        from tokenizers import Tokenizer

        self._placed = placed
        model = placed.model
        original = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
        if not isinstance(original, Tokenizer):
            raise EmbeddingError(
                "This embedding model's tokenizer does not say where its tokens begin, so long texts "
                "cannot be divided for it.",
                hint="Choose a model with a tokenizer.json file, or use the built-in model.",
            )
        self._encoder: tokenizers.Tokenizer = original
        if hasattr(model.tokenizer, "backend_tokenizer"):
            # A copy: the model's own cuts and pads, and is not safe for two threads at once.
            self._encoder = Tokenizer.from_str(original.to_str())
            self._encoder.no_truncation()
            self._encoder.no_padding()
        # without special tokens
        self._room = (model.max_seq_length or WINDOW) - len(self._encoder.encode("").ids)
        self._tokenizing = threading.Lock()
        self.dimension = model.get_embedding_dimension() or self.embed([""]).shape[1]

    def embed(
        self, texts: Sequence[str], step: Span | None = None, tokens: list[Tokens] | None = None
    ) -> Vectors:
        """Appends the tokens of each text's first window to the list `tokens`, if there is one."""
        import numpy as np

        parts: list[str] = []
        lengths: list[int] = []  # tokens
        first: list[int] = []  # the first window of each text among the parts
        for text in texts:
            first.append(len(parts))
            for part, length in self._windows(text):
                parts.append(part)
                lengths.append(length)
        if step is not None:
            step.note(tokens=sum(lengths))
        if not parts:
            return np.zeros((0, self.dimension), np.float32)
        states: dict[int, Vectors] | None = None if tokens is None else {}
        rows = self._placed.run(lambda model: self._forward(model, parts, lengths, states))  # (windows, d)
        if tokens is not None and states is not None:
            tokens += [self._tokens(parts[part], states[part]) for part in first]
        if len(parts) > len(texts):
            rows = np.add.reduceat(rows, first, axis=0)  # (n, d); the sum points where the mean does
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        result: Vectors = np.ascontiguousarray(rows / np.where(norms > 0, norms, 1), np.float32)
        return result

    def static_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The whole of each text, not only its first window."""
        from ragcore.embeddings.bert import BertEncoder

        encodings = self._encoder.encode_batch(list(texts), add_special_tokens=False)
        ids = [id_ for encoding in encodings for id_ in encoding.ids]

        def look_up(model: SentenceTransformer | BertEncoder) -> Vectors:
            assert isinstance(model, BertEncoder)  # others have no `static_tokens`
            return model.look_up(ids)

        rows = self._placed.run(look_up)
        ends = list(itertools.accumulate(len(encoding.ids) for encoding in encodings))
        return [
            Tokens(text, encoding.offsets, rows[end - len(encoding.ids) : end])
            for text, encoding, end in zip(texts, encodings, ends, strict=True)
        ]

    def knows(self, word: str) -> bool:
        return len(self._encoder.encode(word, add_special_tokens=False).ids) == 1

    def _windows(self, text: str) -> Iterator[tuple[str, int]]:
        """The text itself if it fits, or parts of whole words of nearly equal length; each with its number of
        tokens."""
        if not text:
            yield "", 0
        for _, part in slices(text):
            encoding = self._encoder.encode(part, add_special_tokens=False)
            tokens = len(encoding.ids)
            if tokens <= self._room:
                yield part, tokens
                continue
            words, offsets = encoding.word_ids, encoding.offsets
            count = -(-tokens // self._room)
            step = -(-tokens // count)
            start = 0
            while start < tokens:
                end = min(start + step, tokens)
                while start < end < tokens and words[end] is not None and words[end] == words[end - 1]:
                    end -= 1
                if end == start:  # one word longer than a window
                    end = min(start + step, tokens)
                yield part[offsets[start][0] : offsets[end][0] if end < tokens else len(part)], end - start
                start = end

    def _tokens(self, part: str, states: Vectors) -> Tokens:
        import numpy as np

        encoding = self._encoder.encode(part)
        # without special tokens
        own = [at for at, special in enumerate(encoding.special_tokens_mask) if not special]
        norms = np.linalg.norm(states[own], axis=1, keepdims=True)
        rows: Vectors = np.asarray(states[own] / np.where(norms > 0, norms, 1), np.float32)
        return Tokens(part, [encoding.offsets[at] for at in own], rows)

    def _forward(
        self,
        model: SentenceTransformer | BertEncoder,
        parts: list[str],
        lengths: list[int],
        states: dict[int, Vectors] | None,
    ) -> Vectors:
        """One row per part. Parts of similar length are computed together, so that there is little padding.

        Adds the vectors of each part's tokens, including special ones, to the dict `states`, if there is one.
        """
        import numpy as np
        import torch

        order = sorted(range(len(parts)), key=lambda index: -lengths[index])
        most = BATCH_TOKENS if model.device.type == "cpu" else BATCH_TOKENS_ELSEWHERE
        rows: list[torch.Tensor] = []
        with torch.inference_mode():
            for batch in _batches(order, lengths, most):
                with self._tokenizing:
                    features = model.preprocess([parts[index] for index in batch])
                features = {
                    key: value.to(model.device) if hasattr(value, "to") else value
                    for key, value in features.items()
                }
                output = model(features)
                embedded: torch.Tensor = output["sentence_embedding"]
                if states is not None:
                    states.update(zip(batch, output["token_embeddings"].float().cpu().numpy(), strict=True))
                rows.append(torch.nn.functional.normalize(embedded, dim=1).float().cpu())
            sorted_rows = torch.cat(rows).numpy()
        result = np.empty_like(sorted_rows)
        result[order] = sorted_rows
        return result


def _without_start(tokens: Tokens, start: int) -> Tokens:
    """The tokens without the first `start` characters of the text."""
    if not start:
        return tokens
    own = [at for at, (_, end) in enumerate(tokens.places) if end > start]
    places = [(first - start, end - start) for first, end in (tokens.places[at] for at in own)]
    return Tokens(tokens.text[start:], places, tokens.rows[own])


def _batches(order: list[int], lengths: list[int], most: int) -> Iterator[list[int]]:
    """Split `order`, longest first, so that no batch has more than `most` tokens with padding."""
    start = 0
    while start < len(order):
        size = max(1, most // (lengths[order[start]] + 2))
        yield order[start : start + size]
        start += size


@lru_cache(maxsize=4)
def _load(
    model_name: str, max_length: int | None, device: str | None, cache_folder: str | None
) -> _LoadedModel:
    from ragcore.embeddings.torch_device import Placed, use_onednn

    def load(device: str) -> SentenceTransformer | BertEncoder:
        bundled = model_name in BUNDLED
        model = (
            _load_bundled(model_name, device)
            if bundled
            else _from_disk_or_hub(model_name, device, cache_folder)
        )
        use_onednn(model)
        if max_length is not None and max_length < (model.max_seq_length or WINDOW):
            model.max_seq_length = max_length
        return model.eval()

    return _LoadedModel(Placed(load, device))


def _load_bundled(model_name: str, device: str) -> BertEncoder:
    from ragcore.embeddings.bert import BertEncoder

    if model_name == multilingual_e5.NAME:
        return _e5(multilingual_e5.model_folder(), device)
    folder = bundled_model.model_folder()
    bundled_model.check(folder / "model.safetensors")
    return BertEncoder(folder, device)


def _e5(folder: Path, device: str) -> BertEncoder:
    import torch

    from ragcore.embeddings.bert import BertEncoder
    from ragcore.embeddings.torch_device import bfloat16_is_faster

    # bfloat16 vectors have a cosine of 0.9999 to those of float32; with its instructions it takes a third of
    # the time.
    dtype = torch.bfloat16 if device == "cpu" and bfloat16_is_faster() else torch.float32
    return BertEncoder(folder, device, dtype)


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppresses the progress bars and load reports of the model's library."""
    from transformers.utils import logging as library

    bars, level = library.is_progress_bar_enabled(), library.get_verbosity()
    library.disable_progress_bar()  # type: ignore[no-untyped-call]
    library.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library.set_verbosity(level)
        if bars:
            library.enable_progress_bar()  # type: ignore[no-untyped-call]


def _open(
    model_name: str, device: str, cache_folder: str | None, *, download: bool
) -> SentenceTransformer | BertEncoder:
    if model_name == multilingual_e5.ORIGINAL:
        return _e5(multilingual_e5.original_folder(cache_folder, download=download), device)
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(
        model_name, device=device, cache_folder=cache_folder, local_files_only=not download
    )


@_quietly()
def _from_disk_or_hub(
    model_name: str, device: str, cache_folder: str | None
) -> SentenceTransformer | BertEncoder:
    """Load the model from this disk, without any request if it is there, or download it if that is
    allowed."""
    import httpx

    try:
        return _open(model_name, device, cache_folder, download=False)
    except (OSError, ValueError) as error:
        if Path(model_name).exists():
            raise EmbeddingError(
                f"The embedding model in {model_name} cannot be loaded: {error}",
                hint="Choose a folder that sentence-transformers saved, or use the built-in model.",
            ) from error
    try:
        _reach_server()
        return _open(model_name, device, cache_folder, download=True)
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        hint = (
            "Check its name and the network, give the folder of a model you have, or use the built-in model."
        )
        if model_name == multilingual_e5.ORIGINAL and multilingual_e5.is_installed():
            hint = (
                "Check the network, or use the same model in 4 bits, which is built in: "
                "multilingual-e5-small."
            )
        raise EmbeddingError(
            f"The embedding model {model_name!r} is not on this computer and could not be downloaded.",
            hint=hint,
        ) from error


def _reach_server() -> None:
    """Fail at once: the library would retry every file of the model for over a minute."""
    import httpx
    from huggingface_hub import constants

    if constants.is_offline_mode():
        raise OSError("HF_HUB_OFFLINE is set")
    httpx.head(constants.ENDPOINT, timeout=5.0)


def _usual_instructions(model_name: str) -> tuple[str, str]:
    """The instructions for questions and for passages in the model's card."""
    name = model_name.rsplit("/", 1)[-1].lower()
    if name.startswith("bge-") and "-zh" in name:
        return "为这个句子生成表示以用于检索相关文章：", ""
    if name.startswith("bge-") and "-en" in name:
        return "Represent this sentence for searching relevant passages: ", ""
    if "e5-" in name and "instruct" not in name:
        return "query: ", "passage: "
    return "", ""


_loading = threading.RLock()
