"""Suggested questions about the newest documents.

They are from the sample, from a language model, from sentences of a document that answer them, or ask for its
summary. A suggestion must retrieve its own document.

A thread generates them when the documents have changed, and stores them in the library's database.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from lectern.app_files import app_folder
from lectern.jobs.file_rows import Stage
from ragcore.errors import LLMError
from ragcore.extractive.follow_up import depends_on_context
from ragcore.extractive.question_generation import (
    AnsweredQuestion,
    language_of,
    prose_sentences,
    questions_of_sentences,
    stands_in,
)
from ragcore.extractive.quoter import Quoter
from ragcore.extractive.topic import quoted_names
from ragcore.sql.base import Database, writable
from ragcore.text.keywords import content_words
from ragcore.text.list_replies import parse_list
from ragcore.text.quotable_sentences import quotes_in

if TYPE_CHECKING:
    from ragcore.extractive.answerer import Writer
    from ragcore.llms.base import LLM
    from ragcore.prompts.prompt import Prompt
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.schema import NodeWithScore, TextNode
    from ragcore.vector_stores.base import Store

logger = logging.getLogger(__name__)

T = TypeVar("T")

SAMPLE_QUESTIONS = app_folder() / "sample" / "questions.jsonl"
RULES = 6  # version of the rules below; suggestions of another version are replaced
MAX_SUGGESTIONS = 4  # from as many of the newest documents
MAX_RANK = 3  # of a passage of the question's own document in a search for the question
MAX_TRIED = 6  # questions per document that are searched for
MAX_CHARS = 90  # of a suggestion
MAX_PASSAGES = 24  # of a document, evenly spread, whose sentences become questions
MAX_PER_PASSAGE = 6  # questions
MAX_VAGUE_WORDS = 2  # A question with neither a name nor "a" needs more content words.
MIN_OCCURRENCES = 3  # in the text, of a name of one word, or of the words of a question without a name
MODEL_PASSAGES = 8  # of a document, of which a model reads the longest
MODEL_QUESTIONS = 2  # from the model

SCHEMA = """
CREATE TABLE IF NOT EXISTS suggestions (
    version TEXT NOT NULL,           -- of the documents
    place INTEGER NOT NULL,          -- 1, 2, 3 ...; 0 for a row of each version, even without suggestions
    question TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (version, place)
);
"""

_WHAT = re.compile(
    r"^(?:(?:What|Who|Was|Wer) (?:is|are|was|were|ist|sind|war|waren)|Qu'est-ce que|¿Qué es) |是什么？$"
)
_WHAT_FOR = re.compile(r" (?:responsible|used|made|built|called|known|named|based|caused)(?: \w+)?\?$")
_ASKS = re.compile(
    r"(?:who|what|when|where|why|how|which|in what|can|may|must|do|does|did|is|are)\b", re.IGNORECASE
)
_QUESTION_AFTER_HEADING = re.compile(
    r"(?<=\w )(?:Who|What|When|Where|Why|How|Which|Can|May|Must|Do|Does|Did|Is|Are) [^?]+\?$"
)
_WORD = re.compile(r"[^\W\d_]{2}")
_ODD = re.compile(
    r"[|•·_<>{}\\\[\]]|\.{2}|\brights reserved\b|[A-Z]{4,} [A-Z]{2,}|\b(?:is|are|was|were)\b.*\b(?:is"
    r"|are|was|were)\b|^Why\b.* (?:that|when|if|which|who) |[;*:]| [A-Z](?= |\?$)|^\w+, "
    r"|\b(?:and|or|the|an?|in|at|on|with|by|(?<!made )(?<!built )of)\?$"
)
_ANY = re.compile(r" (?:an?|each|every) |^What (?:are|can|do|must|may) [a-z]+s ")
_NAME = re.compile(
    r"(?<!\bthe)(?<!\bThe) (?P<one>[A-ZÄÖÜ]\w{2,})|\b[A-ZÄÖÜ]\w+ (?:of |for |the )*[A-ZÄÖÜ]\w+"
)
_PARTICULAR = re.compile(
    r"^\w+ \w+ the (?:\w{3,}est|first|only|main|most|second|reasons?|causes?|[a-z]+ reasons?) "
)
_SUMMARIES = {
    "en": "Summarise {}",
    "de": "Worum geht es in {}?",
    "fr": "De quoi parle {} ?",
    "es": "¿De qué trata {}?",
    "zh": "{}讲了什么？",
}


@dataclass(frozen=True, slots=True)
class SuggestionState:
    """`pending`: new ones are being generated."""

    questions: tuple[str, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question and its document."""

    question: str
    document_id: str


