"""A few questions to begin with, made from the documents that are there: by a language model where there is one, else by plain
rules from their own headings and sentences. What the library would not find its own document for is not suggested.

They are made by a thread whenever the documents have changed, and kept in the library's database.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from ragcore.database import Database, writable
from ragcore.errors import LLMError, StoreError
from ragcore.ingestion.files import Stage
from ragcore.text.follow_up import leans_on_context
from ragcore.text.listed import listed
from ragcore.text.questions import questions_in

if TYPE_CHECKING:
    from ragcore.llms.base import LLM
    from ragcore.prompts import Prompt
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.schema import NodeWithScore, TextNode
    from ragcore.vector_stores.base import Store

logger = logging.getLogger(__name__)

WANTED = 4
NEAR = 3  # passages, among which the question's own document must be
DOCUMENTS = 12  # that are looked into, evenly spread
PASSAGES = 8  # of each, evenly spread
TRIED = 32  # questions that are looked up, at most
LONGEST = 90  # characters: a suggestion is read at a glance
OF_A_PASSAGE = 6  # questions of each
OFTEN = 3  # times that a text says a name of one word which it is about
ASKED_OF = 2  # documents that a model is asked about: a few seconds of its time
BY_MODEL = 2  # questions that it is asked for about each

SCHEMA = """
CREATE TABLE IF NOT EXISTS suggestions (
    version TEXT NOT NULL,           -- of the documents that they were made from
    place INTEGER NOT NULL,          -- 1, 2, 3 ...; 0 says that this version was looked at, though nothing came of it
    question TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (version, place)
);
"""

_VAGUE = "What can you tell me about "
_WHAT = re.compile(r"^(?:What|Who) (?:is|are|was|were) (?P<subject>.*)\?$")
_LEANING = re.compile(r"^(?:the|an?|under|over|in|on|dear|now|then) |\d$| and | one$|[.,:;!?]$", re.IGNORECASE)
_ASKED = re.compile(r"(?<=\w )(?:Who|What|When|Where|Why|How|Which|Can|May|Must|Do|Does|Did|Is|Are) [^?]+\?$")
_NUMBER = re.compile(r"^(?:\d+|[IVX]+)[.)](?:\d+[.)]?)*\s+")
_ODD = re.compile(
    r"[|•·_<>{}\\\[\]]|\.{2}|\brights reserved\b|[A-Z]{12}|\b(?:is|are|was|were)\b.*\b(?:is|are|was|were)\b"
    r"|\b(?:and|or|of|the)\?$"
)


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
    rank: tuple[int, int] = (0, 0)


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
        return ("|".join(str(part) for part in (count, *rest)) if count else ""), bool(active)

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
        """Make WANTED suggestions, or fewer, now: of as many documents as can be. Takes seconds."""
        llm = self._llm()
        documents = _spread([document.id_ for document in self._store.documents() if document.passages], DOCUMENTS)
        rounds = zip_longest(*(candidates(self._store, document) for document in documents))
        offered = chain.from_iterable(sorted(filter(None, each), key=lambda candidate: candidate.rank) for each in rounds)
        asked = iter(()) if llm.metadata.is_extractive else self._by_model(llm, _spread(documents, ASKED_OF))
        return list(islice(self._answerable(islice(chain(asked, offered), TRIED), llm), WANTED))

    def _by_model(self, llm: LLM, documents: Sequence[str]) -> Iterator[Candidate]:
        """A model's questions about a passage of each document, first ones first."""
        from ragcore.llms.base import LLMCall
        from ragcore.prompts import QUESTIONS, Passage

        prompt = self._wording().get(QUESTIONS.name, QUESTIONS)
        asked: list[list[Candidate]] = []
        for document in documents:
            passage = max(_passages(self._store, document), key=lambda node: len(node.text))
            call = LLMCall(prompt, {"context_str": (Passage(passage.text),), "num_questions": str(BY_MODEL)})
            try:
                reply = llm.generate(call).text
            except LLMError as error:
                logger.info("no suggestions from the model: %s", error)  # the rules need none
                return
            asked.append([Candidate(line, document) for line in listed(reply) if line.endswith(("?", "？", "؟"))])
        yield from filter(None, chain.from_iterable(zip_longest(*asked)))

    def _answerable(self, offered: Iterator[Candidate], llm: LLM) -> Iterator[Candidate]:
        retriever = self._retriever(NEAR)
        given: set[str] = set()
        for candidate in offered:
            if candidate.question.casefold() in given or len(candidate.question) > LONGEST:
                continue
            given.add(candidate.question.casefold())
            found = retriever.retrieve(candidate.question)
            if is_near(candidate, found) and (not llm.metadata.is_extractive or _quotable(candidate.question, found, llm)):
                yield candidate


def candidates(store: Store, document_id: str) -> list[Candidate]:
    """Questions that a document's own sentences and headings answer, the most telling first, without repeats."""
    nodes = _passages(store, document_id)
    text = " ".join(" ".join(node.text for node in nodes).split())
    asked = dict.fromkeys(_tidy(each) for node in nodes for each in islice(questions_in(node.text), OF_A_PASSAGE))
    ranked = [Candidate(question, document_id, rank) for question in asked if (rank := _rank(question, text)) is not None]
    return sorted(ranked, key=lambda candidate: candidate.rank)


def _tidy(question: str) -> str:
    """Without the number of a heading, and without the heading that a question stands behind."""
    if not question.startswith(_VAGUE):
        return asked.group() if (asked := _ASKED.search(question)) else question
    topic = _NUMBER.sub("", question.removeprefix(_VAGUE))
    return _VAGUE + (topic[0].lower() + topic[1:] if re.match(r"(?:How|Why|What|When|Where|Who) ", topic) else topic)


def _rank(question: str, text: str) -> tuple[int, int] | None:
    """0 for a question of a sentence, 1 about a heading or a name of several words, 2 about a name of one word, the one that
    the text says most often first. None for what reads like a slip."""
    if len(question) > LONGEST or _ODD.search(question):
        return None
    what = _WHAT.match(question)
    if not what and not question.startswith(_VAGUE):
        return None if leans_on_context(question) else (0, 0)
    topic = what["subject"] if what else question.removeprefix(_VAGUE)[:-1]
    said = text.lower().count(topic.lower())
    if not topic or _LEANING.search(topic) or (what and said < OFTEN):
        return None
    if " " in topic:
        return (0, 0) if what else (1, 0)
    return (2, -said) if topic[0].isupper() and said >= OFTEN else None


def is_near(candidate: Candidate, found: Sequence[NodeWithScore]) -> bool:
    """Whether a passage of the question's own document is among the first NEAR."""
    return any(hit.node.ref_doc_id == candidate.document_id for hit in found[:NEAR])


def _quotable(question: str, found: Sequence[NodeWithScore], llm: LLM) -> bool:
    """Whether the reader that quotes finds an answer in these passages."""
    from ragcore.llms.extractive import NOT_FOUND
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer

    return str(get_response_synthesizer(llm, "compact").synthesize(question, found)) != NOT_FOUND


def _passages(store: Store, document_id: str) -> list[TextNode]:
    return store.nodes(_spread(store.passage_ids(document_id), PASSAGES))


def _spread(ids: Sequence[str], most: int) -> list[str]:
    """At most so many, evenly spread, from the first on."""
    if len(ids) <= most:
        return list(ids)
    return [ids[number * len(ids) // most] for number in range(most)]
