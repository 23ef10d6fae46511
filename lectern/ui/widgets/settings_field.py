"""A widget that saves one value of the settings at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.state import fill_widget, session, widget


class SavedField(TypedDict):
    key: str
    on_change: Callable[[str, str, str], None]
    args: tuple[str, str, str]


def saved_field(part: str, field: str, *, prefix: str = "set") -> SavedField:
    """Fills a widget with this field of a part of the settings, such as "answers". A change saves it."""
    key = f"{prefix}_{field}"
    fill_widget(key, getattr(getattr(resources.library().settings, part), field))
    return {"key": key, "on_change": save_field, "args": (part, field, key)}


def save_field(part: str, field: str, key: str) -> None:
    library = resources.library()
    old = getattr(library.settings, part)
    changed = type(old).model_validate({**old.model_dump(), field: widget(key)})
    if changed == old:  # the browser has sent a value that it had from here
        return
    library.update_settings(library.settings.model_copy(update={part: changed}))
    session().notice = _("Saved.")
