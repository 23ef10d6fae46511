"""What one browser tab remembers beyond the address of its page. Everything that must outlive it is in the library."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, get_script_run_ctx

from lectern.db.feedback import Verdict
from lectern.db.notes import Note
from lectern.schema import Price, Reading
from ragcore.errors import Problem

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from lectern.models import ConnectionReport
    from lectern.settings import AnswerSettings
    from ragcore.extractive.sentence_support import CheckedSentence

T = TypeVar("T")


@dataclass(frozen=True)
class Confirm:
    """Something that takes much: what, for how many answers together, and what to do when the person says yes, or no."""

    price: Price
    answers: int
    run: Callable[[], None]
    cancelled: Callable[[], None] | None = None


@dataclass(frozen=True)
class Offer:
    """A question for more than its best passages, and the documents it is for.

    `chat`: it was asked in a chat, which is `conversation` unless it begins a new one.
    """

    question: str
    reading: Reading
    file_ids: tuple[str, ...] | None = None
    chat: bool = True
    conversation: str | None = None


@dataclass
class AddressState:
    """What a page shows and what its address says, each of which may be ahead of the other: see lectern.ui.places."""

    last: dict[str, str] = field(default_factory=dict)  # what each page's address was last set to; "p": the last one's panel
    changed_at: float = 0.0  # when one last named another thing than before, on the monotonic clock
    page: str = ""  # drawn last
    letter: str = ""  # of that page, once its address says what it shows
    onward: str = ""  # the page that a button under an answer leads to


@dataclass
class AskState:
    """What the next question is put to, on any page with a question field."""

    to_read: dict[str, Reading] = field(default_factory=dict)  # what the next question of a page is put to, if not the usual
    readings: int = 0  # questions that were put to more, so that the choice begins anew after each
    offer: Offer | None = None  # a question that is to be put to everything, or to each document, once the person agrees


@dataclass
class AnswersState:
    """What belongs to the answers on the screen, on any page that shows some."""

    form: str = ""  # the small form that is open about an answer: "edit.message" or "ways.message"
    checks: dict[str, list[CheckedSentence]] = field(default_factory=dict)  # of those that were checked, by their ids
    verdicts: dict[str, Verdict] = field(default_factory=dict)  # by the answers' ids
    explaining: str = ""  # the answer whose thumb was just given, and may be explained
    looks: dict[str, Future[Any]] = field(default_factory=dict)  # closer looks, done or begun: see lectern.ui.recheck
    awaited: str = ""  # the conversation in which something was being answered when the tab drew it last
    ended: float = 0.0  # when the last awaited answer ended, in seconds since the epoch


@dataclass
class ChatState:
    conversation: str | None = None  # open on the page
    options_of: str | None = None  # the conversation whose way of answering the page has taken up
    earlier: int = 0  # messages drawn beyond the usual window
    more_listed: int = 0  # conversations in the sidebar beyond the usual
    go_to_chat: bool = False  # a question was taken on another page: go to the chat
    declined_model: set[str] = field(default_factory=set)  # the conversations in which a language model is not wanted


@dataclass
class QueryState:
    conversation: str | None = None  # open on the page
    deleting: str = ""  # the earlier question of which is asked whether it is to be deleted
    pinned: tuple[str, ...] = ()  # the answers of a comparison whose differences are wanted, two at most


@dataclass
class ReplayState:
    conversation: str | None = None  # the one whose replay is open
    choosing: bool = False  # the ways of another replay of it are being chosen


@dataclass
class NotesState:
    editing: str = ""  # the id of the note whose text is being edited
    deleted: Note | None = None  # the one that was deleted last, and may be put back
    more: int = 0  # notes drawn beyond the usual


@dataclass
class DocumentsState:
    adding: str = ""  # the way of adding documents whose dialog is open
    more_files: int = 0  # rows of the list of files beyond the usual
    choosing: bool = False  # several of them are being chosen
    opened: str = ""  # the id of the document whose own page is open
    place: tuple[int, int] = (0, 0)  # the characters of its text that are looked at, from and to


@dataclass
class IndexesState:
    document_sort: str = "-added"  # the column by which the table of documents is sorted; "-": backwards
    document_page: int = 1  # of that table
    forms: int = 0  # filled in on the list of indexes, so that each begins anew, closed, after that
    making: str = ""  # the index that is being made for this tab, see lectern.ui.index_creation


@dataclass
class ViewerState:
    """The document whose passages are shown on the page of indexes."""

    document: str = ""  # its id; "": none is shown
    start: int = 0  # the character at which the shown stretch of it begins
    match_start: int = -1  # the character at which the searched words were found last
    passage: str = ""  # the id of the passage that is looked at more closely
    redraw: bool = False  # it was asked for in a part of the page that is drawn alone


@dataclass
class EvaluateState:
    question_set: str | None = None  # open on the page
    deleting_set: str = ""  # the question set of which is asked whether it is to be deleted
    question_page: int = 1  # of the list of its questions
    uploads: int = 0  # of question sets, so that each gets an empty field
    own_forms: int = 0  # of typed questions that were made a set, so that the next begins empty
    editing: str = ""  # the question of a set that is being edited
    setting_from: AnswerSettings | None = None  # what the form of a new setting began with
    new_settings: int = 0  # saved, so that the form is closed after each
    problem: Problem | None = None  # why something was not done


@dataclass
class SettingsState:
    page: str = ""  # of the settings: "answers", or "prompts.refine" with one prompt open; "": the first
    report: ConnectionReport | None = None  # of the last connection test
    model_problem: Problem | None = None  # why a model was not downloaded or deleted
    prompt_drafts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # texts that are not saved, by prompt
    prompt_problem: Problem | None = None  # why the last one could not be saved


@dataclass
class Session:
    language: str = "en"  # of the screens in this tab, see lectern.ui.i18n
    index: str = "main"  # which index this tab has open, see lectern.indexes
    panel: str = ""  # open beside the answers: "kind.message", or "kind.message.number"
    problem: Problem | None = None  # why the last question was not taken
    notice: str = ""  # said once, as a toast
    confirm: Confirm | None = None  # what the person is asked about before it is run
    being_read: set[str] = field(default_factory=set)  # what the bar in the sidebar tells of, done or not
    reading_bar: DeltaGenerator | None = None  # where the sidebar shows what is being read
    address: AddressState = field(default_factory=AddressState)
    ask: AskState = field(default_factory=AskState)
    answers: AnswersState = field(default_factory=AnswersState)
    chat: ChatState = field(default_factory=ChatState)
    query: QueryState = field(default_factory=QueryState)
    replay: ReplayState = field(default_factory=ReplayState)
    notes: NotesState = field(default_factory=NotesState)
    documents: DocumentsState = field(default_factory=DocumentsState)
    indexes: IndexesState = field(default_factory=IndexesState)
    viewer: ViewerState = field(default_factory=ViewerState)
    evaluate: EvaluateState = field(default_factory=EvaluateState)
    settings: SettingsState = field(default_factory=SettingsState)


def open_index(index_id: str) -> None:
    """Start over with another index: nothing of the one before is shown any more."""
    before = session()
    anew = Session(
        language=before.language,
        index=index_id,
        notice=before.notice,
        address=AddressState(last=dict(before.address.last)),
        ask=AskState(readings=before.ask.readings + 1),
        indexes=IndexesState(forms=before.indexes.forms + 1, making=before.indexes.making),
        evaluate=EvaluateState(uploads=before.evaluate.uploads + 1),
    )
    fill_widget("_session", anew)
    _run.context = None
    forget_widgets(*[key for key in map(str, st.session_state) if key.endswith("_files")])  # documents of the other index


class _Run(threading.local):
    """Whose session this thread has looked up last: it is asked for with every text of a screen."""

    context: object = None
    session: Session


_run = _Run()


def session() -> Session:
    """This tab's session."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or _run.context is not context:
        _run.session = _without_interruption(lambda: st.session_state.setdefault("_session", Session()))
        _run.context = context
    return _run.session


