"""A few questions to begin with, made from the newest documents: those of the sample, a language model's where there is one, or
what one of their own sentences answers; of a document that gives none, a summary. A question that does not find its own
document is not suggested.

They are made by a thread whenever the documents have changed, and kept in the library's database.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeVar

from lectern.jobs.file_rows import Stage
from ragcore.errors import LLMError, StoreError
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.extractive.follow_up import leans_on_context
from ragcore.extractive.question_generation import language_of, questions_of_sentences
from ragcore.extractive.topic import quoted_names
from ragcore.sql.base import Database, writable
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
RULES = 4  # of the rules below: questions that others made are made anew
WANTED = 4  # suggestions, of as many of the newest documents
NEAR = 3  # passages, among which the question's own document must be
TRIED = 6  # questions of a document that are looked up, at most
LONGEST = 90  # characters: a suggestion is read at a glance
PASSAGES = 24  # of a document that is looked at, evenly spread
OF_A_PASSAGE = 6  # questions of each
OF_NO_NAME = 2  # words with a meaning, of a question with neither a name nor "a"
OFTEN = 3  # times that a text says a name of one word, or the words of a question without a name
LOOKED_AT = 8  # passages of a document that a model is asked about the longest of
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

_WHAT = re.compile(r"^(?:(?:What|Who|Was|Wer) (?:is|are|was|were|ist|sind|war|waren)|Qu'est-ce que|¿Qué es) |是什么？$")
_WHAT_FOR = re.compile(r" (?:responsible|used|made|built|called|known|named|based|caused)(?: \w+)?\?$")
_ASKS = re.compile(r"(?:who|what|when|where|why|how|which|in what|can|may|must|do|does|did|is|are)\b", re.IGNORECASE)
_ASKED = re.compile(r"(?<=\w )(?:Who|What|When|Where|Why|How|Which|Can|May|Must|Do|Does|Did|Is|Are) [^?]+\?$")
_WORD = re.compile(r"[^\W\d_]{2}")
_ODD = re.compile(
    r"[|•·_<>{}\\\[\]]|\.{2}|\brights reserved\b|[A-Z]{4,} [A-Z]{2,}|\b(?:is|are|was|were)\b.*\b(?:is|are|was|were)\b"
    r"|^Why\b.* (?:that|when|if|which|who) |[;*:]| [A-Z](?= |\?$)|^\w+, "
    r"|\b(?:and|or|the|an?|in|at|on|with|by|(?<!made )(?<!built )of)\?$"
)
_ANY = re.compile(r" (?:an?|each|every) |^What (?:are|can|do|must|may) [a-z]+s ")
_NAME = re.compile(r"(?<!\bthe)(?<!\bThe) (?P<one>[A-ZÄÖÜ]\w{2,})|\b[A-ZÄÖÜ]\w+ (?:of |for |the )*[A-ZÄÖÜ]\w+")
_PARTICULAR = re.compile(r"^\w+ \w+ the (?:\w{3,}est|first|only|main|most|second|reasons?|causes?|[a-z]+ reasons?) ")
_SUMMARIES = {  # in the language of the document
    "en": "Summarise {}",
    "de": "Worum geht es in {}?",
    "fr": "De quoi parle {} ?",
    "es": "¿De qué trata {}?",
    "zh": "{}讲了什么？",
}


@dataclass(frozen=True, slots=True)
class Suggested:
    """`pending`: others are being made, from the documents as they are now."""

    questions: tuple[str, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question, and the document that it was made from."""

    question: str
    document_id: str


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

    def get(self, of: Collection[str] = ()) -> Suggested:
        """At once: what is kept, but for deleted documents; only that `of` some, where these are named. Where that is of other
        documents than there are now, a thread begins to make new ones, as soon as no file is being read."""
        version, reading = self._now()
        if not version:
            return Suggested()
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT s.version, s.place, s.question, f.id FROM suggestions s LEFT JOIN files f ON f.id = s.document_id"
                " ORDER BY s.place"
            ).fetchall()
        questions = tuple(row["question"] for row in rows if row["place"] and row["id"] and (not of or row["id"] in of))
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
        """Make WANTED suggestions, or fewer, now: one of each of the newest documents, then a second of each. Takes seconds."""
        llm, found = self._llm(), list[Candidate]()
        asked = [self._of_document(document, llm) for document in self._newest()]
        for _ in range(WANTED):
            for candidates in asked:
                fresh = (one for one in candidates if one.question not in (other.question for other in found))
                if len(found) < WANTED and (candidate := next(fresh, None)):
                    found.append(candidate)
        return found

    def _newest(self) -> list[str]:
        ready = "SELECT id FROM files WHERE stage = ? AND passages > 0 ORDER BY added DESC, id LIMIT ?"
        with self._database.snapshot() as db:
            return [row["id"] for row in db.execute(ready, (Stage.READY.value, WANTED)).fetchall()]

    def _of_document(self, document: str, llm: LLM) -> Iterator[Candidate]:
        """Those that find their own document, the best first; in the end its summary."""
        names = {each.id_: str(each.name) for each in self._store.documents()}
        made: Iterator[Candidate] = (one for one in of_the_sample(self._store) if one.document_id == document)
        if not llm.metadata.is_extractive:
            made = chain(made, self._by_model(llm, document))
        made = chain(made, (Candidate(question, document) for question in candidates(self._store, document)))
        yield from (one for one in islice(made, TRIED) if self._is_answered(one, llm))
        text = "\n".join(node.text for node in _passages(self._store, document, LOOKED_AT))
        if _WORD.search(text) and (wish := summary_wish(names.pop(document, ""), names.values(), language_of(text))):
            yield Candidate(wish, document)

    def _by_model(self, llm: LLM, document: str) -> Iterator[Candidate]:
        """A model's questions about a passage of the document."""
        from ragcore.llms.base import LLMCall
        from ragcore.llms.call_queue import in_background
        from ragcore.prompts.prompt import Passage
        from ragcore.prompts.wording import QUESTIONS

        prompt = self._wording().get(QUESTIONS.name, QUESTIONS)
        passage = max(_passages(self._store, document, LOOKED_AT), key=lambda node: len(node.text))
        call = LLMCall(prompt, {"context_str": (Passage(passage.text),), "num_questions": str(BY_MODEL)})
        try:
            with in_background():
                reply = llm.generate(call).text
        except LLMError as error:
            logger.info("no suggestions from the model: %s", error)  # the rules need none
            return
        yield from (Candidate(line, document) for line in listed(reply) if line.endswith(("?", "？", "؟")))

    def _is_answered(self, candidate: Candidate, llm: LLM) -> bool:
        """Whether it is short, finds its own document, and its answer there."""
        if len(candidate.question) > LONGEST:
            return False
        found = self._retriever(NEAR).retrieve(candidate.question)
        return is_near(candidate, found) and (not llm.metadata.is_extractive or _quotable(candidate.question, found, llm))


