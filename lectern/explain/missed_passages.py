"""Why an answer lacks something: the best passage that it was not made from, where that stands, and the setting that kept it
out, with the same question asked in such a way that it comes in.

The question is looked up once more in the whole library; what a person says they expected is looked up as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from lectern.explain.source_view import locate_sentence
from lectern.jobs.files import FileRow, Stage
from lectern.library import Library
from lectern.schema import Ask, Message, Source, build_sources
from ragcore.extractive.answerer import THRESHOLD
from ragcore.extractive.sentence_support import SUPPORTED, WEAK, SentenceCheck
from ragcore.observe import Span
from ragcore.questions.topic import about, apart_from_name
from ragcore.retrievers.hybrid import HybridRetriever, usual_feedback
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.text.key_phrases import keywords
from ragcore.text.keywords import content_words, words
from ragcore.text.language import language_of
from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.sentences import sentences
from ragcore.vector_stores.base import Scope

if TYPE_CHECKING:
    from ragcore.schema import Vector

MOST_PASSAGES = 100  # that an answer can be made from; how far down ranks are known
TRIED = 4  # of the best missed passages, whether they answer the question
NEAR = 10  # of the best passages, which comes nearest to answering
EXPECTED = 16  # passages that are held against what was expected
ALL_WORDS = 0.8  # share of the expected words that a passage must have, of few all
FEW_WORDS = 4
TELLING = 3  # different words; fewer, scattered over a passage, say nothing
EASED = 2.0  # log odds below what it takes to answer at which a passage that beats all that were looked at still counts
LIKE = (SUPPORTED + WEAK) / 2  # log odds of saying the same in other words
LOOKED_THROUGH = 40  # documents, for pages without text and for their languages


class Cause(str, Enum):
    NOT_LOOKED = "not_looked"  # this way of answering does not look into the documents
    USED = "used"  # it was among the passages
    FILTERED = "filtered"  # other documents were chosen
    CUT_OFF = "cut_off"  # it scores less than the least score
    WEAKER = "weaker"  # it scores far less than the best passage
    REORDERED = "reordered"  # a later step put others before it
    SUMMARY = "summary"  # central passages were taken, for a summary
    CONDENSED = "condensed"  # the follow-up was made into another question
    SPLIT = "split"  # what was expected begins in one passage and ends in the next
    ADDED_SINCE = "added_since"  # it is found now
    LANGUAGE = "language"  # it is written in another language than the question
    TOP_K = "top_k"  # it stands below those that were looked at
    FAR = "far"  # it is not even among the hundred best
    NO_TEXT = "no_text"  # a scan, or a page that is a picture
    READING = "reading"  # a file is not read yet
    STOPPED = "stopped"  # a file was stopped
    FAILED = "failed"  # a file could not be read
    ABSENT = "absent"  # no document says it


@dataclass(frozen=True, slots=True)
class Missed:
    """`searched`: the question as it was looked up, nothing misspelt. `source`: the best missed passage, or the nearest one
    where none seems to say it; and `rank`, 1 for the best, where it stands among all that were to be looked through (the
    whole library where others were chosen); None below the hundredth. Its page is that of the sentence nearest to what was
    looked for.

    `ask`: the question with the very setting changed; None where another place must be visited first. `file`: the one that is
    to blame; `page`: the label of its page without text. `languages`: of the question and of the passage, as ISO 639-1 codes.
    """

    cause: Cause
    searched: str
    looked_at: int = 0
    source: Source | None = None
    rank: int | None = None
    ask: Ask | None = None
    file: FileRow | None = None
    page: str = ""
    languages: tuple[str, str] = ("", "")


def why_missed(library: Library, message: Message, expected: str = "", check: SentenceCheck | None = None) -> Missed:
    """Why this answer lacks `expected`, or, without that, the passage that would have been next.

    `check` is the sentence check of the library's embedder, kept by who asks often. ValueError for a message without an ask.
    """
    if message.ask is None:
        raise ValueError("only an answer can lack something")
    missed = _Search(library, message, message.ask, check or SentenceCheck(library.embedder)).why(expected.strip())
    if missed.source is None or not (said := sentences(missed.source.text)):
        return missed
    wanted = locate_sentence(library.store, missed.source, said[nearest(said, f"{missed.searched} {expected}")])
    return replace(missed, source=replace(missed.source, page_label=wanted.page_label))


def nearest(said: Sequence[str], wanted: str) -> int:
    """Which of these sentences has most of the wanted words; the first of several, and of none."""
    meant = set(content_words(wanted))
    return max(range(len(said)), key=lambda at: len(meant & set(content_words(said[at]))), default=0)


class _Search:
    """One answer looked up again."""

    def __init__(self, library: Library, message: Message, ask: Ask, check: SentenceCheck) -> None:
        self.library, self.message, self.ask, self.check = library, message, ask, check
        self.trace = library.conversations.trace(message.id)
        asked = self._asked()
        self.condensed = asked != ask.question
        self.searched = (message.facts and message.facts.meant) or asked
        self.used = {source.node_id for source in message.sources}
        self._vectors: dict[str, Vector] = {}

    def why(self, expected: str) -> Missed:
        if self.ask.chat_mode == "simple":
            return self._missed(Cause.NOT_LOOKED, ask=replace(self.ask, chat_mode="condense_plus_context"))
        if self.ask.response_mode == "generation":
            return self._missed(Cause.NOT_LOOKED, ask=replace(self.ask, response_mode="compact"))
        everywhere = self.ranked(self.searched)
        if not expected:
            return self._without_hint(everywhere)
        held = self._quoting(expected)
        if not held and (halves := self._split(expected)):
            return self._of_halves(halves, everywhere)
        held = held or self._saying(expected)
        if used := [node for node in held if node.id_ in self.used]:
            return self._found(used[0], Cause.USED)
        if held:
            places = {hit.node.id_: place for place, hit in enumerate(everywhere)}
            return self._of(min(held, key=lambda node: places.get(node.id_, MOST_PASSAGES)), everywhere, expected)
        return self._nowhere(f"{self.searched} {expected}", everywhere, expected)

    def ranked(
        self,
        question: str,
        file_ids: Sequence[str] | None = None,
        count: int = MOST_PASSAGES,
        *,
        weaker: bool = True,
    ) -> list[NodeWithScore]:
        """The best passages as the answer's own search finds them, before any later step. `weaker`: with those that are far
        weaker than the best."""
        library, how = self.library, self.ask.retrieval
        if question not in self._vectors:
            self._vectors[question] = library.embedder.embed_query(question)
        scope = Scope(None if file_ids is None else tuple(file_ids))
        retriever = HybridRetriever(
            library.store,
            library.embedder,
            count,
            scope,
            cosine_share=how.dense_share,
            feedback=usual_feedback(how.dense_share),
            weaker=weaker,
        )
        return retriever.retrieve(QueryBundle(question, embedding=self._vectors[question]))

    # Which passage.

    def _without_hint(self, everywhere: Sequence[NodeWithScore]) -> Missed:
        """The missed passage that answers best, if one does."""
        missed = [(hit.node, self.searched) for hit in everywhere if hit.node.id_ not in self.used][:TRIED]
        if self.condensed:
            exact = self.ranked(self.ask.question)
            missed += [(hit.node, self.ask.question) for hit in exact if hit.node.id_ not in self.used][:TRIED]
        used = self.library.store.nodes([source.node_id for source in self.message.sources[:TRIED]])
        sure = [self._answers(question, node) for node, question in missed]
        sure_used = [self._answers(self.searched, node) for node in used]
        best, best_used = max(sure, default=-np.inf), max(sure_used, default=-np.inf)
        # The very best was not looked at: whether it answers or not, something has kept it out.
        first_is_missed = bool(everywhere) and everywhere[0].node.id_ not in self.used
        if missed and (first_is_missed or best >= 0 or best >= max(best_used, -EASED)):
            return self._of(missed[sure.index(best)][0], everywhere)
        if best_used >= 0:
            return self._found(used[sure_used.index(best_used)], Cause.USED)
        return self._nowhere(self.searched, everywhere)

    def _answers(self, question: str, node: TextNode) -> float:
        """How far above what it takes to be quoted as an answer, its document's own name left out where that helps."""
        quotes, question = quotes_in(node.text, number=1), about(question)
        rest = apart_from_name(question, str(node.metadata.get("file_name", "")), node.text)
        return max(self.check.evidence.answering(each, quotes).margin(THRESHOLD) for each in (question, rest) if each)

    def _nearest(self, nodes: Sequence[TextNode]) -> TextNode | None:
        """The one with the sentence that is the likeliest of all to be the answer."""
        quotes = [quote for at, node in enumerate(nodes) for quote in quotes_in(node.text, number=1, passage=at)]
        odds = self.check.evidence.odds(self.searched, quotes)
        return nodes[quotes[int(odds.argmax())].passage] if quotes else None

    def _quoting(self, expected: str) -> list[TextNode]:
        """The passages that have its words one after another."""
        return [hit.node for hit in self.ranked(expected, count=EXPECTED) if _quotes(hit.node.text, expected)]

    def _saying(self, expected: str) -> list[TextNode]:
        """The passages that have its words in any order; where none has, the one that says it in other words."""
        if len(set(content_words(expected))) < TELLING:
            return []
        hits = [hit.node for hit in self.ranked(expected, count=EXPECTED)]
        if held := [node for node in hits if _says(node.text, expected)]:
            return held
        odds = self.check.odds(expected, [node.text for node in hits])
        return [hits[int(odds.argmax())]] if odds.max(initial=-np.inf) >= LIKE else []

    def _split(self, expected: str) -> list[TextNode]:
        """Two passages in a row that say it together."""
        for hit in self.ranked(expected, count=EXPECTED)[:TRIED]:
            for id_ in (hit.node.next_id, hit.node.prev_id):
                for other in self.library.store.nodes([id_]) if id_ else ():
                    pair = sorted((hit.node, other), key=lambda node: node.start_char_idx or 0)
                    if _quotes(" ".join(node.text for node in pair), expected):
                        return pair
        return []

    # Why it was not among them.

    def _of(self, node: TextNode, everywhere: Sequence[NodeWithScore], expected: str = "") -> Missed:
        ask, how = self.ask, self.ask.retrieval
        if ask.file_ids is not None and node.ref_doc_id not in ask.file_ids:
            return self._brought_in(node, Cause.FILTERED, replace(ask, file_ids=None), everywhere)
        within = everywhere if ask.file_ids is None else self.ranked(self.searched, ask.file_ids)
        rank, score = _place(node, within)
        if how.cutoff is not None and score < how.cutoff and (rank or MOST_PASSAGES) <= self._reach():
            return self._missed(Cause.CUT_OFF, node, rank, ask=replace(ask, retrieval=replace(how, cutoff=None)))
        if rank is not None and rank <= self._reach() and (how.reranker or how.diverse):
            changed = replace(how, reranker="", diverse=False)
            return self._brought_in(node, Cause.REORDERED, replace(ask, retrieval=changed), within)
        if self._took_central():
            return self._brought_in(node, Cause.SUMMARY, replace(ask, question=_with_words(ask, expected, node)), within)
        let_in = self._letting_in(node, ask, self.searched)
        if rank is not None and rank <= ask.top_k and let_in == ask:
            return self._missed(Cause.ADDED_SINCE, node, rank, ask=ask)
        if self.condensed and ask.chat_mode is not None:
            exact, _ = _place(node, self.ranked(ask.question, ask.file_ids))
            if exact is not None and exact <= ask.top_k:
                exactly = self._letting_in(node, replace(ask, chat_mode="context"), ask.question)
                return self._missed(Cause.CONDENSED, node, rank, ask=exactly)
        spoken = (language_of(ask.question), language_of(node.text))
        if all(spoken) and spoken[0] != spoken[1]:
            asked = replace(ask, question=_with_words(ask, expected, node))
            return replace(self._brought_in(node, Cause.LANGUAGE, asked, within), languages=spoken)
        if rank is not None and rank <= ask.top_k:
            return self._missed(Cause.WEAKER, node, rank, ask=let_in)
        if rank is not None:
            return self._brought_in(node, Cause.TOP_K, ask, within)
        return self._brought_in(node, Cause.FAR, replace(ask, question=_with_words(ask, expected, node)), within)

    def _of_halves(self, halves: Sequence[TextNode], everywhere: Sequence[NodeWithScore]) -> Missed:
        if all(node.id_ in self.used for node in halves):
            return self._found(halves[0], Cause.USED)
        missing = next(node for node in halves if node.id_ not in self.used)
        if self.ask.file_ids is not None and missing.ref_doc_id not in self.ask.file_ids:
            return self._of(missing, everywhere)
        within = everywhere if self.ask.file_ids is None else self.ranked(self.searched, self.ask.file_ids)
        ranks = [_place(node, within)[0] for node in halves]
        if None in ranks:
            return self._missed(Cause.SPLIT, missing, _place(missing, within)[0])
        lower = max(halves, key=lambda node: _place(node, within)[0] or 0)
        both = self._brought_in(lower, Cause.SPLIT, self.ask, within)
        return replace(both, source=self._source(missing), rank=_place(missing, within)[0])

    def _nowhere(self, said: str, everywhere: Sequence[NodeWithScore], expected: str = "") -> Missed:
        """No passage seems to say it: a file that was not read may, or documents in another language."""
        node = self._nearest([hit.node for hit in everywhere[:NEAR]])
        rank = _place(node, everywhere)[0] if node else None
        unread = [file for file in self.library.files.all() if _may_hold_more(file)]
        meant = set(content_words(said))
        shared = [len(meant & set(content_words(file.name))) for file in unread]
        if any(shared):
            return self._not_read(unread[shared.index(max(shared))], node, rank)
        if bare := self._page_without_text():
            return self._missed(Cause.NO_TEXT, node, rank, file=bare[0], page=bare[1])
        asked = language_of(expected or self.ask.question)
        others = [language for each in everywhere[: self.ask.top_k] if (language := language_of(each.node.text))]
        missed = next((hit.node for hit in everywhere if hit.node.id_ not in self.used), None)
        if missed is not None and asked and others and all(language != asked for language in others):
            found = self._missed(Cause.LANGUAGE, missed, _place(missed, everywhere)[0])
            return replace(found, languages=(asked, others[0]))
        return self._not_read(unread[0], node, rank) if unread else self._missed(Cause.ABSENT, node, rank)

    def _not_read(self, file: FileRow, node: TextNode | None, rank: int | None) -> Missed:
        cause = _cause_of(file)
        return self._missed(cause, node, rank, file=file, ask=self.ask if cause is Cause.READING else None)

    def _page_without_text(self) -> tuple[FileRow, str] | None:
        wanted = self.ask.file_ids
        ready = [file for file in self.library.files.all() if file.ready and file.kind == "PDF" and file.pages > 1]
        for file in [file for file in ready if wanted is None or file.id in wanted][:LOOKED_THROUGH]:
            document = self.library.store.document(file.id)
            for page in document.pages:
                if not document.text[page.start : page.end].strip():
                    return file, page.label
        return None

    # What would bring it in.

    def _brought_in(self, node: TextNode, cause: Cause, ask: Ask, within: Sequence[NodeWithScore]) -> Missed:
        """With as many passages as it takes for it to be among them; without an ask where no number does."""
        rank, _ = _place(node, within)
        same = (ask.question, ask.file_ids) == (self.ask.question, self.ask.file_ids)
        need, score = _place(node, within if same else self.ranked(ask.question, ask.file_ids))
        if need is None:
            return self._missed(cause, node, rank)
        if ask.retrieval.cutoff is not None and score < ask.retrieval.cutoff:
            ask = replace(ask, retrieval=replace(ask.retrieval, cutoff=None))
        ask = replace(ask, top_k=max(ask.top_k, _enough(need)))
        return self._missed(cause, node, rank, ask=self._letting_in(node, ask, self.searched if same else ask.question))

    def _letting_in(self, node: TextNode, ask: Ask, question: str) -> Ask:
        """With passages that are far weaker than the best, if this one is one of them. `question`: as it is looked up."""
        how = ask.retrieval
        if how.weaker or how.reranker or how.diverse:
            return ask
        found = self.ranked(question, ask.file_ids, ask.top_k, weaker=False)
        if any(hit.node.id_ == node.id_ for hit in found):
            return ask
        return replace(ask, retrieval=replace(how, weaker=True))

    def _found(self, node: TextNode, cause: Cause) -> Missed:
        ask = replace(self.ask, response_mode="accumulate") if self.ask.response_mode != "accumulate" else None
        place = next((source.number for source in self.message.sources if source.node_id == node.id_), None)
        return self._missed(cause, node, place, ask=ask)

    def _missed(
        self,
        cause: Cause,
        node: TextNode | None = None,
        rank: int | None = None,
        *,
        ask: Ask | None = None,
        file: FileRow | None = None,
        page: str = "",
    ) -> Missed:
        source = self._source(node) if node is not None else None
        return Missed(cause, self.searched, len(self.message.sources), source, rank, ask, file, page)

    def _source(self, node: TextNode) -> Source:
        known = next((source for source in self.message.sources if source.node_id == node.id_), None)
        return known or build_sources([NodeWithScore(node)])[0]

    # What the answer did.

    def _asked(self) -> str:
        """A follow-up as it stands alone."""
        steps = self.trace.named("retrieve") if self.trace else []
        asked = next((str(step.facts["question"]) for step in steps if "question" in step.facts), "")
        condensed = self.message.facts.condensed if self.message.facts else None
        return asked or condensed or self.ask.question

    def _took_central(self) -> bool:
        steps: list[Span] = self.trace.named("retrieve") if self.trace else []
        return any(step.facts.get("retriever") == "overview" for step in steps)

    def _reach(self) -> int:
        """How many passages the search handed to the later steps."""
        steps = self.trace.named("retrieve") if self.trace else []
        found = max((len(step.facts.get("found", ())) for step in steps), default=0)
        return found or self.ask.top_k


