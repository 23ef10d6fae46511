"""A copy of the library, as a backup or for another computer."""

from __future__ import annotations

from lectern.ui.i18n import _
from lectern.ui.server.security import page_ticket
from lectern.ui.widgets.component import component

_COPY = component(
    "library_copy",
    '<div class="copy"><button type="button" class="plain"></button><span role="status"></span></div>',
)


def library_copy() -> None:
    words = {
        "download": _("Download a copy"),
        "making": _("Making the copy. Stay on this page until the download begins."),
        "downloading": _("Your browser is downloading it."),
        "lost": _("The copy could not be made: the connection was lost. Try again."),
    }
    _COPY(key="library_copy", data={"address": "/api/copy", "ticket": page_ticket(), "words": words})
