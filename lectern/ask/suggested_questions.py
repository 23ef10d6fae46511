"""A few questions to begin with, made from the documents that are there: by a language model where there is one, else by plain
rules from their own headings and sentences. What the library would not find its own document for is not suggested.

They are made by a thread whenever the documents have changed, and kept in the library's database.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lectern.jobs.file_rows import Stage
from ragcore.errors import LLMError, StoreError
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.extractive.follow_up import leans_on_context
from ragcore.extractive.question_generation import asked_about, language_of, questions_of_sentences, topics_in
from ragcore.sql.base import Database, writable
from ragcore.text.key_phrases import grown, names_in
from ragcore.text.keywords import content_words
from ragcore.text.list_replies import listed

if TYPE_CHECKING:
    from ragcore.llms.base import LLM
    from ragcore.prompts.prompt import Prompt
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.schema import NodeWithScore, TextNode
    from ragcore.vector_stores.base import Store

logger = logging.getLogger(__name__)

T = TypeVar("T")

SAMPLE_QUESTIONS = Path(__file__).parents[2] / "sample" / "questions.jsonl"
RULES = 3  # of the rules below: questions that others made are made anew
WANTED = 4
NEAR = 3  # passages, among which the question's own document must be
DOCUMENTS = 96  # that are looked into, evenly spread
PASSAGES = 96  # of them together, evenly spread
TRIED = 24  # questions that are looked up, at most
LONGEST = 90  # characters: a suggestion is read at a glance
OF_A_PASSAGE = 6  # questions of each
OF_NO_NAME = 2  # words with a meaning, of a question with neither a name nor "a"
TWICE = 2  # times that it says one of several
OFTEN = 3  # times that a text says a name of one word which it is about
ASKED_OF = 2  # documents that a model is asked about: a few seconds of its time
LOOKED_AT = 8  # passages of a document that is looked at alone
BY_MODEL = 2  # questions that it is asked for about each
PARTICULAR, DEFINITION, TOPIC, WORD = range(4)  # what a question is about, the most telling first

SCHEMA = """
CREATE TABLE IF NOT EXISTS suggestions (
    version TEXT NOT NULL,           -- of the documents that they were made from
    place INTEGER NOT NULL,          -- 1, 2, 3 ...; 0 says that this version was looked at, though nothing came of it
    question TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (version, place)
);
"""

_WHAT = re.compile(
    r"^(?:(?:What|Who|Was|Wer) (?:is|are|was|were|ist|sind|war|waren)|Qu'est-ce que|¿Qué es) (?P<subject>.*?) ?\?$"
    r"|^(?P<chinese>.*)是什么？$"
)
_WHAT_FOR = re.compile(r" (?:responsible|used|made|built|called|known|named|based|caused)(?: \w+)?\?$")
_ARTICLE = re.compile(r"^(?:The|Der|Die|Das|Les?|La|El|Los|Las) (?=[^\W\d_])")
_OWNS = re.compile(r"['’]s?$")
_LEANING = re.compile(r"^(?:the|an?|under|over|in|on|dear|now|then) |\d$| and | one$|[.,:;!?]$", re.IGNORECASE)
_ASKS = re.compile(r"(?:who|what|when|where|why|how|which|in what|can|may|must|do|does|did|is|are)\b", re.IGNORECASE)
_ASKED = re.compile(r"(?<=\w )(?:Who|What|When|Where|Why|How|Which|Can|May|Must|Do|Does|Did|Is|Are) [^?]+\?$")
_NUMBER = re.compile(r"^(?:\d+|[IVX]+)[.)](?:\d+[.)])*\d*\s+")
_ODD = re.compile(
    r"[|•·_<>{}\\\[\]]|\.{2}|\brights reserved\b|[A-Z]{4,} [A-Z]{2,}|\b(?:is|are|was|were)\b.*\b(?:is|are|was|were)\b"
    r"|[;*:]|(?:^| )[A-Z]\?$|^\w+, |\b(?:and|or|the|an?|in|at|on|with|by|(?<!made )(?<!built )of)\?$"
)
_ANY = re.compile(r" (?:an?|each|every) |^What (?:are|can|do|must|may) [a-z]+s ")
_NAME = re.compile(r"(?<= )[A-ZÄÖÜ]")
_UNSPACED = re.compile(r"[\u3400-\u9fff]{2,}")
_PAIR = re.compile(r"[\u3400-\u9fff]{2}")
# Characters that join others, and one said twice.
_HELPING = re.compile(r"[的是有在和与或及不之其此任何了对于从被将为以等也这那他她它们人第]|(.)\1")
# What is said of something else, such as "French", and a date.
_OF_OTHERS = re.compile(
    r"(?:ish|ese|ians?|ench|day)$|^(?:January|February|March|April|June|July|August|September|October|November|December)$"
)
_PARTICULAR = re.compile(r"^the (?:\w{3,}est|first|only|main|most|second|reasons?|causes?|[a-z]+ reasons?) ")


@dataclass(frozen=True, slots=True)
class Suggested:
    """`pending`: others are being made, from the documents as they are now."""

    questions: tuple[str, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question, and the document that it was made from. `rank`: the lower, the more it says."""

    question: str
    document_id: str
    rank: tuple[int, float] = (PARTICULAR, 0)

    @property
    def kinds(self) -> tuple[str, str]:
        """What it asks for, by its first words - who, when, how many -, and its last."""
        words = self.question.casefold().split()
        return " ".join(words[: 2 if words[0] in ("how", "wie") else 1]), words[-1]


