"""The conversations in the sidebar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from zoneinfo import ZoneInfo

import streamlit as st

from lectern.schema import Conversation
from lectern.ui import labels, resources
from lectern.ui.asking import reset_chat_options
from lectern.ui.i18n import _, month
from lectern.ui.navigation import go_to_chat
from lectern.ui.server.exports import PRINT, export_address
from lectern.ui.state import event, session
from lectern.ui.widgets.component import component
from ragcore.errors import Problem, RagError
from ragcore.text.citations import MARKS

_CONVERSATIONS = component("conversations", '<section aria-label="Conversations"></section>')

SNIPPET_CHARS = 40  # on each side of a found word
_MARKDOWN = re.compile(r"[*`|#>]+")

BATCH = 60  # conversations in the list at first, and with each click on "Show more"


def conversation_list(open_id: str | None, search: str = "") -> int:
    """Draws the list and handles its events. Returns the number of conversations in it."""
    conversations, limit = resources.library().conversations, BATCH + session().chat.more_listed
    pinned = conversations.all("chat", search, pinned=True, limit=limit + 1)
    # one more than drawn
    others = conversations.all("chat", search, pinned=False, limit=max(0, limit - len(pinned) + 1))
    groups = [(_("Pinned conversations"), pinned[:limit])] if pinned else []
    groups += group_by_day(others[: max(0, limit - len(pinned))], datetime.now(_browser_time_zone()))
    items = [
        {
            "id": one.id,
            "title": one.title or _("New conversation"),
            "group": name,
            "pinned": one in pinned,
            "snippet": _snippet(one, search),
        }
        for name, group in groups
        for one in group
    ]
    forms = (("docx", "Word"), ("md", "Markdown"), ("html", "HTML"), ("json", "JSON"))
    files = {name: export_address("ID", form) for form, name in forms}  # the component replaces "ID"
    data = {
        "items": items,
        "more": len(pinned) + len(others) > limit,
        "open": open_id,
        "asked": f"{open_id} {session().chat.list_acts} {search}",  # it changes when this person acts
        "files": files,
        "print": export_address("ID", PRINT),
        "words": _words(),
    }
    result = _CONVERSATIONS(key="conversations", data=data, on_act_change=_act)
    request = result.act
    if isinstance(request, dict) and request.get("do") == "open":
        go_to_chat(str(request.get("id")))
    return len(items)


def _snippet(conversation: Conversation, search: str) -> tuple[str, str, str] | None:
    """The first searched word that is not in the title, in a message: the text before it, it, and the text
    after it. None without such a word."""
    words = [word for word in search.split() if word.lower() not in conversation.title.lower()]
    if not words:
        return None
    texts = resources.library().conversations.texts(conversation.id)
    return find_snippet(texts, words[0])


def find_snippet(texts: Sequence[str], word: str) -> tuple[str, str, str] | None:
    for text in texts:
        plain = " ".join(_MARKDOWN.sub(" ", MARKS.sub("", text)).split())
        if match := re.search(re.escape(word), plain, re.IGNORECASE):
            before, after = labels.surroundings(plain, *match.span(), SNIPPET_CHARS)
            return before, match.group(), after
    return None


def group_by_day(
    conversations: Sequence[Conversation], now: datetime
) -> list[tuple[str, list[Conversation]]]:
    """Groups conversations by day or month in the time zone of `now`. Their order stays."""
    groups: dict[str, list[Conversation]] = {}
    for one in conversations:
        day = datetime.fromtimestamp(one.updated, now.tzinfo).date()
        groups.setdefault(_group_name(day, now.date()), []).append(one)
    return list(groups.items())


def _group_name(day: date, today: date) -> str:
    days = (today - day).days
    if days <= 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    return _("Previous 7 days") if days <= 7 else month(day)


def _browser_time_zone() -> tzinfo | None:
    """The time zone of the browser. None, for that of this computer, if it is unknown."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (LookupError, ValueError, OSError):
        return None


def _words() -> dict[str, str]:
    return {
        "list": _("Conversations"),
        "more": _("Rename, copy, export or delete: {title}"),
        "pin": _("Pin"),
        "unpin": _("Unpin"),
        "show": _("Show more"),
        "rename": _("Rename"),
        "name": _("Conversation name"),
        "duplicate": _("Duplicate"),
        "exports": _("Export"),
        "export": _("Export as {form}"),
        "print": _("Print, or save as PDF"),
        "delete": _("Delete"),
        "sure": _("Delete this conversation?"),
        "keep": _("Keep"),
    }


def _act() -> None:
    request = event("conversations", "act")
    session().chat.list_acts += 1
    conversations, id_ = resources.library().conversations, str(request.get("id", ""))
    if request.get("do") == "rename":
        conversations.rename(id_, str(request.get("title", ""))[:120])
    elif request.get("do") == "pin":
        conversations.pin(id_, bool(request.get("pinned")))
    elif request.get("do") == "more":
        session().chat.more_listed += BATCH
    elif request.get("do") == "duplicate":
        _duplicate(id_)
    elif request.get("do") == "delete":
        run = resources.current_index().runs.get(id_)
        if run is not None:
            run.stop()
        conversations.delete(id_)
        if session().chat.conversation == id_:
            session().chat.conversation, session().panel = None, ""
            reset_chat_options()
        session().notice = _("Conversation deleted.")


def _duplicate(conversation_id: str) -> None:
    try:
        copy = resources.library().conversations.duplicate(conversation_id)
    except RagError as error:
        session().problem = Problem.of(error)
    else:
        session().notice = _("The copy is named “{title}”.").format(title=copy.title)
