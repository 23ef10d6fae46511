"""Writes answers. Each has a thread of this process that stores it in the library as it grows; screens only
follow it.

So a reload, a closed tab or a second one loses nothing, and after Stop the text so far stays.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace

from lectern.ask.answer_parts import find_parts
from lectern.ask.asked_documents import count_unread
from lectern.ask.per_document import AnswerPerDocument
from lectern.explain.source_view import locate_quotes
from lectern.library import Library
from lectern.runs.call_in_flight import CallInFlight, CallWatch, ReadPrompts
from lectern.runs.shared_passages import SharedPassages
from lectern.schema import AnswerFacts, Ask, FileAnswer, Message, Price, Source, State, build_sources
from lectern.settings import PriceSettings
from ragcore.errors import InputError, Problem, QuestionError, RagError, StoreError
from ragcore.extractive.answerer import Writer
from ragcore.extractive.quoter import NAME, Quoter
from ragcore.llms.call_queue import Cancellation, cancellable
from ragcore.observe import Span, Tokens, condensed_question
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.progress import Progress
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, Outcome
from ragcore.sql.sqlite import NoRoomError
from ragcore.text.tokens import count_tokens

logger = logging.getLogger(__name__)

QUESTION_CHARS = 8000  # Maximum length of a question. A longer text should be a document.
WRITE_SECONDS = 1.0  # between two writes of an unfinished answer
MAX_RETRY_SECONDS = 15.0  # between two attempts to store the end of an answer


class AlreadyAnsweringError(InputError):
    def __init__(self) -> None:
        super().__init__(
            "This conversation is still waiting for an answer.", hint="Wait for the answer, or stop it."
        )


class Run:
    """Writes one answer. `text` grows until `finished`."""

    def __init__(
        self,
        library: Library,
        message: Message,
        history: list[ChatMessage],
        expected: Price | None = None,
        same: SharedPassages | None = None,
        read_prompts: ReadPrompts | None = None,
    ) -> None:
        self._library = library
        self._history = history
        self._expected = expected
        self._same = same
        self._read_prompts = read_prompts or ReadPrompts()
        self._message = message
        self._ask = message.ask or Ask("")
        self._changed = threading.Condition()
        self._state: State = "writing"
        self._began = time.perf_counter()
        self._cancellation = Cancellation()
        self._problem: Problem | None = None
        self._facts: AnswerFacts | None = None
        self._trace: Span | None = None
        self._answering: AnswerStream | None = None
        self._watch: CallWatch | None = None
        self._writer: Writer | None = None
        self._price, self._is_free = PriceSettings(), True
        self._unread = 0
        self._unready = False
        self.conversation_id = message.conversation_id
        self.message_id = message.id
        self.text = ""
        self._attributed = ""  # the finished text with checked citations
        self._outcome: Outcome = "answer"
        self.sources: tuple[Source, ...] = ()
        threading.Thread(target=self._run_thread, name=f"answer-{self.message_id}", daemon=True).start()
        threading.Thread(target=self._write_forever, name=f"write-{self.message_id}", daemon=True).start()

    @property
    def is_finished(self) -> bool:
        return self._state != "writing"

    @property
    def progress(self) -> Progress | None:
        """The progress before the first word, if it is known."""
        return self._answering.progress() if self._answering else None

    @property
    def call(self) -> CallInFlight | None:
        """The current call to the language model."""
        return self._watch.look() if self._watch else None

    @property
    def standalone_question(self) -> str:
        """As that of the message will be: it is known before the first word."""
        trace = self._answering.trace if self._answering else None
        return condensed_question(trace) or self._ask.question

    @property
    def rows(self) -> tuple[FileAnswer, ...]:
        """The answers for each document so far, if each is asked separately."""
        return self._answering.rows if isinstance(self._answering, AnswerPerDocument) else ()

    def stop(self) -> None:
        """End the answer with its text so far, and cancel the call of the model."""
        try:
            self._end("stopped")
        finally:
            self._cancellation.cancel()

    def follow(self, hz: float = 20.0) -> Iterator[str]:
        """Pieces of the text from its beginning, at most `hz` a second; "" after half a second without
        text."""
        position = 0
        while True:
            with self._changed:
                if len(self.text) == position and not self.is_finished:
                    self._changed.wait(timeout=0.5)
                piece, is_finished = self.text[position:], self.is_finished
            position += len(piece)
            yield piece
            if is_finished:
                return
            time.sleep(1.0 / hz)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether the run has finished within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.is_finished, timeout=timeout)

    def _run_thread(self) -> None:
        with cancellable(self._cancellation):
            try:
                self._stream_answer()
                self._end("done")
            except RagError as error:
                self._fail(Problem.of(error))
            except Exception:  # a bug must end the answer, or the screen waits forever
                logger.exception("answer %s failed", self.message_id)
                hint = "Try again. If it happens again, please report it."
                problem = Problem("The answer could not be finished.", hint)
                self._fail(self._library.integrity.explain(problem))
        if self._state == "stopped" and self._answering is not None and self._answering.trace is not None:
            try:  # its steps have ended only now
                self._library.conversations.save_trace(self.message_id, self._answering.trace)
            except StoreError as error:
                logger.warning("the trace of answer %s could not be written: %s", self.message_id, error)

    def _stream_answer(self) -> None:
        """Append pieces to the text until the answer ends or is stopped."""
        # now, because the settings may change during the answer
        settings, has_reply = self._library.settings, self._library.reply_to(self._ask) is not None
        writer = self._library.writer(extractive=self._ask.extractive or has_reply)
        self._price = settings.price
        self._is_free = isinstance(writer, Quoter) or settings.llm.provider == "llama_cpp"
        self._writer = writer
        if not isinstance(writer, Quoter):
            self._watch = CallWatch(writer, self._read_prompts)
        if self._same is not None and not has_reply:
            self._ask = self._same.add_to(self._ask)
            self._library.conversations.save_ask(self.message_id, self._ask)
        self._unread = count_unread(self._library.files, self._ask)
        self._unready = self._library.embedder_loader.state == "loading"
        with self._watch.follow() if self._watch else nullcontext():
            answer = self._answering = self._library.answer(self._ask, self._history, writer=writer)
        with closing(answer):
            sources = tuple(build_sources(answer.source_nodes))
            with self._changed:
                if self.is_finished:  # stopped during retrieval
                    return
                self.sources = sources
                self._changed.notify_all()  # screens draw them before the first word
            for piece in answer:
                with self._changed:
                    if self.is_finished:
                        return
                    self._cite(answer.source_nodes)
                    self.text += piece
                    self._changed.notify_all()
            with self._changed:
                self._cite(answer.source_nodes)  # those of an agent are known only now
                self._outcome = answer.outcome
        self._check_citations()

    def _check_citations(self) -> None:
        """Cite the passage that supports each sentence of a model's answer, and record the unsupported
        sentences."""
        if not self._is_written or self.rows or not self._ask.reads_documents:
            return
        passages = [Passage(source.text, source.number, source.place) for source in self.sources]
        try:
            answer = self._library.answer_check.check(self.standalone_question, self.text, passages)
        except RagError as error:  # the answer is complete, and the check on demand tries again
            logger.warning("the citations of answer %s could not be checked: %s", self.message_id, error)
            return
        try:
            self._library.checks.keep(self.message_id, answer.text, answer.sentences)
        except StoreError as error:  # as above
            logger.warning("the check of answer %s could not be written: %s", self.message_id, error)
        with self._changed:
            if not self.is_finished:
                self._attributed, self._outcome = answer.text, answer.outcome

    @property
    def _is_written(self) -> bool:
        """Whether a model writes the answer."""
        return self._writer is not None and not isinstance(self._writer, Quoter)

    def _cite(self, nodes: Sequence[NodeWithScore]) -> None:
        """Add the new sources of a growing answer."""
        known = len(self.sources)
        self.sources += tuple(build_sources(nodes[known:], known + 1))

    def _collect_facts(self, state: State) -> None:
        """The facts of the answer so far; the trace only at its end."""
        trace, writer = self._answering.trace if self._answering else None, self._writer
        if trace is None or writer is None:
            return
        calls = trace.spans("llm")
        self._read_prompts.add(trace)
        retrievals = trace.spans("retrieve")
        corrected = next((str(step.facts["meant"]) for step in retrievals if "meant" in step.facts), None)
        ask, read = self._ask, self._answering.read() if self._answering else ()
        spent, price = trace.total_tokens(), self._price
        quotes = isinstance(writer, Quoter)
        if quotes and state == "done":  # the time of the next answer is estimated from these
            spent = Tokens(sum(count_tokens(hit.text) for hit in read), count_tokens(self.text))
        self._trace = trace if state in ("done", "failed") else None
        self._facts = AnswerFacts(
            mode=ask.mode,
            mode_label=ask.mode.replace("_", " "),
            calls=len(calls),
            seconds=time.perf_counter() - self._began,
            passages_used=len(read),
            passages_total=len(self._library.store),
            prompt_tokens=spent.prompt,
            completion_tokens=spent.completion,
            extractive=quotes,
            model=NAME if isinstance(writer, Quoter) else writer.metadata.model_name,
            condensed=None if self.standalone_question == ask.question else self.standalone_question,
            meant=corrected,
            money=None if self._is_free else price.money(spent.prompt, spent.completion),
            currency=price.currency,
            expected=self._expected,
            reading=ask.reading,
            files_used=len({hit.node.ref_doc_id for hit in read}),
            files_total=self._library.files.ready_and_bytes()[0],
            rows=self.rows,
            files_unread=self._unread,
            tokens_estimated=not quotes and any(call.facts.get("tokens_estimated") for call in calls),
            unready=self._unready,
            outcome=self._outcome,
            parts=find_parts(trace, self.text) if ask.answers_in_parts and not self._attributed else (),
        )

    def _fail(self, problem: Problem) -> None:
        with self._changed:
            self._problem = problem
        self._end("failed")

    def _end(self, state: State) -> None:
        with self._changed:
            if self.is_finished:
                return
            try:
                if state == "stopped" and self._answering is not None and not self.text:
                    self.text, nodes = self._answering.so_far()  # the texts of its steps
                    self._cite(nodes)
                if state == "stopped" and self._is_written and not self.rows:
                    from ragcore.response_synthesizers.attribution import cite_quotes

                    self._attributed = cite_quotes(self.text, [source.text for source in self.sources])
                self.sources = locate_quotes(self._library.store, self.sources, self._attributed or self.text)
                self._collect_facts(state)
                self._write(state)
            except StoreError as error:
                logger.exception("the end of answer %s could not be written", self.message_id)
                unsaved = self._finished_message(state)
                self._library.conversations.show_unsaved(unsaved)
                if _may_pass(error):
                    threading.Thread(target=self._write_later, args=(state, unsaved), daemon=True).start()
            finally:
                self._state = state  # after it was stored, so that followers can read it from the library
                self._changed.notify_all()

    def _write_forever(self) -> None:
        while not self.wait(WRITE_SECONDS):
            with self._changed:
                if self.is_finished:
                    return
                try:
                    if self.rows:
                        self._collect_facts("writing")
                    exists = self._write("writing")
                except StoreError as error:  # the next write may succeed
                    logger.warning("answer %s could not be written: %s", self.message_id, error)
                    continue
                if not exists:  # deleted, or stopped by another process
                    self._state = "stopped"
                    self._changed.notify_all()
                    self._cancellation.cancel()

    def _write_later(self, state: State, unsaved: Message) -> None:
        """Store the end of an answer once the disk has space or the database can be reached."""
        pause = WRITE_SECONDS
        while True:
            time.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)
            if not self._library.conversations.shows_unsaved(unsaved):
                return
            try:
                self._write(state)
            except StoreError as error:
                logger.info("answer %s is still to be written: %s", self.message_id, error)
                if not _may_pass(error):
                    return
            else:
                return

    def _finished_message(self, state: State) -> Message:
        return replace(
            self._message,
            text=self._attributed or self.text,
            state=state,
            sources=self.sources,
            facts=self._facts,
            problem=self._problem,
            saved=False,
        )

    def _write(self, state: State) -> bool:
        return self._library.conversations.write(
            self.message_id,
            text=self._attributed or self.text,
            state=state,
            sources=self.sources,
            facts=self._facts,
            problem=self._problem,
            trace=self._trace,
        )


def _may_pass(error: StoreError) -> bool:
    """Whether a later write may succeed: the disk is full, or the database cannot be reached."""
    return error.retryable or isinstance(error, NoRoomError)


class AnswerRuns:
    """The runs of this process. A conversation has at most one run, in all processes; in a comparison, each
    answer has at most one."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}  # by message
        self._read_prompts = ReadPrompts()

    def start(self, conversation_id: str, ask: Ask, *, expected: Price | None = None) -> Run:
        """Ask, and start the answer. `expected` is the price that the screen has displayed. QuestionError,
        AlreadyAnsweringError."""
        check_question(ask.question)
        conversations = self._library.conversations
        with self._lock:
            with self._library.database.transaction():
                self._must_be_free(conversation_id)
                history, message = self.history(conversation_id), conversations.begin(conversation_id, ask)
            return self._begin(message, history, expected)

    def compare(self, asks: Sequence[Ask], *, expected: Sequence[Price | None] = ()) -> str:
        """Answer one question with several settings at the same time, from the same passages, in a
        conversation of its own.

        Returns the conversation's id. The first of `asks` determines the retrieval. QuestionError.
        """
        check_question(asks[0].question)
        conversations = self._library.conversations
        with self._lock:
            with self._library.database.transaction():
                conversation_id = conversations.create("compare").id
                messages = conversations.begin_several(conversation_id, asks)
            same = SharedPassages(self._library, conversation_id)
            for message, price in zip(messages, expected or [None] * len(asks), strict=True):
                self._begin(message, [], price, same)
        return conversation_id

    def retry(
        self,
        message_id: str,
        *,
        extractive: bool | None = None,
        ask: Ask | None = None,
        expected: Price | None = None,
    ) -> Run:
        """Replace an answer by a new one to the same question, perhaps with other settings: `ask`. Its rating
        is deleted."""
        message = self._library.conversations.message(message_id)
        if message is None or message.ask is None:
            raise InputError("This answer no longer exists.", hint="Ask the question again.")
        ask = ask or message.ask
        ask = ask if extractive is None else replace(ask, extractive=extractive)
        conversations = self._library.conversations
        with self._lock:
            with self._library.database.transaction():
                history, same = self._before(message)
                message = conversations.begin_again(message_id, ask)
                self._library.feedback.take_back(message_id)
            return self._begin(message, history, expected, same)

    def get(self, conversation_id: str) -> Run | None:
        """The current run of a conversation."""
        return next(iter(self.all(conversation_id)), None)

    def all(self, conversation_id: str) -> list[Run]:
        """The current runs of a comparison."""
        runs = (run for run in list(self._runs.values()) if run.conversation_id == conversation_id)
        return [run for run in runs if not run.is_finished]

    def stop(self, message_id: str) -> None:
        """Stop an answer, of this or another process, with its text so far."""
        run = self._runs.get(message_id)
        if run is not None:
            run.stop()
        else:
            self._library.conversations.stop(message_id)

    @property
    def is_answering(self) -> bool:
        """Whether any run is not finished."""
        return any(not run.is_finished for run in list(self._runs.values()))

    def stop_all(self) -> None:
        """Stop every answer of this process, with its text so far."""
        for run in list(self._runs.values()):
            run.stop()

    def _begin(
        self,
        message: Message,
        history: list[ChatMessage],
        expected: Price | None,
        same: SharedPassages | None = None,
    ) -> Run:
        self._runs = {id_: run for id_, run in self._runs.items() if not run.is_finished}
        run = self._runs[message.id] = self._run(message, history, expected, same)
        return run

    def _run(
        self,
        message: Message,
        history: list[ChatMessage],
        expected: Price | None,
        same: SharedPassages | None,
    ) -> Run:
        """Start a run. `recorded_demo` overrides it."""
        return Run(self._library, message, history, expected, same, self._read_prompts)

    def _before(self, message: Message) -> tuple[list[ChatMessage], SharedPassages | None]:
        """The history before an answer, or the passages of its comparison. AlreadyAnsweringError."""
        conversation = self._library.conversations.get(message.conversation_id)
        if conversation is None or conversation.kind != "compare":
            self._must_be_free(message.conversation_id)
            return self.history(message.conversation_id, before=message.id), None
        stored = self._library.conversations.message(message.id)
        if stored is not None and stored.state == "writing":
            raise AlreadyAnsweringError
        return [], SharedPassages(self._library, message.conversation_id)

    def _must_be_free(self, conversation_id: str) -> None:
        """AlreadyAnsweringError. Call it in the transaction that begins the next answer, so that no other
        process does too."""
        being_answered = self._library.conversations.being_answered
        if self.get(conversation_id) is not None or being_answered(conversation_id):
            raise AlreadyAnsweringError

    def history(self, conversation_id: str, before: str | None = None) -> list[ChatMessage]:
        """The turns with an answer, also an incomplete one."""
        history: list[ChatMessage] = []
        question: Message | None = None
        for message in self._library.conversations.messages(conversation_id):
            if message.id == before:
                break
            if message.role == "user":
                question = message
            elif question and message.is_remembered:
                history.append(ChatMessage(MessageRole.USER, question.text))
                history.append(ChatMessage(MessageRole.ASSISTANT, message.text))
                question = None
        return history


def check_question(question: str) -> None:
    if not question.strip():
        raise QuestionError("There is no question.", hint="Type what you want to know.")
    if len(question) > QUESTION_CHARS:
        raise QuestionError(
            f"The question has {len(question):,} characters; the limit is {QUESTION_CHARS:,}.",
            hint="Ask a shorter question. You can add a long text as a document and ask about it.",
        )
