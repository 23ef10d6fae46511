"""Transformations that add a model's answers about passages to their metadata: title, keywords, questions,
summary.

The new passages have the order and the ids of the old ones, which do not change. There is no call for a
passage without text. If a call fails, its error is raised and no passages are returned.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any, ClassVar, Literal, TypeAlias

from ragcore.concurrency import awaitable, in_order, run_coroutine
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import span
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Passage, Prompt, Variable
from ragcore.prompts.templates import replace_prompt
from ragcore.prompts.wording import KEYWORD_EXTRACT, QUESTIONS, SUMMARY, TITLE_OF_DOCUMENT, TITLE_OF_PASSAGE
from ragcore.schema import Document, Fields, MetadataMode, TextNode
from ragcore.settings import services
from ragcore.text.keyword_replies import keywords_in

Item: TypeAlias = Document | TextNode
Entries: TypeAlias = Mapping[str, str]
"""New metadata: key and value."""

SummaryKind: TypeAlias = Literal["self", "prev", "next"]

logger = logging.getLogger(__name__)


class BaseExtractor(Fields, PromptMixin, ABC):
    """Subclasses define `extract`, or the coroutine `aextract`. Their annotated names are arguments of the
    constructor.

    `num_workers` calls may run in parallel. `metadata_mode` selects the metadata of a passage that a model
    reads: by default LLM, and NONE for the extractive model, which would quote metadata. `show_progress` logs
    each batch.

    >>> class Length(BaseExtractor):
    ...     def extract(self, nodes):
    ...         return [{"length": str(len(node.text))} for node in nodes]
    >>> Length()([TextNode("A boat is red.")])[0].metadata
    {'length': '14'}
    """

    works_on: ClassVar[Literal["node", "document"]] = "document"  # whose passages the result depends on
    counts: ClassVar[tuple[str, ...]] = ()  # the fields that are at least 1
    num_workers: int = 4
    metadata_mode: MetadataMode | None = None
    show_progress: bool = False
    in_place: bool = False  # edits the nodes instead of copying them

    def __init_subclass__(cls) -> None:
        if "aextract" in cls.__dict__ and "extract" not in cls.__dict__:
            cls.extract = _run_aextract  # type: ignore[method-assign]

    def __init__(self, llm: LLM | None = None, **values: Any) -> None:
        super().__init__(**values)
        for name in ("num_workers", *self.counts):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1.")
        self.llm = services(llm).llm
        for name in self.prompt_attributes:
            setattr(self, name, replace_prompt(getattr(type(self), name), getattr(self, name), self.llm))

    @abstractmethod
    def extract(self, nodes: Sequence[Item]) -> list[Entries]:
        """The new metadata of each node, in their order. LLMErrors."""

    def __call__(self, nodes: Sequence[Item]) -> list[Item]:
        with span("extract", extractor=type(self).__name__, passages=len(nodes)):
            entries = self.extract(nodes)
        logger.log(
            logging.INFO if self.show_progress else logging.DEBUG, "%s: %d", type(self).__name__, len(nodes)
        )
        results = list(nodes) if self.in_place else [replace(node) for node in nodes]
        for node, new in zip(results, entries, strict=True):
            node.metadata = {**node.metadata, **new}
        return results

    def sees(self, node: Item) -> str:
        """The text of a passage that a model reads; "" for a passage without text."""
        if not node.text.strip():
            return ""
        usual = MetadataMode.NONE if isinstance(self.llm, ExtractiveLLM) else MetadataMode.LLM
        return node.get_content(self.metadata_mode or usual)

    def _ask(self, prompt: Prompt, variables: Sequence[Mapping[str, Variable]]) -> list[str]:
        """The stripped replies to parallel calls, one for each of `variables`."""
        calls = [LLMCall(prompt, values) for values in variables]
        return in_order(lambda call: self.llm.generate(call).text.strip(), calls, workers=self.num_workers)

    def _ask_each(self, prompt: Prompt, nodes: Sequence[Item], more: Mapping[str, Variable]) -> list[str]:
        """A reply for each node; "" for a node without text."""
        texts = [self.sees(node) for node in nodes]
        replies = iter(self._ask(prompt, [{**_content(prompt, text), **more} for text in texts if text]))
        return [next(replies) if text else "" for text in texts]

    acall = awaitable(__call__)
    aextract = awaitable(extract)


class TitleExtractor(BaseExtractor):
    """`document_title`: one title per document, from the titles of its first `nodes` passages.

    Passages without a document count as one. Calls: one per passage of these, and one more per document.

    >>> from ragcore.llms import ScriptedLLM
    >>> extractor = TitleExtractor(
    ...     ScriptedLLM(["Notes of Ada", "Letters"]), combine_template="One title for {context_str}:"
    ... )
    >>> extractor([TextNode("Ada wrote notes.")])[0].metadata
    {'document_title': 'Letters'}
    """

    prompt_attributes: ClassVar = {"node_template": "node_template", "combine_template": "combine_template"}
    counts = ("nodes",)
    nodes: int = 5
    node_template: Any = TITLE_OF_PASSAGE
    combine_template: Any = TITLE_OF_DOCUMENT

    def extract(self, nodes: Sequence[Item]) -> list[Entries]:
        documents: dict[str | None, list[Item]] = {}
        for node in nodes:
            documents.setdefault(_document(node), []).append(node)
        first = {
            id_: list(islice((n for n in members if n.text.strip()), self.nodes))
            for id_, members in documents.items()
        }
        candidates = iter(
            self._ask_each(self.node_template, [node for members in first.values() for node in members], {})
        )
        of_parts = {
            id_: [Passage(next(candidates)) for _ in members] for id_, members in first.items() if members
        }
        whole = self._ask(
            self.combine_template, [{"context_str": tuple(titles)} for titles in of_parts.values()]
        )
        titles = dict(zip(of_parts, whole, strict=True))
        return [_entries(document_title=titles.get(_document(node), "")) for node in nodes]


class KeywordExtractor(BaseExtractor):
    """`excerpt_keywords`: at most `keywords` keywords of each passage, "a, b, c".

    >>> from ragcore.llms import ScriptedLLM
    >>> extractor = KeywordExtractor(ScriptedLLM(["KEYWORDS: boat, red"]), keywords=2)
    >>> extractor([TextNode("A boat is red.")])[0].metadata
    {'excerpt_keywords': 'boat, red'}
    """

    works_on = "node"
    prompt_attributes: ClassVar = {"prompt_template": "prompt_template"}
    counts = ("keywords",)
    keywords: int = 5
    prompt_template: Any = KEYWORD_EXTRACT

    def extract(self, nodes: Sequence[Item]) -> list[Entries]:
        most = str(self.keywords)
        replies = self._ask_each(self.prompt_template, nodes, {"max_keywords": most, "keywords": most})
        return [
            _entries(excerpt_keywords=", ".join(keywords_in(reply)[: self.keywords])) for reply in replies
        ]


class QuestionsAnsweredExtractor(BaseExtractor):
    """`questions_this_excerpt_can_answer`: `questions` questions that each passage answers, one per line.

    >>> from ragcore.llms import ScriptedLLM
    >>> extractor = QuestionsAnsweredExtractor(ScriptedLLM(["What is red?"]), questions=1)
    >>> extractor([TextNode("A boat is red.")])[0].metadata
    {'questions_this_excerpt_can_answer': 'What is red?'}
    """

    works_on = "node"
    prompt_attributes: ClassVar = {"prompt_template": "prompt_template"}
    counts = ("questions",)
    questions: int = 3
    prompt_template: Any = QUESTIONS

    def extract(self, nodes: Sequence[Item]) -> list[Entries]:
        replies = self._ask_each(self.prompt_template, nodes, {"num_questions": str(self.questions)})
        return [_entries(questions_this_excerpt_can_answer=reply) for reply in replies]


class SummaryExtractor(BaseExtractor):
    """`section_summary`, `prev_section_summary`, `next_section_summary`: summaries of each passage and its
    neighbours.

    `summaries` selects among them. Only passages of the same document are neighbours. One call per passage.

    >>> from ragcore.llms import ScriptedLLM
    >>> extractor = SummaryExtractor(ScriptedLLM(["About a boat."]), summaries=["self"])
    >>> extractor([TextNode("A boat is red.")])[0].metadata
    {'section_summary': 'About a boat.'}
    """

    prompt_attributes: ClassVar = {"prompt_template": "prompt_template"}
    prompt_template: Any = SUMMARY

    def __init__(
        self, llm: LLM | None = None, summaries: Sequence[SummaryKind] = ("self",), **values: Any
    ) -> None:
        super().__init__(llm, **values)
        if wrong := set(summaries) - {"self", "prev", "next"}:
            raise ValueError(f"summaries are of 'self', 'prev' and 'next'; not of {sorted(wrong)}.")
        self.summaries = tuple(summaries)

    def extract(self, nodes: Sequence[Item]) -> list[Entries]:
        texts = self._ask_each(self.prompt_template, nodes, {"query_str": "Summarize this."})
        entries: list[Entries] = []
        for _, run in groupby(zip(nodes, texts, strict=True), key=lambda pair: _document(pair[0])):
            texts_of_run = ["", *(text for _, text in run), ""]
            for before, own, after in zip(texts_of_run, texts_of_run[1:], texts_of_run[2:], strict=False):
                all_three = {"self": own, "prev": before, "next": after}
                entries.append(_entries(**{_SUMMARY_KEYS[kind]: all_three[kind] for kind in self.summaries}))
        return entries


def _run_aextract(self: Any, nodes: Sequence[Item]) -> list[Entries]:
    entries: list[Entries] = run_coroutine(self.aextract(nodes))
    return entries


_SUMMARY_KEYS = {"self": "section_summary", "prev": "prev_section_summary", "next": "next_section_summary"}


def _document(node: Item) -> str | None:
    return node.id_ if isinstance(node, Document) else node.ref_doc_id


def _content(prompt: Prompt, text: str) -> dict[str, Variable]:
    return {"context_str": (Passage(text),)} if "context_str" in prompt.variables else {"text": text}


def _entries(**values: str) -> Entries:
    """The values that are not empty."""
    return {key: value for key, value in values.items() if value}
