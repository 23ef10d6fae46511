"""The actions below an answer: small buttons, and a menu for the less frequent ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lectern.schema import Message
from lectern.ui import labels
from lectern.ui.asking import answer_again
from lectern.ui.i18n import _
from lectern.ui.server.downloads import card_address
from lectern.ui.server.exports import export_address
from lectern.ui.state import event, session
from lectern.ui.widgets.answer_forms import is_chat, open_edit, open_mode_form
from lectern.ui.widgets.component import component
from lectern.ui.widgets.missed_passages import can_miss, open_missed_passages
from lectern.ui.widgets.notes import can_be_kept, keep_answer
from lectern.ui.widgets.panel import show_panel
from lectern.ui.widgets.read_everything import can_read_more
from lectern.ui.widgets.sentence_support import can_be_checked, check_sentences
from lectern.ui.widgets.thumbs import is_judged, judge
from ragcore.extractive.summary_requests import is_summary_request
from ragcore.text.citations import renumber

_ACTIONS = component("actions", '<div class="root"></div>')


def _replay(message: Message) -> None:
    session().replay.conversation, session().address.next_page = message.conversation_id, "replay"


@dataclass(frozen=True, slots=True)
class Action:
    """`label` returns the text, `icon` is the path of a 24 x 24 line drawing, `run` is a callback. The action
    is available for answers that it `fits`."""

    do: str  # its name in the component
    label: Callable[[], str]
    icon: str
    run: Callable[[Message], None]
    fits: Callable[[Message], bool] = lambda message: True
    only_last: bool = False
    in_menu: bool = False
    group: int = 0  # of the menu, with a line between groups. Higher groups are for less frequent use.
    labelled: Callable[[Message], bool] = lambda message: False  # a button with a label, not in the menu
    pressed: Callable[[Message], bool] | None = None  # for a toggle
    download: Callable[[Message], str] | None = None  # the address of a file to save, instead of `run`


ACTIONS: tuple[Action, ...] = (
    Action(
        "again",
        lambda: _("Try again"),
        "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
        lambda message: answer_again(message.id),
        only_last=True,
    ),
    Action(
        "keep",
        lambda: _("Keep as a note"),
        "M6 4h12v17l-6-4-6 4zM12 7v6M9 10h6",
        keep_answer,
        fits=can_be_kept,
        in_menu=True,
    ),
    Action(
        "edit",
        lambda: _("Edit question"),
        "M4 20h4L19 9l-4-4L4 16v4M13 7l4 4",
        open_edit,
        fits=is_chat,
        in_menu=True,
    ),
    Action(
        "good",
        lambda: _("Good answer"),
        "M7 21V10l4-7c2 0 3 1 3 3l-1 4h6c1 0 2 1 2 2l-2 7c0 1-1 2-2 2zM3 10h4v11H3z",
        lambda message: judge(message, True),
        in_menu=True,
        pressed=lambda message: is_judged(message, True),
    ),
    Action(
        "bad",
        lambda: _("Bad answer"),
        "M17 3v11l-4 7c-2 0-3-1-3-3l1-4H5c-1 0-2-1-2-2l2-7c0-1 1-2 2-2zM21 14h-4V3h4z",
        lambda message: judge(message, False),
        in_menu=True,
        pressed=lambda message: is_judged(message, False),
    ),
    Action(
        "save",
        lambda: _("Save the whole conversation"),
        "M4 5h16v11h-9l-4 4v-4H4zM12 7v5M9.5 10l2.5 2.5 2.5-2.5",
        lambda message: None,
        fits=is_chat,
        only_last=True,
        in_menu=True,
        download=lambda message: export_address(message.conversation_id, "html"),
    ),
    Action(
        "ways",
        lambda: _("Another kind of answer"),
        "M6 4v16M6 9c0 4 12 1 12 6v5M15 17l3 3 3-3M3 7l3-3 3 3",
        open_mode_form,
        fits=is_chat,
        in_menu=True,
        group=1,
    ),
    Action(
        "why",
        lambda: _("Why wasn’t it found?"),
        "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5L21 21M8.8 9a1.8 1.8 0 1 1 2.4 "
        "1.7v1M11.2 13.6v.1",
        open_missed_passages,
        fits=can_miss,
        in_menu=True,
        group=1,
        labelled=lambda message: (
            bool(message.text)
            and not message.needs_no_passages
            and (not message.cited or message.only_closest)
        ),
    ),
    Action(
        "check",
        lambda: _("Is it in the passages?"),
        "M4 6h9M4 12h6M4 18h6M13 15l3 3 5-6",
        check_sentences,
        fits=can_be_checked,
        in_menu=True,
        group=1,
    ),
    Action(
        "everything",
        lambda: labels.readings()["everything"].label,
        "M4 5h7v14H4zM13 5h7v14h-7zM6 9h3M6 12h3M15 9h3M15 12h3",
        lambda message: show_panel("everything", message),
        fits=can_read_more,
        in_menu=True,
        group=1,
        labelled=lambda message: (
            message.ask is not None
            and message.ask.reading == "best"
            and is_summary_request(message.ask.question)
        ),
    ),
    Action(
        "each_file",
        lambda: _("Ask each document"),
        "M4 5h16v14H4zM4 10h16M4 15h16M10 5v14",
        lambda message: show_panel("each_file", message),
        fits=can_read_more,
        in_menu=True,
        group=1,
    ),
    Action(
        "replay",
        lambda: _("Replay in other modes"),
        "M4 5h16M4 12h9M4 19h9M17 10v10l5-5z",
        _replay,
        fits=lambda message: message.ask is not None and message.ask.chat_mode is not None,
        only_last=True,
        in_menu=True,
        group=2,
    ),
    Action(
        "run_card",
        lambda: _("Save this answer with details"),
        "M12 4v11M8 11l4 4 4-4M5 20h14",
        lambda message: None,
        in_menu=True,
        group=2,
        download=lambda message: card_address(message.id),
    ),
)


def actions(message: Message, *, last: bool) -> None:
    key = f"actions_{message.id}"
    available = [action for action in ACTIONS if action.fits(message) and (last or not action.only_last)]
    buttons = [
        {
            "do": action.do,
            "label": action.label(),
            "icon": action.icon,
            "menu": action.in_menu and not action.labelled(message),
            "group": action.group,
            "spelled": action.labelled(message),
            "pressed": action.pressed(message) if action.pressed else None,
            "download": action.download(message) if action.download else None,
        }
        for action in available
    ]
    words = {
        "copy": _("Copy"),
        "copied": _("Copied"),
        "cannot_copy": _("Your browser does not allow copying here"),
        "more": _("More"),
    }
    data = {"text": renumber(message.text, message.shown_numbers), "actions": buttons, "words": words}
    _ACTIONS(key=key, data=data, on_act_change=lambda: _act(key, message))


def _act(key: str, message: Message) -> None:
    do = event(key, "act").get("do")
    for action in ACTIONS:
        if action.do == do:
            action.run(message)
