"""The conversations in the sidebar."""

from __future__ import annotations

from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.places import go_to_chat
from lectern.ui.server.exports import PRINT, export_address
from lectern.ui.state import event, session
from lectern.ui.widgets.component import component
from ragcore.errors import Problem, RagError

_CONVERSATIONS = component("conversations", '<ul aria-label="Conversations"></ul>')

SHOWN = 40  # older ones are found by searching


def conversation_list(open_id: str | None, search: str = "") -> int:
    """Draw the list, and act on it; gives how many there are."""
    found = resources.library().conversations.all("chat", search)
    items = [{"id": one.id, "title": one.title or _("New conversation")} for one in found[:SHOWN]]
    # A place in the address for the conversation's id.
    forms = (("docx", "Word"), ("md", "Markdown"), ("html", "HTML"), ("json", "JSON"))
    files = {name: export_address("ID", form) for form, name in forms}
    data = {"items": items, "open": open_id, "files": files, "print": export_address("ID", PRINT), "words": _words()}
    result = _CONVERSATIONS(key="conversations", data=data, on_act_change=_act)
    asked = result.act
    if isinstance(asked, dict) and asked.get("do") == "open":
        go_to_chat(str(asked.get("id")))
    return len(found)


def _words() -> dict[str, str]:
    return {
        "list": _("Conversations"),
        "more": _("Rename, copy, export or delete: {title}"),
        "rename": _("Rename"),
        "name": _("Name of this conversation"),
        "duplicate": _("Duplicate"),
        "exports": _("Export"),
        "export": _("Export as {form}"),
        "print": _("Print, or save as PDF"),
        "delete": _("Delete"),
        "sure": _("Delete this conversation?"),
        "keep": _("Keep"),
    }


def _act() -> None:
    asked = event("conversations", "act")
    conversations, asked_id = resources.library().conversations, str(asked.get("id", ""))
    if asked.get("do") == "rename":
        conversations.rename(asked_id, str(asked.get("title", ""))[:120])
    elif asked.get("do") == "duplicate":
        _duplicate(asked_id)
    elif asked.get("do") == "delete":
        run = resources.current_index().runs.get(asked_id)
        if run is not None:
            run.stop()
        conversations.delete(asked_id)
        if session().chat.conversation == asked_id:
            session().chat.conversation, session().panel = None, ""
        session().notice = _("The conversation is deleted.")


def _duplicate(conversation_id: str) -> None:
    """The copy stands first in the list; what is open stays open."""
    try:
        made = resources.library().conversations.duplicate(conversation_id)
    except RagError as error:
        session().problem = Problem.of(error)
    else:
        session().notice = _("The copy is named “{title}”.").format(title=made.title)
