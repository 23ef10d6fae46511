"""A person's library: its folder, files, passages, conversations and answers.

It opens fast, because models are loaded when they are first used.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lectern import keys
from lectern import settings as config
from lectern.ask import suggested_questions
from lectern.ask.asked_documents import count_unread, list_asked
from lectern.db import (
    conversations,
    document_groups,
    earlier_replies,
    evaluations,
    feedback,
    notes,
    prompt_versions,
    questions_to_repeat,
    sentence_checks,
)
from lectern.db.integrity import IntegrityCheck
from lectern.jobs.embedders import BUILT_IN, MULTILINGUAL, EmbedderLoader, Embedders, EmbedderState
from lectern.jobs.intake import Intake
from lectern.jobs.open_library import open_parts
from lectern.jobs.rebuild import Rebuilds
from lectern.jobs.worker_process import WorkerProcess
from lectern.schema import Ask
from lectern.settings import AppSettings, on_server
from ragcore.errors import RagError, StillReadingError, StoreError, UnknownDocumentError
from ragcore.schema import ChatMessage, NodeWithScore

if TYPE_CHECKING:
    from lectern.ask.library_answers import LibraryReply
    from lectern.ask.pipeline import RetrievalPlan
    from ragcore.embeddings.base import Embedder
    from ragcore.extractive.answerer import Writer
    from ragcore.response_synthesizers.answer import AnswerStream
    from ragcore.response_synthesizers.attribution import AnswerCheck
    from ragcore.retrievers.base import BaseRetriever

logger = logging.getLogger(__name__)

TABLES = (
    conversations,
    feedback,
    notes,
    document_groups,
    sentence_checks,
    questions_to_repeat,
    suggested_questions,
    prompt_versions,
    evaluations,
)
STALE_SECONDS = 24 * 3600.0  # before an incoming file that was never added is deleted


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a library. `bytes_on_disk`: documents, passages and conversations; `name`: its place."""

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