class Suggestions:
    """The suggestions of a library. Safe to share between threads."""

    def __init__(
        self,
        database: Database,
        store: Store,
        *,
        retriever: Callable[[int], BaseRetriever],
        writer: Callable[[], Writer],
        wording: Callable[[], Mapping[str, Prompt]],
    ) -> None:
        """`wording` returns the prompts that replace the built-in ones, by name."""
        self._database = database
        self._store = store
        self._retriever = retriever
        self._writer = writer
        self._wording = wording
        self._lock = threading.Lock()
        self._begun = ""  # the last version that a thread began with
        self._thread: threading.Thread | None = None

    def get(self, of: Collection[str] = ()) -> SuggestionState:
        """The stored suggestions, except of deleted documents, or only those `of` these documents. If the
        documents have changed, a thread begins to generate new ones: the first at once, later ones as soon as
        no file is being read."""
        with self._lock:  # before the rows are read: the thread may store them and end in between
            busy = self._thread is not None and self._thread.is_alive()
        version, reading = self._now()
        if not version:
            return SuggestionState()
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT s.version, s.place, s.question, f.id FROM suggestions s LEFT JOIN files f ON "
                "f.id = s.document_id ORDER BY s.place"
            ).fetchall()
        questions = tuple(
            row["question"] for row in rows if row["place"] and row["id"] and (not of or row["id"] in of)
        )
        if any(row["version"] == version for row in rows) or (reading and questions):
            return SuggestionState(questions)
        return SuggestionState(questions, pending=busy or self._begin(version))

    def delete_all(self) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM suggestions")

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the new suggestions are stored."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _now(self) -> tuple[str, bool]:
        """The version of the documents, "" if there are none, and whether files are being read."""
        idle = ", ".join(f"'{stage.value}'" for stage in (Stage.READY, Stage.FAILED, Stage.STOPPED))
        with self._database.snapshot() as db:
            count, *rest, active = db.execute(
                "SELECT count(ready.id), coalesce(sum(ready.size), 0), coalesce(sum(ready.passages), "
                "0), max(ready.added), min(ready.hash), max(ready.hash), count(CASE WHEN files.stage NOT IN ("
                + idle
                + ") THEN 1 END)"
                " FROM files LEFT JOIN files ready ON ready.id = files.id AND ready.stage = 'ready'"
            ).fetchone()
        return ("|".join(str(part) for part in (RULES, count, *rest)) if count else ""), bool(active)

    def _begin(self, version: str) -> bool:
        """Starts a thread. Returns whether one is running."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return True
            if self._begun == version:
                return False  # the thread for this version failed
            self._begun = version
            self._thread = threading.Thread(
                target=self._make, args=(version,), name="suggestions", daemon=True
            )
            self._thread.start()
            return True

    def _make(self, version: str) -> None:
        try:
            suggestions = self.generate()
            with self._database.transaction() as db:
                db.execute("DELETE FROM suggestions")
                rows = [
                    (version, 0, "", ""),
                    *(
                        (version, n, writable(each.question), each.document_id)
                        for n, each in enumerate(suggestions, 1)
                    ),
                ]
                db.executemany(
                    "INSERT INTO suggestions (version, place, question, document_id) VALUES (?, ?, ?, ?)",
                    rows,
                )
        except Exception:  # nothing else reports an error of this thread; screens work without suggestions
            logger.exception("suggestions could not be generated")

    def generate(self) -> list[Candidate]:
        """Up to MAX_SUGGESTIONS suggestions, first one of each of the newest documents. Takes seconds."""
        writer, chosen = self._writer(), list[Candidate]()
        ready = "SELECT id FROM files WHERE stage = ? AND passages > 0 ORDER BY added DESC, id LIMIT ?"
        with self._database.snapshot() as db:
            newest = [row["id"] for row in db.execute(ready, (Stage.READY.value, MAX_SUGGESTIONS)).fetchall()]
        by_document = [self._of_document(document, writer) for document in newest]
        for _ in range(MAX_SUGGESTIONS):
            for candidates in by_document:
                new = (
                    candidate
                    for candidate in candidates
                    if candidate.question not in {other.question for other in chosen}
                )
                if len(chosen) < MAX_SUGGESTIONS and (candidate := next(new, None)):
                    chosen.append(candidate)
        return chosen

    def _of_document(self, document: str, writer: Writer) -> Iterator[Candidate]:
        """Those that retrieve their own document, the best first; then its summary."""
        names = {each.id_: str(each.name) for each in self._store.documents()}
        tried: Iterator[Candidate] = (
            one for one in sample_candidates(self._store) if one.document_id == document
        )
        if not isinstance(writer, Quoter):
            tried = chain(tried, self._by_model(writer, document))
        tried = chain(
            tried, (Candidate(question, document) for question in candidates(self._store, document))
        )
        yield from (one for one in islice(tried, MAX_TRIED) if self._is_answered(one, writer))
        text = "\n".join(node.text for node in _passages(self._store, document, MODEL_PASSAGES))
        if isinstance(writer, Quoter) and is_table(text):
            return
        if _WORD.search(text) and (
            wish := summary_request(names.pop(document, ""), names.values(), language_of(text))
        ):
            yield Candidate(wish, document)

    def _by_model(self, llm: LLM, document: str) -> Iterator[Candidate]:
        """A model's questions about a passage of the document, whose words stand in one of its sentences."""
        from ragcore.llms.base import LLMCall
        from ragcore.llms.call_queue import in_background
        from ragcore.prompts.prompt import Passage
        from ragcore.prompts.wording import QUESTIONS

        prompt = self._wording().get(QUESTIONS.name, QUESTIONS)
        passage = max(_passages(self._store, document, MODEL_PASSAGES), key=lambda node: len(node.text))
        sentences = list(prose_sentences(passage.text))
        if not sentences:
            return
        call = LLMCall(
            prompt, {"context_str": (Passage(passage.text),), "num_questions": str(MODEL_QUESTIONS)}
        )
        try:
            with in_background():
                reply = llm.generate(call).text
        except LLMError as error:
            logger.info("no suggestions from the model: %s", error)  # the rules need no model
            return
        for line in parse_list(reply):
            is_question = line.endswith(("?", "？", "؟"))
            if is_question and any(stands_in(line, sentence) for sentence in sentences):
                yield Candidate(line, document)

    def _is_answered(self, candidate: Candidate, writer: Writer) -> bool:
        """Whether it is short, retrieves its own document, and, without a model, has an answer there."""
        from ragcore.response_synthesizers.base import passages_from

        if len(candidate.question) > MAX_CHARS:
            return False
        hits = self._retriever(MAX_RANK).retrieve(candidate.question)
        if not isinstance(writer, Quoter) or not is_near(candidate, hits):
            return is_near(candidate, hits)
        return writer.answer(candidate.question, passages_from(hits)).outcome == "answer"


