"""The conversations in the sidebar."""

from __future__ import annotations

from ui import resources
from ui.places import go_to_chat
from ui.state import event, session
from ui.widgets.component import component

_CONVERSATIONS = component("conversations", '<ul aria-label="Conversations"></ul>')

SHOWN = 40  # older ones are found by searching


def conversation_list(open_id: str | None, search: str = "") -> int:
    """Draw the list, and act on it; gives how many there are."""
    found = resources.library().conversations.all("chat", search)
    items = [{"id": one.id, "title": one.title or "New conversation"} for one in found[:SHOWN]]
    result = _CONVERSATIONS(key="conversations", data={"items": items, "open": open_id}, on_act_change=_act)
    asked = result.act
    if isinstance(asked, dict) and asked.get("do") == "open":
        go_to_chat(str(asked.get("id")))
    return len(found)


def _act() -> None:
    asked = event("conversations", "act")
    if not isinstance(asked, dict):
        return
    conversations, asked_id = resources.library().conversations, str(asked.get("id", ""))
    if asked.get("do") == "rename":
        conversations.rename(asked_id, str(asked.get("title", ""))[:120])
    elif asked.get("do") == "delete":
        run = resources.runs().get(asked_id)
        if run is not None:
            run.stop()
        conversations.delete(asked_id)
        if session().conversation == asked_id:
            session().conversation, session().panel = None, ""
        session().notice = "The conversation is deleted."