class Suggestions:
    """Of one library. Threads may share one."""

    def __init__(
        self,
        database: Database,
        store: Store,
        *,
        retriever: Callable[[int], BaseRetriever],
        llm: Callable[[], LLM],
        wording: Callable[[], Mapping[str, Prompt]],
    ) -> None:
        """`wording` gives the prompts that are worded otherwise than built in, by their names."""
        self._database = database
        self._store = store
        self._retriever = retriever
        self._llm = llm
        self._wording = wording
        self._lock = threading.Lock()
        self._begun = ""  # the version that was last worked on, in vain or not
        self._thread: threading.Thread | None = None

    def get(self) -> Suggested:
        """At once: what is kept, but for deleted documents. Where that is of other documents than there are now, a thread
        begins to make new ones, as soon as no file is being read."""
        version, reading = self._now()
        if not version:
            return Suggested()
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT s.version, s.place, s.question, f.id FROM suggestions s LEFT JOIN files f ON f.id = s.document_id"
                " ORDER BY s.place"
            ).fetchall()
        questions = tuple(row["question"] for row in rows if row["place"] and row["id"])
        if any(row["version"] == version for row in rows):
            return Suggested(questions)
        if reading and questions:
            return Suggested(questions)
        return Suggested(questions, pending=self._begin(version))

    def wait(self, timeout: float | None = None) -> None:
        """Until those that are being made are kept."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _now(self) -> tuple[str, bool]:
        """What tells these documents from those of another time, "" where there are none; and whether files are being read."""
        idle = ", ".join(f"'{stage.value}'" for stage in (Stage.READY, Stage.FAILED, Stage.STOPPED))
        with self._database.snapshot() as db:
            count, *rest, active = db.execute(
                "SELECT count(ready.id), coalesce(sum(ready.size), 0), coalesce(sum(ready.passages), 0), max(ready.added),"
                " min(ready.hash), max(ready.hash), count(CASE WHEN files.stage NOT IN (" + idle + ") THEN 1 END)"
                " FROM files LEFT JOIN files ready ON ready.id = files.id AND ready.stage = 'ready'"
            ).fetchone()
        return ("|".join(str(part) for part in (RULES, count, *rest)) if count else ""), bool(active)

    def _begin(self, version: str) -> bool:
        """Whether a thread is at it."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return True
            if self._begun == version:
                return False  # it failed, and would again
            self._begun = version
            self._thread = threading.Thread(target=self._make, args=(version,), name="suggestions", daemon=True)
            self._thread.start()
            return True

    def _make(self, version: str) -> None:
        try:
            found = self.made()
            with self._database.transaction() as db:
                db.execute("DELETE FROM suggestions")
                rows = [
                    (version, 0, "", ""),
                    *((version, n, writable(each.question), each.document_id) for n, each in enumerate(found, 1)),
                ]
                db.executemany("INSERT INTO suggestions (version, place, question, document_id) VALUES (?, ?, ?, ?)", rows)
        except StoreError:
            logger.exception("suggestions could not be kept")  # the screens do without; nobody asked for them
        except Exception:  # in a thread of its own nobody else would hear of it
            logger.exception("suggestions could not be made")

    def made(self) -> list[Candidate]:
        """Make WANTED suggestions, or fewer, now: of as many documents and kinds as can be. Takes seconds."""
        llm = self._llm()
        documents = spread([document.id_ for document in self._store.documents() if document.passages], DOCUMENTS)
        first: Iterator[Candidate] = of_the_sample(self._store)
        if not llm.metadata.is_extractive:
            first = chain(first, self._by_model(llm, spread(documents, ASKED_OF)))
        found: list[Candidate] = []
        check = self._checked(llm)
        for candidate in first:
            if len(found) < WANTED and candidate.question not in (one.question for one in found) and check(candidate):
                found.append(candidate)
        if len(found) < WANTED:
            offered = [
                candidate
                for document in documents
                for candidate in candidates(self._store, document, PASSAGES // len(documents))
            ]
            found = chosen(offered, found, check)
        return found

    def _by_model(self, llm: LLM, documents: Sequence[str]) -> Iterator[Candidate]:
        """A model's questions about a passage of each document, first ones first."""
        from ragcore.llms.base import LLMCall
        from ragcore.llms.call_queue import in_background
        from ragcore.prompts.prompt import Passage
        from ragcore.prompts.wording import QUESTIONS

        prompt = self._wording().get(QUESTIONS.name, QUESTIONS)
        asked: list[list[Candidate]] = []
        for document in documents:
            passage = max(_passages(self._store, document, LOOKED_AT), key=lambda node: len(node.text))
            call = LLMCall(prompt, {"context_str": (Passage(passage.text),), "num_questions": str(BY_MODEL)})
            try:
                with in_background():
                    reply = llm.generate(call).text
            except LLMError as error:
                logger.info("no suggestions from the model: %s", error)  # the rules need none
                return
            asked.append([Candidate(line, document) for line in listed(reply) if line.endswith(("?", "？", "؟"))])
        yield from filter(None, chain.from_iterable(zip_longest(*asked)))

    def _checked(self, llm: LLM) -> Callable[[Candidate], bool]:
        """Whether a candidate finds its own document, and its answer there."""
        retriever = self._retriever(NEAR)

        def check(candidate: Candidate) -> bool:
            if len(candidate.question) > LONGEST:
                return False
            found = retriever.retrieve(candidate.question)
            return is_near(candidate, found) and (not llm.metadata.is_extractive or _quotable(candidate.question, found, llm))

        return check


def chosen(offered: Sequence[Candidate], found: Sequence[Candidate], check: Callable[[Candidate], bool]) -> list[Candidate]:
    """`found`, filled up to WANTED with what passes the check: of another document first, then of another kind, then by rank.

    At most TRIED are checked. Questions about a topic, which say the least, come only when there is nothing else; of what
    is asked about already, neither the topic nor the definition comes.
    """
    kept, left = list(found), list(offered)
    for _ in range(TRIED):
        asked = {candidate.question.casefold() for candidate in kept}
        left = [one for one in left if one.question.casefold() not in asked and not _asked_already(one, kept)]
        if not left or len(kept) >= WANTED:
            break
        documents = Counter(candidate.document_id for candidate in kept)
        kinds = Counter(chain.from_iterable(candidate.kinds for candidate in kept))
        best = min(
            left,
            key=lambda one: (
                max(one.rank[0], DEFINITION), documents[one.document_id], *(kinds[kind] for kind in one.kinds), one.rank,
            ),
        )  # fmt: skip
        left.remove(best)
        if check(best):
            kept.append(best)
    return kept


def _asked_already(one: Candidate, kept: Sequence[Candidate]) -> bool:
    """Whether it is a topic or a definition of what another asks more about."""
    words = set(content_words(one.question))
    return one.rank[0] >= DEFINITION and any(words.issubset(content_words(other.question)) for other in kept)


def of_the_sample(store: Store) -> Iterator[Candidate]:
    """The questions that come with the sample, for each of its documents that is there and answers them."""
    if not SAMPLE_QUESTIONS.exists():
        return
    there = {str(document.name): document.id_ for document in store.documents() if document.passages}
    for line in SAMPLE_QUESTIONS.read_text("utf-8").splitlines():
        asked = json.loads(line)
        if asked.get("suggested") and all(name in there for name in asked["files"]):
            yield from (Candidate(asked["question"], there[name]) for name in asked["files"])


def candidates(store: Store, document_id: str, most: int = LOOKED_AT) -> list[Candidate]:
    """Questions that a document's own sentences and headings answer, the most telling first. `most`: passages."""
    nodes = _passages(store, document_id, most)
    written = "\n".join(node.text for node in nodes)
    text = " ".join(written.split())
    each_asked = (islice(questions_of_sentences(node.text, text), OF_A_PASSAGE) for node in nodes)
    asked = dict.fromkeys(map(_tidy, chain.from_iterable(each_asked)))
    ranked = [Candidate(question, document_id, rank) for question in asked if (rank := _rank(question, text)) is not None]
    names, spoken = names_in(written), language_of(text)
    each_topic = dict.fromkeys(chain.from_iterable(topics_in(node.text) for node in nodes))
    topics = dict.fromkeys(_topic(topic, text) for topic in each_topic)
    ranked += [
        Candidate(asked_about(topic, spoken), document_id, rank)
        for topic in topics
        if (rank := _topic_rank(topic, text, written, names)) is not None
    ]
    return sorted(ranked, key=lambda candidate: candidate.rank)


def _tidy(question: str) -> str:
    """Without the heading that a question stands behind."""
    asked = None if _ASKS.match(question) else _ASKED.search(question)
    return asked.group() if asked else question


def _topic(topic: str, text: str) -> str:
    """Without the number of a heading, an article and what it owns, and a whole word where no spaces are written."""
    topic = _OWNS.sub("", _ARTICLE.sub("", _NUMBER.sub("", topic)))
    if re.match(r"(?:How|Why|What|When|Where|Who) ", topic):
        return topic[0].lower() + topic[1:]
    return grown(topic, text) if _PAIR.fullmatch(topic) else topic


def _rank(question: str, text: str) -> tuple[int, float] | None:
    """Its kind of worth, the best first, and how seldom the text says its words. None for what reads like a slip."""
    if len(question) > LONGEST or _ODD.search(question):
        return None
    said = _said(question, text)
    what = None if _WHAT_FOR.search(question) else _WHAT.match(question)
    if not what:
        plain = said >= OFTEN and (_ANY.search(question) or len(content_words(question)) > OF_NO_NAME)
        asks = question in text or _NAME.search(question, 1) or plain  # else nobody knows which one is meant
        return (PARTICULAR, -said) if asks and not leans_on_context(question) else None
    subject = what["subject"] or what["chinese"] or ""
    if _PARTICULAR.search(subject):
        return PARTICULAR, -said
    if not subject or _LEANING.search(subject):
        return None
    often = text.lower().count(subject.lower())
    return (DEFINITION, -said) if often >= (TWICE if " " in subject else OFTEN) else None


def _topic_rank(topic: str, text: str, written: str, names: Counter[str]) -> tuple[int, float] | None:
    """A topic of several words before a name of one word or one that is said once. None for what is said in passing.

    `written`: the text with its line breaks, as a heading is no name for its capitals alone.
    """
    if len(topic) > LONGEST or _ODD.search(f"{topic}?") or _LEANING.search(topic):
        return None
    often = text.lower().count(topic.lower())
    if _UNSPACED.fullmatch(topic):
        return (TOPIC, -often) if often >= OFTEN and not _HELPING.search(topic) else None
    if " " in topic and often >= TWICE:
        return TOPIC, -often
    if " " in topic:
        named = all(word[0].isupper() for word in topic.split()) and re.search(rf"[^\W\d_A-Z] {re.escape(topic)}", written)
        return (WORD, 0) if named else None
    return (WORD, -often) if names[topic] >= OFTEN and not _OF_OTHERS.search(topic) else None


def _said(question: str, text: str) -> float:
    """How often the text says the words of the question, each."""
    words = [word.lower() for word in re.findall(r"\w{4,}", question)[1:]]
    return sum(text.lower().count(word) for word in words) / max(len(words), 1)


def is_near(candidate: Candidate, found: Sequence[NodeWithScore]) -> bool:
    """Whether a passage of the question's own document is among the first NEAR."""
    return any(hit.node.ref_doc_id == candidate.document_id for hit in found[:NEAR])


def _quotable(question: str, found: Sequence[NodeWithScore], llm: LLM) -> bool:
    """Whether the reader that quotes finds an answer in these passages."""
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer

    return not is_refusal(str(get_response_synthesizer(llm, "compact").synthesize(question, found)))


def _passages(store: Store, document_id: str, most: int) -> list[TextNode]:
    return store.nodes(spread(store.passage_ids(document_id), most))


def spread(values: Sequence[T], most: int) -> list[T]:
    """At most so many, evenly spread, from the first on."""
    if len(values) <= most:
        return list(values)
    return [values[number * len(values) // most] for number in range(most)]
