"""How much text fits into one call beside a prompt, for scripts that cut their own texts to it.

Engines need none of this: they pack from the messages as they are sent (`ragcore.response_synthesizers.packer`).
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
PER_MESSAGE = 3  # tokens of the marks around one


@dataclass(frozen=True, slots=True)
class PromptHelper:
    """Sizes in tokens. Of the window, `num_output` stay free for the answer; the prompt with nothing in it takes its part.

    It does not change; `dataclasses.replace` gives a changed one. `chunk_overlap_ratio` (0 to 1) is of the size of a chunk,
    and `chunk_size_limit` the most that one may have.
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
        self, prompt: Prompt | SelectorPromptTemplate, num_chunks: int = 1, padding: int = PADDING, llm: LLM | None = None
    ) -> TokenTextSplitter:
        """Whose chunks fit, `num_chunks` of them with `padding` each, beside the prompt. ValueError where nothing does."""
        chosen = prompt.select(llm) if isinstance(prompt, SelectorPromptTemplate) else prompt
        room = self.context_window - self._tokens_of(chosen) - self.num_output
        if room < 0:
            raise ValueError(f"the prompt and {self.num_output} tokens for the answer are {-room} more than the window has")
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
        """The beginning of each, so that all of them fit into one call. ValueError where nothing fits."""
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
        """The texts, a blank line between them, in as few chunks as fit into a call each. [""] for no text. ValueError where
        nothing fits."""
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
    """The one with the longest text when nothing is in it. ValueError for no prompts."""
    return max(prompts, key=lambda prompt: len(_empty(prompt)))


def _empty(prompt: Prompt) -> str:
    nothing = dict.fromkeys(prompt.variables, "")
    if isinstance(prompt, PromptTemplate):
        return prompt.format(**nothing)
    return "\n".join(message.content for message in prompt.render(nothing))
