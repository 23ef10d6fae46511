"""A person's library in one place: the folder on disk, its files, its passages, its conversations, and how to ask it.

Opening one is quick: no model is loaded until something is embedded or asked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lectern import keys
from lectern import settings as config
from lectern.ask.suggested_questions import SCHEMA as SUGGESTIONS_SCHEMA
from lectern.ask.suggested_questions import Suggestions
from lectern.db.conversations import SCHEMA as CONVERSATIONS_SCHEMA
from lectern.db.conversations import Conversations
from lectern.db.evaluations import SCHEMA as EVALUATIONS_SCHEMA
from lectern.db.evaluations import Evaluations
from lectern.db.feedback import SCHEMA as FEEDBACK_SCHEMA
from lectern.db.feedback import Feedback
from lectern.db.prompt_versions import SCHEMA as PROMPTS_SCHEMA
from lectern.db.prompt_versions import PromptVersions
from lectern.db.sentence_checks import SCHEMA as CHECKS_SCHEMA
from lectern.db.sentence_checks import Checks
from lectern.jobs.embedders import Embedders
from lectern.jobs.file_storage import unwritten
from lectern.jobs.files import ACTIVE, Added, FileRow, Link, check_size, process_name
from lectern.jobs.index_versions import IndexVersion
from lectern.jobs.open_library import open_parts
from lectern.jobs.rebuild import MadeWith, RebuildPlan, planned
from lectern.schema import Ask, Source
from lectern.settings import AppSettings, SplitterName, on_server
from ragcore.errors import (
    EmbeddingError,
    InputError,
    RagError,
    StillReadingError,
    StoreError,
    UnknownDocumentError,
    UnreadableFileError,
)
from ragcore.observe import condensed_question
from ragcore.questions import fixed_replies
from ragcore.schema import ChatMessage, Document, NodeWithScore, new_id
from ragcore.text.quote_places import first_place, place_of, quoted_from

if TYPE_CHECKING:
    from lectern.ask.pipeline import RetrievalPlan
    from lectern.jobs.sources import Gathered
    from ragcore.embeddings.base import Embedder
    from ragcore.llms.base import LLM
    from ragcore.readers.pdf.page_images import Box
    from ragcore.response_synthesizers.answer import AnswerStream
    from ragcore.response_synthesizers.estimate import Estimate
    from ragcore.retrievers.base import BaseRetriever

logger = logging.getLogger(__name__)

RESTART_SECONDS = 1.0  # before a worker that died is replaced; twice as long each time when it dies young
LONGEST_RESTART = 60.0  # seconds
YOUNG_SECONDS = 30.0
CLOSE_SECONDS = 5.0  # that a worker gets to end by itself
DEATHS = 3  # of workers over the same file, before the file is given up
LOG_BYTES = 1_000_000  # of the worker's log, before another is begun
LEFT_BEHIND_SECONDS = 24 * 3600.0  # before something that was never taken in is deleted
SURROUNDINGS = 1500  # characters of text shown on each side of a passage
SAMPLE = Path(__file__).parents[1] / "sample" / "documents"

EmbedderState = Literal["idle", "loading", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class Status:
    """What the lights on the home screen say. `bytes_on_disk`: documents, passages and conversations; `name`: where it is."""

    embedder: EmbedderState
    embedder_error: RagError | None
    llm_label: str
    files: int
    passages: int
    bytes_on_disk: int
    name: str


@dataclass(frozen=True, slots=True)
class Deleted:
    name: str
    passages: int
    bytes_freed: int


@dataclass(frozen=True, slots=True)
class SourceView:
    """A cited passage in its document: boxes on the images of its pages, or marked text with what surrounds it.

    `boxes`: percent of the page; of the page at `page_index` and of each after it that the passage reaches. `page_labels` are
    theirs, and `opens` is the index of the one that the source names. What is quoted from the passage has boxes of its own, or
    is `quoted`, (start, end) in `marked`.
    """

    kind: Literal["page", "text"]
    file_id: str
    file_name: str
    page_word: str
    page_labels: tuple[str, ...] = ()
    page_index: int = 0
    opens: int = 0
    page_count: int = 0
    boxes: tuple[tuple[Box, ...], ...] = ()
    quoted_boxes: tuple[tuple[Box, ...], ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()
    before: str = ""
    marked: str = ""
    after: str = ""


class Library:
    """Everything the screens and the command line use. One object serves all threads of a process.

    `embedder` and `llm` stand in for the bundled embedder and for the language model of the settings. `local`: the folder
    for what stays on this machine when the library is on a server; by default `config.default_folder()`.
    """

    def __init__(
        self, where: Path | str, *, embedder: Embedder | None = None, llm: LLM | None = None, local: Path | None = None
    ) -> None:
        self._where = where
        self.shared = on_server(where)  # with other machines
        self.folder = folder = (local or config.default_folder()) if self.shared else Path(where)
        self.incoming = folder / "incoming"
        self._make_folder()
        parts = open_parts(
            where,
            folder,
            CONVERSATIONS_SCHEMA,
            FEEDBACK_SCHEMA,
            CHECKS_SCHEMA,
            SUGGESTIONS_SCHEMA,
            PROMPTS_SCHEMA,
            EVALUATIONS_SCHEMA,
        )
        self.name, self.database, self.files, self.store = parts.name, parts.database, parts.files, parts.store
        self._settings = parts.settings
        self._settings.read()  # so that what cannot work is said now
        self.conversations = Conversations(self.database, clock=parts.clock)
        self.feedback = Feedback(self.database, clock=parts.clock)
        self.checks = Checks(self.database)
        self.prompts = PromptVersions(self.database, clock=parts.clock)
        self.suggestions = Suggestions(
            self.database, self.store, retriever=self.retriever, llm=self._own_llm, wording=self.prompts.current
        )
        self.evaluations = Evaluations(self.database, clock=parts.clock)
        self._embedders = Embedders(embedder or _bundled_embedder())
        self._given_llm = llm
        self._opened_llm: tuple[tuple[config.LLMSettings, str, str], LLM] | None = None
        self._embedder_state: EmbedderState = "idle"
        self._embedder_error: RagError | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._deleting = threading.Lock()  # one at a time, so that each is told of its own bytes

    def _make_folder(self) -> None:
        folder = self.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)  # documents, conversations and keys are their owner's alone
            self.incoming.mkdir(exist_ok=True)
            _clear(self.incoming)
        except OSError as error:
            if not self.shared and (folder / "library.db").exists():
                return  # it may only be read
            raise StoreError(
                f"The library's folder {folder} cannot be used: {error.strerror}.",
                hint="Check that it is a folder of your own, or name another in LECTERN_HOME.",
            ) from error

    @classmethod
    def open(cls, where: Path | str) -> Library:
        """The library in a folder, made when there is none, or on a server: postgresql://user:password@host:port/database.

        Of one on a server, keys, uploads on their way in, logs and copies of files are in this machine's default folder.
        """
        return cls(where)

    def close(self) -> None:
        """End the worker and close the database."""
        with self._lock:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is not None:
            if worker.stdin:
                worker.stdin.close()  # which it takes for the end
            try:
                worker.wait(CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                worker.terminate()
                worker.wait()
            with contextlib.suppress(StoreError):  # then the next worker waits until this one's silence is long enough
                self.files.release(process_name(worker.pid))
        self.store.close()
        self.database.close()

    @property
    def settings(self) -> AppSettings:
        """As they are now: another process may have changed them. ConfigError."""
        return self._settings.read()

    def update_settings(self, settings: AppSettings) -> None:
        """Keep the settings; the next answer and the next file use them."""
        before, after = self.settings.ingest, settings.ingest
        was = (before.chunk_size, before.chunk_overlap, before.splitter)
        if was != (after.chunk_size, after.chunk_overlap, after.splitter) and len(self.store):
            self.store.versions.remember(chunk_size=was[0], chunk_overlap=was[1], splitter=was[2])
        self._settings.write(settings)

    @property
    def embedder(self) -> Embedder:
        """Of the current index: what made its vectors embeds the questions too."""
        return self._embedders.of(self.store.versions.current()[1])

    @cached_property
    def secret(self) -> bytes:
        """Random bytes that all processes of the library know."""
        return config.shared_secret(self.database)

    # What is in it.

    def start_worker(self) -> None:
        """See to it that a worker process reads what is added, for as long as the library is open."""
        with self._lock:
            if self._worker is None and not self._closed:
                if not (self.shared or os.access(self.folder, os.W_OK)):
                    return  # what may only be read holds no work
                self._worker = self._spawn()
                threading.Thread(target=self._keep_worker, name="keep-worker", daemon=True).start()

    def _spawn(self) -> subprocess.Popen[bytes]:
        path = self.folder / "worker.log"
        with contextlib.suppress(OSError):  # not there yet, or held open by another worker
            if path.stat().st_size > LOG_BYTES:
                path.replace(path.with_suffix(".old.log"))
        with path.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "lectern.jobs.worker", str(self.folder)],
                env=self._worker_environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def _worker_environment(self) -> dict[str, str]:
        """Where the library is, if on a server: not an argument, as those are for all of the machine to see."""
        others = {name: value for name, value in os.environ.items() if name != config.DATABASE}
        return {**others, config.DATABASE: str(self._where)} if self.shared else others

    def _keep_worker(self) -> None:
        """Put another worker in the place of one that has died."""
        deaths: Counter[str] = Counter()
        pause = RESTART_SECONDS
        while (worker := self._worker) is not None:
            began = time.monotonic()
            status = worker.wait()
            if worker.stdin:
                worker.stdin.close()
            if self._closed:
                return
            logger.warning("the worker ended with status %d and is started again", status)
            try:
                self._release(process_name(worker.pid), deaths)
            except StoreError:
                logger.exception("what the worker held waits until its silence is long enough")
            pause = min(2 * pause, LONGEST_RESTART) if time.monotonic() - began < YOUNG_SECONDS else RESTART_SECONDS
            time.sleep(pause)
            with self._lock:
                if not self._closed:
                    try:
                        self._worker = self._spawn()
                    except OSError:
                        logger.exception("the worker cannot be started; another attempt follows")

    def _release(self, process: str, deaths: Counter[str]) -> None:
        """Queue what a dead worker held, unless it is what workers die of."""
        for file in self.files.release(process):
            deaths[file.id] += 1
            if deaths[file.id] >= DEATHS:
                del deaths[file.id]
                error = UnreadableFileError(
                    f"{file.name} was given up: the process that reads it ended {DEATHS} times.",
                    hint="It may need more memory than there is. Split it into several files, or close other programs "
                    "and try again.",
                )
                self.files.give_up(file.id, error)

    @property
    def has_work(self) -> bool:
        """Whether there is something for a worker to do: files to be read, or an index to be made anew."""
        coming = self.rebuilding()
        return bool(self.files.all(*ACTIVE, limit=1)) or (coming is not None and coming.state == "building")

    def add(self, source: Path, name: str, *, origin: str = "", beside: bool = False) -> Added:
        """Take a copy of a file in; the worker reads it. What lies in `incoming` is the library's own by then, and is moved.
        `beside`: see `Files.add`. InputError when it cannot be taken, OSError when it cannot be read."""
        if source.parent != self.incoming:
            source = self._copied(source, name)
        return self.files.add(source, name, self.settings.ingest, origin=origin, beside=beside)

    def _copied(self, source: Path, name: str) -> Path:
        """A copy in `incoming`."""
        copy = self.incoming / f"{new_id()}{source.suffix}"
        with source.open("rb") as given:
            check_size(name, source.stat().st_size, self.settings.ingest)  # before a copy of it fills the disk
            try:
                with copy.open("wb") as taken:
                    shutil.copyfileobj(given, taken)
            except OSError as error:
                with contextlib.suppress(OSError):
                    copy.unlink()
                raise unwritten(copy, error) from error
        return copy

    def take(self, gathered: Iterable[Gathered], *, beside: bool = False) -> list[Added]:
        """Take in what a source gives, see lectern.jobs.sources. A file that cannot be taken is a failed row instead.
        `beside`: see `Files.add`."""
        taken = []
        for file in gathered:
            try:
                if file.problem is not None:
                    raise file.problem
                taken.append(self.add(file.path, file.name, origin=file.origin, beside=beside))
            except InputError as error:
                self.files.refuse(file.name, 0, error)
        return taken

    def add_link(self, address: str, *, anywhere: bool = False) -> FileRow:
        """Queue what is at a web link; the worker fetches it. `anywhere`: see `Link`."""
        return self.files.add_link(Link(address, anywhere))

    def add_sample(self) -> list[Added]:
        """Take in the sample documents."""
        return [self.add(path, path.name) for path in sorted(SAMPLE.iterdir())]

    def delete_file(self, file_id: str) -> Deleted:
        """Remove a file with its text, passages and vectors."""
        file = self.files.get(file_id)
        if file is None:
            raise UnknownDocumentError(file_id)
        with self._deleting:
            before = self._bytes()
            passages = 0
            with self.files.forgetting(file_id), contextlib.suppress(UnknownDocumentError):  # it never got that far
                passages = self.store.take_out(file_id)
            if passages or file.done or self.shared:  # vectors of a file that was stopped; on a server its bytes, too
                self.store.give_room_back()
            return Deleted(file.name, passages, max(before - self._bytes(), 0))

    # Making its index anew.

    def plan_rebuild(
        self,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embed_model: str | None = None,
        splitter: SplitterName | None = None,
    ) -> RebuildPlan:
        """What `rebuild` would change and take. What is not given is as in the settings, the embed_model as it is now.

        ConfigError for an overlap (tokens) that is not smaller than the passages.
        """
        after = self._making(chunk_size, chunk_overlap, embed_model, splitter)
        return planned(self.store, self.files.costs(), self.made_with(), after)

    def rebuild(
        self,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embed_model: str | None = None,
        splitter: SplitterName | None = None,
    ) -> RebuildPlan:
        """Have the worker make the index anew from the stored documents, with other settings, which new files get too.

        The current index answers until the new one is whole. See `rebuilding`. An `embed_model` is "" for the built-in one,
        "hashing", or the name or folder of a sentence-transformers model.
        """
        after = self._making(chunk_size, chunk_overlap, embed_model, splitter)
        plan = planned(self.store, self.files.costs(), self.made_with(), after)
        size, overlap, cut, settings = after.chunk_size, after.chunk_overlap, after.splitter, self.settings
        ingest = settings.ingest.model_copy(update={"chunk_size": size, "chunk_overlap": overlap, "splitter": cut})
        self.update_settings(settings.model_copy(update={"ingest": ingest}))
        self.store.versions.begin(embed_model=after.embed_model, chunk_size=size, chunk_overlap=overlap, splitter=cut)
        return plan

    def rebuilding(self) -> IndexVersion | None:
        """The index that is being made, stopped or failed on its way; None when there is none."""
        return self.store.versions.coming()

    def stop_rebuild(self) -> None:
        """Within a second; what is made so far is kept for `resume_rebuild`."""
        self.store.versions.stop()

    def resume_rebuild(self) -> None:
        self.store.versions.resume()

    def give_up_rebuild(self) -> None:
        """The worker drops what was made so far."""
        self.store.versions.give_up()

    def _making(
        self, chunk_size: int | None, chunk_overlap: int | None, embed_model: str | None, splitter: SplitterName | None
    ) -> MadeWith:
        ingest, model = self.settings.ingest, self.store.versions.current()[1]
        return MadeWith(
            ingest.chunk_size if chunk_size is None else chunk_size,
            ingest.chunk_overlap if chunk_overlap is None else chunk_overlap,
            ingest.splitter if splitter is None else splitter,
            model if embed_model is None else embed_model,
        )

    def made_with(self) -> MadeWith:
        """The current index."""
        versions, ingest = self.store.versions, self.settings.ingest
        sizes = versions.sizes()
        if sizes is None:
            return MadeWith(ingest.chunk_size, ingest.chunk_overlap, ingest.splitter, versions.current()[1])
        return MadeWith(*sizes, versions.splitter(), versions.current()[1])

    def status(self) -> Status:
        ready, _ = self.files.ready_and_bytes()
        return Status(
            embedder=self._embedder_state,
            embedder_error=self._embedder_error,
            llm_label=self._llm_label(),
            files=ready,
            passages=len(self.store),
            bytes_on_disk=self._bytes(),
            name=self.name,
        )

    def _bytes(self) -> int:
        """Of documents, passages and conversations; the folder of each document need not be looked into."""
        stored = self.store.bytes_on_disk()
        return stored if self.shared else stored + self.files.ready_and_bytes()[1]  # the tables of a server hold documents too

    def warm(self) -> None:
        """Load the embedder now, so that the first question does not wait for it."""
        self._embedder_state = "loading"
        try:
            self.embedder.embed_query("ready")
        except RagError as error:
            self._embedder_state, self._embedder_error = "failed", error
        except Exception:  # in a thread of its own: the lights must say what nobody else would hear of
            logger.exception("the embedder could not be loaded")
            self._embedder_error = EmbeddingError(
                "The embedder could not be loaded.", hint="Install Lectern again. If that does not help, please report it."
            )
            self._embedder_state = "failed"
        else:
            self._embedder_state, self._embedder_error = "ready", None

    @property
    def getting_ready(self) -> bool:
        """Whether the embedder is being loaded; a question waits for it."""
        return self._embedder_state == "loading"

    # Asking it.

    def llm(self, *, extractive: bool = False) -> LLM:
        """The language model of the settings, or the extractive reader."""
        from lectern.models import open_llm

        if self._given_llm is not None and not extractive:
            return self._given_llm
        chosen = config.LLMSettings() if extractive else self.settings.llm
        key, embedder = keys.read_key(self.folder, chosen.provider), self.embedder
        with self._lock:
            if self._opened_llm is None or self._opened_llm[0] != (chosen, key, embedder.name):
                self._opened_llm = ((chosen, key, embedder.name), open_llm(chosen, key, embedder=embedder))
            return self._opened_llm[1]

    def _own_llm(self) -> LLM:
        """The language model where it is on this computer: what nobody asked for is sent nowhere else."""
        chosen = self.settings.llm
        return self.llm(extractive=self._given_llm is None and not (chosen.on_this_computer and chosen.model.strip()))

    def retriever(self, top_k: int, file_ids: Sequence[str] | None = None) -> BaseRetriever:
        """Passages by meaning and words; for a summary of everything, the central ones of every document."""
        return self._finding(Ask("", top_k=top_k, file_ids=None if file_ids is None else tuple(file_ids))).retriever

    def passages(self, ask: Ask) -> list[NodeWithScore]:
        """The passages that would answer."""
        return self._finding(ask).passages(ask.question)

    def answer(self, ask: Ask, history: Sequence[ChatMessage] = ()) -> AnswerStream:
        """Begin to answer: in a conversation when the ask has a chat mode, on its own otherwise.

        StillReadingError where it is put to documents and none of them has been read yet.
        """
        from lectern.ask.pipeline import answer, answer_each

        if (reading := self.being_read(ask)) and not self._has_passages(ask.file_ids):
            raise StillReadingError(reading)
        llm, finding = self.llm(extractive=ask.extractive), self._finding(ask)
        system_prompt, wording = self.settings.answers.system_prompt, self.prompts.current()
        if ask.reading == "each_file":
            return answer_each(
                ask,
                self.asked(ask),
                llm=llm,
                finding_of=lambda file_id: self._finding(replace(ask, file_ids=(file_id,))),
                wording=wording,
            )
        return answer(ask, history, llm=llm, finding=finding, system_prompt=system_prompt, wording=wording)

    def nearest(self, ask: Ask, answer: AnswerStream) -> str:
        """Where no answer was found to quote: that, and what comes nearest to one. "" where nothing does, and for others."""
        from ragcore.extractive.answerer import ExtractiveLLM
        from ragcore.response_synthesizers.synthesizer import passages_from

        llm = self.llm(extractive=ask.extractive)
        if not isinstance(llm, ExtractiveLLM) or answer.text not in fixed_replies.NOT_FOUND.values():
            return ""
        near = llm.nearest(condensed_question(answer.trace) or ask.question, passages_from(answer.source_nodes))
        return fixed_replies.with_nearest(answer.text, near) if near else ""

    def being_read(self, ask: Ask) -> int:
        """How many of the documents that it is put to are still being read."""
        if ask.without_documents:
            return 0
        return sum(file.active and (ask.file_ids is None or file.id in ask.file_ids) for file in self.files.all())

    def _has_passages(self, file_ids: Sequence[str] | None) -> bool:
        return len(self.store) > 0 if file_ids is None else any(self.store.passage_ids(file_id) for file_id in file_ids)

    def asked(self, ask: Ask) -> dict[str, str]:
        """The documents that can answer, by id, in the order of their names."""
        chosen = [file for file in self.files.all() if file.ready and (ask.file_ids is None or file.id in ask.file_ids)]
        return {file.id: file.name for file in sorted(chosen, key=lambda file: (file.name.casefold(), file.id))}

    def price(self, ask: Ask) -> Estimate:
        """What answering would take: the passages are looked up, the model is not asked."""
        from lectern.ask.pipeline import price

        llm, finding, wording = self.llm(extractive=ask.extractive), self._finding(ask), self.prompts.current()
        return price(ask, llm=llm, finding=finding, wording=wording)

    def _finding(self, ask: Ask) -> RetrievalPlan:
        from lectern.ask.pipeline import finding

        # One index for the whole answer, and what made it, whichever is the current one when the question is embedded.
        name, embed_model = self.store.answering()
        return finding(ask, self.store.index(name), self._embedders.of(embed_model))

    # Looking at what an answer was made from.

    def sources(self, nodes: Sequence[NodeWithScore], first: int = 1) -> list[Source]:
        """The passages of an answer as it keeps them; [n] in its text is the n-th, counted from `first`."""
        return [
            Source(
                number=number,
                node_id=found.node.id_,
                file_id=str(found.node.ref_doc_id),
                file_name=str(found.node.metadata["file_name"]),
                start=found.node.start_char_idx or 0,
                end=found.node.end_char_idx or 0,
                text=found.node.text,
                score=found.score,
                page_label=_text(found.node.metadata.get("page_label")),
                page_word=str(found.node.metadata.get("page_word", "page")),
                page_index=_index(found.node.metadata.get("page_index")),
            )
            for number, found in enumerate(nodes, first)
        ]

    def at_quotes(self, sources: Sequence[Source], answer: str) -> tuple[Source, ...]:
        """The sources, each with the page of the first sentence that the answer quotes from it, where it has several pages."""
        quoted, document_of = quoted_from(answer), cache(self.store.document)

        def at_quote(source: Source) -> Source:
            place = first_place(quoted.get(source.number, ()), source.text) if source.page_label else None
            if not place:  # nothing, or the passage's first words
                return source
            return replace(source, page_label=_part(source, place, len(source.text), document_of).page_label)

        return tuple(map(at_quote, sources))

    def at_sentence(self, source: Source, sentence: str) -> Source:
        """This sentence of the source alone, with its own page; the source where its document no longer holds it so."""
        place = place_of(sentence, source.text)
        return _part(source, *place, self.store.document) if place else source

    def source_view(self, source: Source, quoted: Sequence[tuple[int, int]] = ()) -> SourceView:
        """The passage in its document as that is now. InputError when the document is gone or no longer says it.

        `quoted`: (start, end) in the text of the source of what stands out within it.
        """
        file = self.files.get(source.file_id)
        try:
            document = self.store.document(source.file_id)
        except UnknownDocumentError:
            file = None
        if file is None:
            raise InputError(
                f"{source.file_name} has been deleted since this answer was given.",
                hint="The passage itself was kept with the answer and is shown below.",
            )
        start, end = source.start, source.end
        if document.text[start:end] != source.text:
            start = document.text.find(source.text)
            end = start + len(source.text)
            if start < 0:
                raise InputError(
                    f"{source.file_name} has changed since this answer was given, and no longer holds this passage.",
                    hint="Ask again to get an answer from the document as it is now.",
                )
        page = document.page_at(start)
        # A file that was replaced answers from its old text until the new one is read; the pages of the new one do not fit it.
        if file.kind == "PDF" and page is not None and document.metadata.get("path") == file.path:
            index = document.pages.index(page)
            last = bisect_left(document.pages, end, key=lambda page: page.start)  # the first that begins after the passage
            reached = range(index, max(last, index + 1))
            labels = tuple(document.pages[each].label for each in reached)
            opens = index + (labels.index(source.page_label) if source.page_label in labels else 0)
            boxes, quoted_boxes = self._boxes(file, reached, source.text, quoted)
            return SourceView(
                "page",
                file.id,
                file.name,
                document.page_word,
                labels,
                index,
                opens,
                len(document.pages),
                boxes=tuple(map(tuple, boxes)),
                quoted_boxes=tuple(map(tuple, quoted_boxes)),
            )
        return SourceView(
            "text",
            file.id,
            file.name,
            document.page_word,
            before=document.text[max(start - SURROUNDINGS, 0) : start],
            marked=document.text[start:end],
            quoted=tuple(quoted),
            after=document.text[end : end + SURROUNDINGS],
        )

    def page_image(self, file_id: str, page_index: int, scale: float = 1.6) -> bytes:
        """A page of a PDF as an image; `scale` 1.0 is 72 dots per inch. UnknownDocumentError, InputError."""
        from lectern.jobs.sandbox import draw_isolated
        from ragcore.readers.base import ReadOptions

        file = self.files.get(file_id)
        if file is None or file.kind != "PDF":
            raise UnknownDocumentError(file_id)
        options, memory_mb = ReadOptions(file.name, self.files.password(file_id)), self.settings.ingest.read_memory_mb
        return draw_isolated(self.files.location(file), page_index, options, scale=scale, memory_mb=memory_mb)

    def _boxes(
        self, file: FileRow, page_indexes: Sequence[int], quote: str, parts: Sequence[tuple[int, int]]
    ) -> tuple[list[list[Box]], list[list[Box]]]:
        from lectern.jobs.sandbox import find_isolated
        from ragcore.readers.base import ReadOptions

        options, memory_mb = ReadOptions(file.name, self.files.password(file.id)), self.settings.ingest.read_memory_mb
        return find_isolated(self.files.location(file), page_indexes, quote, options, parts=parts, memory_mb=memory_mb)

    def _llm_label(self) -> str:
        llm = self.settings.llm
        if llm.provider == "none":
            return "none: quoting exact passages"
        if llm.provider == "openai":
            return f"{llm.model} at OpenAI"
        return f"{llm.model} at {llm.base_url or 'localhost:11434'}".replace("http://", "").replace("https://", "")


def _bundled_embedder() -> Embedder:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding  # light; the model is loaded when first used

    return HuggingFaceEmbedding()


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _index(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _part(source: Source, start: int, end: int, document_of: Callable[[str], Document]) -> Source:
    """`source.text[start:end]` as a source with the page that it begins on."""
    try:
        document = document_of(source.file_id)
    except StoreError:  # deleted since the answer was given, or damaged
        return source
    page = document.page_at(source.start + start)
    if document.text[source.start : source.end] != source.text:
        return source
    part = replace(source, start=source.start + start, end=source.start + end, text=source.text[start:end])
    return replace(part, page_label=page.label) if page and source.page_label else part


def _clear(incoming: Path) -> None:
    """Delete what was on its way in when an earlier process ended."""
    oldest = time.time() - LEFT_BEHIND_SECONDS
    for path in incoming.iterdir():
        with contextlib.suppress(OSError):  # taken in meanwhile, or not ours: no reason not to open the library
            if path.stat().st_mtime < oldest:
                path.unlink()