def widget(key: str) -> Any:
    """What the widget with this key holds now, or None."""
    return _without_interruption(lambda: st.session_state.get(key))


def fill_widget(key: str, value: object) -> None:
    """Give a widget its value before it is drawn."""
    _without_interruption(lambda: st.session_state.update({key: value}))


def fill_new_widget(key: str, value: object) -> None:
    """Give a widget its first value; one that has a value keeps it."""
    _without_interruption(lambda: st.session_state.setdefault(key, value))


def forget_widgets(*keys: str) -> None:
    """Have these widgets begin anew when they are drawn next."""
    for key in keys:
        _without_interruption(partial(st.session_state.pop, key, None))


def event(key: str, name: str) -> dict[str, Any]:
    """What the component with this key has just reported under `name`; {} for nothing."""
    reported = getattr(widget(key), name, None)
    return reported if isinstance(reported, dict) else {}


def _without_interruption(look: Callable[[], T]) -> T:
    """What this look at the session gives.

    Any look is a moment at which the next click ends the run of the script before it. That may be so while a screen is drawn,
    which is out of date, but not in a callback: Streamlit would go on without the rest of it, and the first click be lost. So
    there the next click waits.
    """
    waiting: list[Callable[[], bool]] = []
    while True:
        try:
            value = look()
            break
        except RerunException as next_click:
            context = get_script_run_ctx()
            if context is None or context.script_requests is None or context.has_script_started:
                raise
            waiting.append(partial(context.script_requests.request_rerun, next_click.rerun_data))
    for request in waiting:
        request()
    return value


def interruptible() -> None:
    """A moment at which a click elsewhere may end this run of the script: any look at the session is one."""
    st.session_state.get("_session")
