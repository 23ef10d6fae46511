"""The state of a browser tab. Everything that must outlive the tab is in the library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, get_script_run_ctx

from lectern.db.feedback import Verdict
from lectern.db.notes import Note
from lectern.schema import Price, Reading, Source
from ragcore.errors import Problem

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from lectern.models import ConnectionReport
    from lectern.settings import AnswerSettings
    from ragcore.extractive.sentence_support import CheckedSentence

T = TypeVar("T")


@dataclass(frozen=True)
class Confirm:
    """An expensive action that needs the person's consent: its price, for how many answers, and what to do
    after yes or no."""

    price: Price
    answers: int
    run: Callable[[], None]
    cancelled: Callable[[], None] | None = None


@dataclass(frozen=True)
class Offer:
    """A question about every passage or each document, which needs the person's consent first.

    `chat`: asked in a chat, in the existing `conversation` or a new one.
    """

    question: str
    reading: Reading
    file_ids: tuple[str, ...] | None = None
    chat: bool = True
    conversation: str | None = None


@dataclass
class AddressState:
    """The addresses of the pages. A page may be newer than its address, or the reverse: see
    lectern.ui.navigation."""

    # the last id of each parameter; "p": the panel of the last page
    last: dict[str, str] = field(default_factory=dict)
    changed_at: float = 0.0  # when an address last changed its id, on the monotonic clock
    page: str = ""  # the last one
    letter: str = ""  # the parameter of that page's id, once it is in the address
    next_page: str = ""  # chosen by a callback: "replay" or "document"


@dataclass
class AskState:
    """How much the next question reads, on any page with a question field."""

    to_read: dict[str, Reading] = field(default_factory=dict)  # by page, if it is not the best passages
    readings: int = 0  # counts questions that read more, to reset the choice after each
    offer: Offer | None = None  # the question that waits for consent


@dataclass
class AnswersState:
    """About the answers on the screen, on any page with answers."""

    form: str = ""  # the open form about an answer: "edit.ID" or "ways.ID" with the id of the message
    checks: dict[str, list[CheckedSentence]] = field(default_factory=dict)  # of the checked answers, by id
    verdicts: dict[str, Verdict] = field(default_factory=dict)  # by answer id
    readings: dict[str, list[str]] = field(default_factory=dict)  # of unclear questions, by answer id
    groups: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)  # of results, by answer id
    explaining: str = ""  # the answer with a new thumb, which the person may explain
    # analyses, finished or running: see lectern.ui.analyses
    analyses: dict[str, Future[Any]] = field(default_factory=dict)
    awaited: str = ""  # the conversation with a running answer at the last run
    ended: float = 0.0  # when the last running answer ended, in seconds since the epoch


@dataclass
class ChatState:
    conversation: str | None = None  # open on the page
    options_of: str | None = None  # the conversation whose mode and documents are in the menus
    earlier: int = 0  # additional messages to draw
    more_listed: int = 0  # additional conversations in the sidebar
    list_acts: int = 0  # counts the clicks in that list
    go_to_chat: bool = False  # after a question on another page
    # the conversations where the person declined a language model
    declined_model: set[str] = field(default_factory=set)


@dataclass
class QueryState:
    conversation: str | None = None  # open on the page
    deleting: str = ""  # the earlier question with an open delete confirmation
    pinned: tuple[str, ...] = ()  # the answers whose differences the panel shows, at most two


@dataclass
class ReplayState:
    conversation: str | None = None  # the one with an open replay
    choosing: bool = False  # the person is choosing the modes of another replay


@dataclass
class NotesState:
    editing: str = ""  # the id of the note in the editor
    deleted: Note | None = None  # the last deleted note, for Undo
    more: int = 0  # additional notes to draw


@dataclass(frozen=True)
class Cited:
    """The passage that the document page shows, the answer that quotes it, the visible page if it is another,
    and the panel of the chat to go back to."""

    source: Source
    answer: str
    page_index: int | None = None
    conversation: str = ""  # "": not from a chat
    panel: str = ""


@dataclass
class DocumentsState:
    adding: str = ""  # the kind of source whose dialog is open
    more_files: int = 0  # additional rows of the list of files
    choosing: bool = False  # the person is selecting several files
    copying: str = ""  # the id of a copy that this tab adds, see lectern.ui.index_creation
    opened: str = ""  # the id of the document on the document page
    place: tuple[int, int] = (0, 0)  # the visible characters of its text, from and to
    cited: Cited | None = None  # what was opened beside an answer


@dataclass
class IndexesState:
    document_sort: str = "-added"  # the column that sorts the table of documents; "-": descending
    document_page: int = 1  # of that table
    forms: int = 0  # counts submitted forms, so that the next one begins empty and closed
    creation: str = ""  # the id of an index creation of this tab, see lectern.ui.index_creation
    offer: str = ""  # the id of an uploaded copy for a new index, see lectern.ui.offered_copies


@dataclass
class ViewerState:
    """The open document on the page of indexes."""

    document: str = ""  # its id, or ""
    start: int = 0  # the first visible character
    match_start: int = -1  # the character of the last search match
    passage: str = ""  # the id of the selected passage
    redraw: bool = False  # a fragment needs a rerun of the whole page


@dataclass
class EvaluateState:
    question_set: str | None = None  # open on the page
    deleting_set: str = ""  # the question set with an open delete confirmation
    question_page: int = 1  # of its questions
    uploads: int = 0  # counts uploads, so that the next upload field is empty
    own_forms: int = 0  # counts sets of typed questions, so that the next form is empty
    editing: str = ""  # the question in the editor
    setting_from: AnswerSettings | None = None  # the settings that the form of a new setting started from
    new_settings: int = 0  # counts saved settings, so that the form closes
    problem: Problem | None = None  # the last error


@dataclass
class SettingsState:
    # the open page of the settings: "answers", or "prompts.refine" with one prompt open; "": the first
    page: str = ""
    report: ConnectionReport | None = None  # of the last connection test
    model_problem: Problem | None = None  # the last error of a download or deletion
    prompt_drafts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # unsaved texts, by prompt
    prompt_problem: Problem | None = None  # the last error of saving


@dataclass
class Session:
    language: str = "en"  # see lectern.ui.i18n
    appearance: str | None = None  # "light", "dark" or "", the browser's, if it was chosen in this tab
    index: str = "main"  # the open index, see lectern.indexes
    panel: str = ""  # the open side panel: "kind.message", or "kind.message.number"
    # the page that a person turned to in a panel: the panel, its index, its label
    turned: tuple[str, int, str] = ("", 0, "")
    problem: Problem | None = None  # the error of the last question
    notice: str = ""  # the next toast
    confirm: Confirm | None = None  # what needs the person's consent
    # the files that the progress bar in the sidebar counts, finished or not
    being_read: set[str] = field(default_factory=set)
    reading_bar: DeltaGenerator | None = None  # that bar
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
    before = session()
    fresh = Session(
        language=before.language,
        appearance=before.appearance,
        index=index_id,
        notice=before.notice,
        address=AddressState(last=dict(before.address.last)),
        ask=AskState(readings=before.ask.readings + 1),
        indexes=IndexesState(forms=before.indexes.forms + 1, creation=before.indexes.creation),
        evaluate=EvaluateState(uploads=before.evaluate.uploads + 1),
    )
    fill_widget("_session", fresh)
    _run.context = None
    # they belong to the other index
    forget_widgets(*[key for key in map(str, st.session_state) if key.endswith("_files")])


class _Run(threading.local):
    """The session of the last script run in this thread. It is cached, because every text of a screen reads
    its language."""

    context: object = None
    session: Session


_run = _Run()


def session() -> Session:
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or _run.context is not context:
        _run.session = _without_interruption(lambda: st.session_state.setdefault("_session", Session()))
        _run.context = context
    return _run.session


def widget(key: str) -> Any:
    """The value of a widget, or None."""
    return _without_interruption(lambda: st.session_state.get(key))


def fill_widget(key: str, value: object) -> None:
    _without_interruption(lambda: st.session_state.update({key: value}))


def fill_new_widget(key: str, value: object) -> None:
    """Sets the value of a widget that has none."""
    _without_interruption(lambda: st.session_state.setdefault(key, value))


def menu_key(name: str) -> str:
    """The current key of a widget in a menu, which may be closed.

    The browser ignores a new value for a widget that it does not show, and sends the old one again with the
    next click. So `fill_menu` changes the key, which makes a new widget.
    """
    return f"{widget(f'{name}_number') or 0}_{name}"


def menu_value(name: str) -> Any:
    """The value of a widget in a menu, or None."""
    return widget(menu_key(name))


def fill_menu(name: str, value: object) -> None:
    if menu_value(name) != value:
        fill_widget(f"{name}_number", (widget(f"{name}_number") or 0) + 1)
        fill_widget(menu_key(name), value)


def forget_widgets(*keys: str) -> None:
    for key in keys:
        _without_interruption(partial(st.session_state.pop, key, None))


def event(key: str, name: str) -> dict[str, Any]:
    """The event that a component has just sent under `name`; {} for none."""
    reported = getattr(widget(key), name, None)
    return reported if isinstance(reported, dict) else {}


def _without_interruption(access: Callable[[], T]) -> T:
    """Accesses the session. In a callback, the next click cannot interrupt this.

    Streamlit may end the run of a script at any access to the session, if there is another click. While a
    screen is drawn this is fine, because the screen is out of date. A callback would not finish, and the
    effect of the first click would be lost.
    """
    waiting: list[Callable[[], bool]] = []
    while True:
        try:
            value = access()
            break
        except RerunException as next_click:
            context = get_script_run_ctx()
            if context is None or context.script_requests is None or context.has_script_started:
                raise
            waiting.append(partial(context.script_requests.request_rerun, next_click.rerun_data))
    for request in waiting:
        request()
    return value


def allow_interruption() -> None:
    """Lets Streamlit end this run of the script here, if there is another click."""
    st.session_state.get("_session")
