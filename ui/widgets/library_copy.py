"""A copy of the library to keep, or to take to another computer."""

from __future__ import annotations

from ui.web import page_ticket
from ui.widgets.component import component

_COPY = component(
    "library_copy",
    '<div class="copy"><button type="button" class="plain">Download a copy</button><span role="status"></span></div>',
)


def library_copy() -> None:
    """A button that has the copy made, says so meanwhile, and gives it to the browser when it is whole."""
    _COPY(key="library_copy", data={"address": "/api/copy", "ticket": page_ticket()})