def summary_wish(name: str, others: Collection[str], language: str) -> str:
    """Asks for a summary of the document of this name, without its ending where that is enough to tell it from the `others`;
    "" where nothing is. `language`: as `language_of` gives it.

    >>> summary_wish("Lease.pdf", ["Letter.pdf"], "en")
    'Summarise Lease'
    """
    for called in (PurePath(name).stem, name):
        wish = _SUMMARIES[language].format(called)
        if len(wish) <= LONGEST and name not in others and quoted_names(wish, [name, *others]) == {name}:
            return wish
    return ""


def of_the_sample(store: Store) -> Iterator[Candidate]:
    """The questions that come with the sample, for each of its documents that is there and answers them."""
    if not SAMPLE_QUESTIONS.exists():
        return
    there = {str(document.name): document.id_ for document in store.documents() if document.passages}
    for line in SAMPLE_QUESTIONS.read_text("utf-8").splitlines():
        asked = json.loads(line)
        if asked.get("suggested") and all(name in there for name in asked["files"]):
            yield from (Candidate(asked["question"], there[name]) for name in asked["files"])


def candidates(store: Store, document_id: str) -> list[str]:
    """Questions that a document's own sentences answer, and that are clear without it; about what it says most first."""
    nodes = _passages(store, document_id, PASSAGES)
    text = " ".join(" ".join(node.text for node in nodes).split())
    each_asked = (islice(questions_of_sentences(node.text, text), OF_A_PASSAGE) for node in nodes)
    asked = dict.fromkeys(map(_tidy, chain.from_iterable(each_asked)))
    return sorted((question for question in asked if _is_clear(question, text)), key=lambda one: -_said(one, text))


def _tidy(question: str) -> str:
    """Without the heading that a question stands behind."""
    asked = None if _ASKS.match(question) else _ASKED.search(question)
    return asked.group() if asked else question


def _is_clear(question: str, text: str) -> bool:
    """Whether who has not read the text understands it: it names what it is about, or asks about any such thing."""
    if len(question) > LONGEST or _ODD.search(question) or leans_on_context(question):
        return False
    if _WHAT.search(question) and not _WHAT_FOR.search(question):  # a definition; seldom what a person asks
        return _PARTICULAR.search(question) is not None
    if question in text:
        return True
    named = any(not one["one"] or text.count(one["one"]) >= OFTEN for one in _NAME.finditer(question))
    plain = _ANY.search(question) or len(content_words(question)) > OF_NO_NAME
    return named or bool(plain and _said(question, text) >= OFTEN)


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