def is_table(text: str) -> bool:
    """Whether most of the text is rows of tables, of which no sentence can be quoted as a summary."""
    quotes = quotes_in(text, number=1)
    in_rows = sum(len(quote.text) for quote in quotes if quote.bullet == "|" or quote.is_row)
    return 2 * in_rows > sum(len(quote.text) for quote in quotes)


def summary_request(name: str, others: Collection[str], language: str) -> str:
    """A request for a summary of the document with this name, without its suffix if that is unambiguous among
    the `others`. "" if the name is ambiguous even with its suffix. `language`: one of `language_of`.

    >>> summary_request("Lease.pdf", ["Letter.pdf"], "en")
    'Summarise Lease'
    """
    for form in (PurePath(name).stem, name):
        wish = _SUMMARIES[language].format(form)
        if len(wish) <= MAX_CHARS and name not in others and quoted_names(wish, [name, *others]) == {name}:
            return wish
    return ""


def summary_request_in(language: str, question: str) -> str:
    """A request for a summary in this language; any other question as it is.

    >>> summary_request_in("de", "Summarise Lease")
    'Worum geht es in Lease?'
    """
    for request in _SUMMARIES.values():
        before, after = request.split("{}")
        if question.startswith(before) and question.endswith(after):
            return _SUMMARIES[language].format(question.removeprefix(before).removesuffix(after))
    return question


