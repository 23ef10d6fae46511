"""Computes how much text fits into one call together with a prompt, for scripts that cut their own texts.

Engines do not use it: `ragcore.response_synthesizers.packer` packs by the messages that are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragcore.node_parser.token import TokenTextSplitter
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.templates import PromptTemplate, SelectorPromptTemplate
from ragcore.text.tokens import Tokenizer, as_tokenizer, default_tokenizer

if TYPE_CHECKING:
    from ragcore.llms.base import LLM, LLMMetadata

WINDOW = 3900
OUTPUT = 256
PADDING = 5
PER_MESSAGE = 3  # tokens of the marks around a message


@dataclass(frozen=True, slots=True)
class PromptHelper:
    """Sizes are in tokens. Chunks share the window with the empty prompt and with `num_output`, which the
    answer needs.

    `chunk_overlap_ratio` (0 to 1) is relative to the size of a chunk; `chunk_size_limit` is the maximum size.
    The object is immutable; `dataclasses.replace` returns a changed copy.

    >>> helper = PromptHelper(context_window=60, num_output=20, chunk_overlap_ratio=0.0, tokenizer=str.split)
    >>> helper.repack(PromptTemplate("Sum up: {context_str}"), ["First text.", "Second text."])
    ['First text.\\n\\nSecond text.']
    """

    context_window: int = WINDOW
    num_output: int = OUTPUT
    chunk_overlap_ratio: float = 0.1
    chunk_size_limit: int | None = None
    tokenizer: Tokenizer | Callable[[str], Sized] | None = None
    separator: str = " "

    def __post_init__(self) -> None:
        if not 0 <= self.chunk_overlap_ratio <= 1:
            raise ValueError(f"chunk_overlap_ratio is {self.chunk_overlap_ratio}; it goes from 0 to 1")

    @classmethod
    def from_llm_metadata(
        cls,
        llm_metadata: LLMMetadata,
        chunk_overlap_ratio: float = 0.1,
        chunk_size_limit: int | None = None,
        tokenizer: Tokenizer | Callable[[str], Sized] | None = None,
        separator: str = " ",
    ) -> PromptHelper:
        window, output = llm_metadata.context_window, llm_metadata.num_output
        return cls(window, output, chunk_overlap_ratio, chunk_size_limit, tokenizer, separator)

    def get_text_splitter_given_prompt(
        self,
        prompt: Prompt | SelectorPromptTemplate,
        num_chunks: int = 1,
        padding: int = PADDING,
        llm: LLM | None = None,
    ) -> TokenTextSplitter:
        """A splitter: `num_chunks` of its chunks, with `padding` tokens each, fit with the prompt. ValueError
        if none fits."""
        chosen = prompt.select(llm) if isinstance(prompt, SelectorPromptTemplate) else prompt
        room = self.context_window - self._tokens_of(chosen) - self.num_output
        if room < 0:
            raise ValueError(
                f"the prompt and {self.num_output} tokens for the answer are {-room} more than the window has"
            )
        size = room // num_chunks - padding
        if self.chunk_size_limit is not None:
            size = min(size, self.chunk_size_limit)
        if size <= 0:
            raise ValueError(f"the prompt leaves {size} tokens for each of {num_chunks} chunks")
        overlap = int(self.chunk_overlap_ratio * size)
        return TokenTextSplitter(size, overlap, separator=self.separator, tokenizer=self._tokenizer)

    def truncate(
        self,
        prompt: Prompt | SelectorPromptTemplate,
        text_chunks: Sequence[str],
        padding: int = PADDING,
        llm: LLM | None = None,
    ) -> list[str]:
        """The beginnings of the texts, so that all fit into one call. ValueError if nothing fits."""
        if not text_chunks:
            return []
        splitter = self.get_text_splitter_given_prompt(prompt, len(text_chunks), padding, llm)
        return [next(iter(splitter.split_text(chunk)), "") for chunk in text_chunks]

    def repack(
        self,
        prompt: Prompt | SelectorPromptTemplate,
        text_chunks: Sequence[str],
        padding: int = PADDING,
        llm: LLM | None = None,
    ) -> list[str]:
        """Joins the texts by blank lines and splits them into as few chunks as possible that fit one call
        each. [""] for no text. ValueError if nothing fits."""
        splitter = self.get_text_splitter_given_prompt(prompt, 1, padding, llm)
        return splitter.split_text("\n\n".join(chunk.strip() for chunk in text_chunks if chunk.strip()))

    @property
    def _tokenizer(self) -> Tokenizer:
        return default_tokenizer() if self.tokenizer is None else as_tokenizer(self.tokenizer)

    def _tokens_of(self, prompt: Prompt) -> int:
        count = self._tokenizer.count
        if type(prompt) is PromptTemplate:
            return count(_empty(prompt))
        messages = prompt.render(dict.fromkeys(prompt.variables, ""))
        return sum(count(message.role.value) + count(message.content) + PER_MESSAGE for message in messages)


def get_biggest_prompt(prompts: Sequence[Prompt]) -> Prompt:
    """The prompt with the longest text without values. ValueError for no prompts.

    >>> from ragcore.prompts import PromptTemplate
    >>> get_biggest_prompt([PromptTemplate("{a}"), PromptTemplate("Who wrote {a}?")]).get_template()
    'Who wrote {a}?'
    """
    return max(prompts, key=lambda prompt: len(_empty(prompt)))


def _empty(prompt: Prompt) -> str:
    nothing = dict.fromkeys(prompt.variables, "")
    if isinstance(prompt, PromptTemplate):
        return prompt.format(**nothing)
    return "\n".join(message.content for message in prompt.render(nothing))