def _place(node: TextNode, hits: Sequence[NodeWithScore]) -> tuple[int | None, float]:
    """(rank, 1 for the best; score), or (None, 0.0)."""
    return next(((rank, hit.get_score()) for rank, hit in enumerate(hits, 1) if hit.node.id_ == node.id_), (None, 0.0))


def _enough(rank: int) -> int:
    """Passages to look at so that this rank is surely among them, as ranks shift a little with their number."""
    return min(rank + max(rank // 5, 1), MOST_PASSAGES)


def _quotes(text: str, expected: str) -> bool:
    """The words of what was expected, one after another."""
    return f" {' '.join(words(expected))} " in f" {' '.join(words(text))} "


def _says(text: str, expected: str) -> bool:
    """Nearly all of its words, of few all, in a sentence and the next."""
    meant = set(content_words(expected) or words(expected))
    said = [{*content_words(sentence), *words(sentence)} for sentence in sentences(text)]
    most = max((len(meant & set().union(*said[at : at + 2])) for at in range(len(said))), default=0)
    return most >= (1.0 if len(meant) <= FEW_WORDS else ALL_WORDS) * len(meant)


def _with_words(ask: Ask, expected: str, node: TextNode) -> str:
    """The question with the passage's own words, which find it whatever the question's."""
    return f"{ask.question} ({expected or ', '.join(keywords(node.text, FEW_WORDS))})"


def _may_hold_more(file: FileRow) -> bool:
    """Whether it is not read, and something may stand in it: a program or an empty file says nothing."""
    told = "" if file.problem is None else file.problem.details
    return not file.ready and not told.startswith(("UnsupportedFileError", "EmptyFileError"))


def _cause_of(file: FileRow) -> Cause:
    if file.active:
        return Cause.READING
    if file.stage is Stage.STOPPED:
        return Cause.STOPPED
    told = file.problem
    return Cause.NO_TEXT if told is not None and told.details.startswith("NoTextError") else Cause.FAILED