def sample_candidates(store: Store) -> Iterator[Candidate]:
    """The questions about the sample whose documents are all in the library, once for each document."""
    if not SAMPLE_QUESTIONS.exists():
        return
    ids = {str(document.name): document.id_ for document in store.documents() if document.passages}
    for line in SAMPLE_QUESTIONS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row.get("suggested") and all(name in ids for name in row["files"]):
            yield from (Candidate(row["question"], ids[name]) for name in row["files"])


def candidates(store: Store, document_id: str) -> list[str]:
    """Questions that are clear without the document. Those with its most frequent words come first."""
    nodes, text = _passages(store, document_id, MAX_PASSAGES), text_of_passages(store, document_id)
    clear = chain.from_iterable(clear_questions(node.text, text) for node in nodes)
    questions = dict.fromkeys(question.text for question in clear)
    return sorted(questions, key=lambda each: -_mean_count(each, text))


def text_of_passages(store: Store, document_id: str) -> str:
    """The text of evenly spread passages of a document, on one line."""
    return " ".join(" ".join(node.text for node in _passages(store, document_id, MAX_PASSAGES)).split())


def clear_questions(passage: str, text: str) -> Iterator[AnsweredQuestion]:
    """Questions that sentences of a passage answer, and that are clear without it. `text`: of its
    document."""
    for answered in islice(questions_of_sentences(passage, text), MAX_PER_PASSAGE):
        question = _without_heading(answered.text)
        if _is_clear(question, text):
            yield replace(answered, text=question)


def _without_heading(question: str) -> str:
    match = None if _ASKS.match(question) else _QUESTION_AFTER_HEADING.search(question)
    return match.group() if match else question


def _is_clear(question: str, text: str) -> bool:
    """Whether it is understood without the text: it names its subject, or asks about any such thing."""
    if len(question) > MAX_CHARS or _ODD.search(question) or depends_on_context(question):
        return False
    if _WHAT.search(question) and not _WHAT_FOR.search(question):  # a definition, which people seldom ask for
        return _PARTICULAR.search(question) is not None
    if question in text:
        return True
    named = any(
        not one["one"] or text.count(one["one"]) >= MIN_OCCURRENCES for one in _NAME.finditer(question)
    )
    plain = _ANY.search(question) or len(content_words(question)) > MAX_VAGUE_WORDS
    return named or bool(plain and _mean_count(question, text) >= MIN_OCCURRENCES)


def _mean_count(question: str, text: str) -> float:
    """The mean number of occurrences in the text of the words of the question."""
    words = [word.lower() for word in re.findall(r"\w{4,}", question)[1:]]
    return sum(text.lower().count(word) for word in words) / max(len(words), 1)


def is_near(candidate: Candidate, hits: Sequence[NodeWithScore]) -> bool:
    """Whether a passage of the question's own document is among the first MAX_RANK."""
    return any(hit.node.ref_doc_id == candidate.document_id for hit in hits[:MAX_RANK])


def _passages(store: Store, document_id: str, most: int) -> list[TextNode]:
    return store.nodes(spread(store.passage_ids(document_id), most))


def spread(values: Sequence[T], most: int) -> list[T]:
    """At most `most` values at equal distances, beginning with the first."""
    if len(values) <= most:
        return list(values)
    return [values[number * len(values) // most] for number in range(most)]
