"""A single value of the settings."""

from __future__ import annotations

from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.state import session, widget


def keep_field(part: str, field: str, key: str) -> None:
    """A callback that saves the widget `key` as a field of a part of the settings, such as "answers"."""
    library = resources.library()
    settings = library.settings
    old = getattr(settings, part)
    changed = type(old).model_validate({**old.model_dump(), field: widget(key)})
    library.update_settings(settings.model_copy(update={part: changed}))
    session().notice = _("Saved.")