class Library:
    """Documents, their passages, and conversations about them. The screens call it an index. All threads of a
    process share one object.

    `embedder` and `llm` replace the bundled embedder and the language model of the settings. `local`: the
    folder for local files of a library on a server; by default `config.default_folder()`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, contextlib.closing(Library.open(folder)) as library:
    ...     library.status().files, library.settings.answers.top_k
    (0, 6)
    """

    def __init__(
        self,
        where: Path | str,
        *,
        embedder: Embedder | None = None,
        llm: Writer | None = None,
        local: Path | None = None,
    ) -> None:
        self.shared = on_server(where)
        if not self.shared:
            where = local = config.absolute_path(where)
        self.folder = folder = config.absolute_path(local or config.default_folder())
        self.incoming = folder / "incoming"
        self._make_folder()
        parts = open_parts(where, folder, *(module.SCHEMA for module in TABLES))
        self.name, self.database, self.files, self.store = (
            parts.name,
            parts.database,
            parts.files,
            parts.store,
        )
        self._settings = parts.settings
        self._settings.read()  # raises ConfigError now
        self._migrate()
        self.conversations = conversations.Conversations(self.database, clock=parts.clock)
        self.feedback = feedback.Feedback(self.database, clock=parts.clock)
        self.notes = notes.Notes(self.database, clock=parts.clock)
        self.groups = document_groups.DocumentGroups(self.database)
        self.checks = sentence_checks.Checks(self.database)
        self.questions_to_repeat = questions_to_repeat.QuestionsToRepeat(self.database)
        self.prompts = prompt_versions.PromptVersions(self.database, clock=parts.clock)
        self.suggestions = suggested_questions.Suggestions(
            self.database,
            self.store,
            retriever=self.retriever,
            writer=self._own_writer,
            wording=self.prompts.current,
        )
        self.evaluations = evaluations.Evaluations(self.database, clock=parts.clock)
        self.integrity = IntegrityCheck(self.database)
        self.intake = Intake(self.files, parts.settings, self.incoming)
        self.worker = WorkerProcess(where, folder, self.files)
        self.rebuilds = Rebuilds(self.files, self.store, parts.settings)
        self.embedder_loader = EmbedderLoader(lambda: self.embedder)
        self._embedders = Embedders(embedder or _bundled_embedder())
        self._given_llm = llm
        self._answer_check: AnswerCheck | None = None
        # by whether it is the quoter
        self._opened_writers: dict[bool, tuple[tuple[config.LLMSettings, str, str], Writer]] = {}
        self._lock = threading.Lock()
        self._deleting = threading.Lock()  # one deletion at a time, because each counts its own bytes

    def _migrate(self) -> None:
        """Brings a library of an earlier version up to date, if it can be written."""
        if self.shared or (self.folder / "library.db").exists():
            try:
                earlier_replies.migrate(self.database)
            except StoreError as error:  # whoever needs the database gets the error
                logger.warning("earlier answers could not be brought up to date: %s", error)

    def _make_folder(self) -> None:
        folder = self.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)  # only the owner may read documents, conversations and keys
            self.incoming.mkdir(exist_ok=True)
            _delete_old(self.incoming)
        except OSError as error:
            if not self.shared and (folder / "library.db").exists():
                return  # it is read-only
            raise StoreError(
                f"The library's folder {folder} cannot be used: {error.strerror}.",
                hint="Check that the folder belongs to you, or name another one in LECTERN_HOME.",
            ) from error

    @classmethod
    def open(cls, where: Path | str) -> Library:
        """Open or create the library in a folder, or on a server:
        postgresql://user:password@host:port/database.

        For a library on a server, keys, uploads, logs and copies of files are in this machine's default
        folder.
        """
        return cls(where)

    def close(self) -> None:
        """End the worker and close the database."""
        self.integrity.stop()
        self.worker.close()
        self.store.close()
        self.database.close()

    @property
    def settings(self) -> AppSettings:
        """The current settings, with the changes of all processes. ConfigError."""
        return self._settings.read()

    def update_settings(self, settings: AppSettings) -> None:
        """Store the settings for the next answer and the next file."""
        self.rebuilds.record_settings(settings.ingest)
        self._settings.write(settings)

    @property
    def embedder(self) -> Embedder:
        """The embedder of the current version, see `IndexVersions`."""
        return self._embedders.of(self.store.versions.current().embed_model)

    def suit_reader(self, language: str) -> None:
        """Choose the embedder of a new library by the reader's language, such as "de-AT", or "" for
        unknown."""
        if embed_model := self._embedders.for_reader(language):
            self.store.choose(embed_model)

    def suit_copy(self, embedder: str) -> None:
        """Choose the built-in embedder with this name for a new library, so that it can use the vectors of a
        copy."""
        for embed_model in (BUILT_IN, MULTILINGUAL):
            if self._embedders.of(embed_model).name == embedder:
                self.store.choose(embed_model)

    @property
    def knows_only_english(self) -> bool:
        """Whether the current version has the built-in embedder for English."""
        return self.store.versions.current().embed_model == BUILT_IN and self._embedders.knows_only_english()

    @property
    def answer_check(self) -> AnswerCheck:
        """The check of answers with the current embedder, and a cache of sentences."""
        from ragcore.response_synthesizers.attribution import AnswerCheck

        embedder = self.embedder
        if self._answer_check is None or self._answer_check.embedder is not embedder:
            self._answer_check = AnswerCheck(embedder)
        return self._answer_check

    @cached_property
    def secret(self) -> bytes:
        """Random bytes that all processes of the library share, to sign upload tickets."""
        return config.shared_secret(self.database)

    def damage(self) -> list[RagError]:
        """The known damage of the library, and what to do about it."""
        return [
            error for error in (self.integrity.problem, keys.damaged_keys(self.folder)) if error is not None
        ]

    def delete_file(self, file_id: str) -> Deleted:
        """Delete a file with its text, passages and vectors."""
        file = self.files.get(file_id)
        if file is None:
            raise UnknownDocumentError(file_id)
        with self._deleting:
            before = self._bytes()
            passages = self._delete_rows(file_id)
            # vectors, perhaps of a stopped file; on a server also its bytes
            if passages or file.done or self.shared:
                self.store.free_space()
            return Deleted(file.name, passages, max(before - self._bytes(), 0))

    def delete_everything(self) -> None:
        """Delete all documents, conversations, notes, and question sets with their results. Settings, prompts
        and keys stay."""
        self.conversations.delete_all()
        for note in self.notes.all():
            self.notes.delete(note.id)
        for question_set in self.evaluations.sets():
            self.evaluations.delete_set(question_set.id)
        with self._deleting:
            for file in self.files.all():
                self._delete_rows(file.id)
            self.suggestions.delete_all()
            self.store.free_space()

    def _delete_rows(self, file_id: str) -> int:
        """Delete a file with its text; returns the number of its passages."""
        with self.files.remove_with(file_id), contextlib.suppress(UnknownDocumentError):  # not stored yet
            return self.store.delete_rows(file_id)
        return 0

    def status(self) -> Status:
        ready, _ = self.files.ready_and_bytes()
        return Status(
            embedder=self.embedder_loader.state,
            embedder_error=self.embedder_loader.error,
            llm_label=self._llm_label(),
            files=ready,
            passages=len(self.store),
            bytes_on_disk=self._bytes(),
            name=self.name,
        )

    def _bytes(self) -> int:
        """The size of documents, passages and conversations."""
        stored = self.store.bytes_on_disk()
        # On a server, documents are in its tables.
        return stored if self.shared else stored + self.files.ready_and_bytes()[1]

    def writer(self, *, extractive: bool = False) -> Writer:
        """The language model of the settings, or the engine that quotes."""
        if self._given_llm is not None and not extractive:
            return self._given_llm
        chosen = config.LLMSettings() if extractive else self.settings.llm
        keys.bind_keys(self.folder, self.settings)
        quotes, embedder = chosen.provider == "none", self.embedder
        key = "" if quotes else keys.read_key(self.folder, chosen.provider, chosen.base_url)
        with self._lock:
            if quotes and not extractive:
                self._opened_writers.pop(False, None)  # the model of the settings before
            opened = self._opened_writers.get(quotes)
            if opened is None or opened[0] != (chosen, key, embedder.name):
                writer = _open_quoter(embedder) if quotes else self._open_model(chosen, key)
                opened = self._opened_writers[quotes] = (chosen, key, embedder.name), writer
            return opened[1]

    def _open_model(self, chosen: config.LLMSettings, key: str) -> Writer:
        from lectern.models import open_llm  # imports the clients of all servers

        return open_llm(chosen, key, home=config.home_of(self.folder))

    def _own_writer(self) -> Writer:
        """The language model if it is on this computer, else the quoter. For requests without a question."""
        chosen = self.settings.llm
        return self.writer(
            extractive=self._given_llm is None and not (chosen.on_this_computer and chosen.model.strip())
        )

    def retriever(self, top_k: int, file_ids: Sequence[str] | None = None) -> BaseRetriever:
        """A retriever by meaning and words; for a summary of everything, of the central passages of each
        document."""
        return self._plan(
            Ask("", top_k=top_k, file_ids=None if file_ids is None else tuple(file_ids))
        ).retriever

    def passages(self, ask: Ask) -> list[NodeWithScore]:
        """The passages for an answer."""
        return self._plan(ask).passages(ask.question)

    def answer(
        self, ask: Ask, history: Sequence[ChatMessage] = (), *, writer: Writer | None = None
    ) -> AnswerStream:
        """Start an answer by `writer`, by default that of the settings, in a conversation if the ask has a
        chat mode. It needs no writer if `reply_to` has a reply. StillReadingError before any of its documents
        is read."""
        from lectern.ask.library_answers import stream_reply
        from lectern.ask.pipeline import answer, answer_each

        if unread := count_unread(self.files, ask):
            ids = ask.file_ids
            if not (
                len(self.store) if ids is None else any(self.store.passage_ids(file_id) for file_id in ids)
            ):
                raise StillReadingError(unread)
        if reply := self.reply_to(ask):
            return stream_reply(ask, reply)
        writer, plan = writer or self.writer(extractive=ask.extractive), self._plan(ask)
        system_prompt, wording = self.settings.answers.system_prompt, self.prompts.current()
        if ask.reading == "each_file":
            return answer_each(
                ask,
                list_asked(self.files, ask),
                writer=writer,
                plan_of=lambda file_id: self._plan(replace(ask, file_ids=(file_id,))),
                wording=wording,
            )
        return answer(ask, history, writer=writer, plan=plan, system_prompt=system_prompt, wording=wording)

    def reply_to(self, ask: Ask) -> LibraryReply | None:
        """The reply to a question about the library or for the text of a page, which needs neither a search
        nor a model; None for any other question.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, contextlib.closing(Library.open(folder)) as library:
        ...     library.reply_to(Ask("How many documents are there?")).text
        'There are no documents.'
        """
        from lectern.ask.library_answers import reply_from_library

        return reply_from_library(ask, self.files, self.store)

    def _plan(self, ask: Ask) -> RetrievalPlan:
        from lectern.ask.library_answers import passages_of_location
        from lectern.ask.pipeline import plan_retrieval

        # The whole answer uses one version and its embedder, even if another becomes current meanwhile.
        name, embed_model = self.store.read_current()
        quoting = ask.extractive or (self._given_llm is None and self.settings.llm.provider == "none")
        index, embedder = self.store.version(name), self._embedders.of(embed_model)
        of_location = passages_of_location(ask, self.files, index)
        return plan_retrieval(ask, index, embedder, quoting=quoting, of_location=of_location)

    def _llm_label(self) -> str:
        llm = self.settings.llm
        if llm.provider == "none":
            return "none: quoting exact passages"
        if llm.provider == "openai":
            return f"{llm.model} at OpenAI"
        if llm.provider == "llama_cpp":
            return f"{Path(llm.model).name} on this computer"
        from ragcore.llms.server_address import OLLAMA_URL  # loads httpx

        return f"{llm.model} at {llm.base_url or OLLAMA_URL}".replace("http://", "").replace("https://", "")


def _open_quoter(embedder: Embedder) -> Writer:
    from ragcore.extractive.quoter import Quoter

    return Quoter(embedder)


def _bundled_embedder() -> Embedder:
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    return HuggingFaceEmbedding()


def _delete_old(incoming: Path) -> None:
    """Delete incoming files of processes that have ended."""
    oldest = time.time() - STALE_SECONDS
    for path in incoming.iterdir():
        with contextlib.suppress(OSError):  # added meanwhile, or of another user
            if path.stat().st_mtime >= oldest:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
