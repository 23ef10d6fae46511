"""The area to drop or choose files, with buttons for other sources. The browser sends files to
`server/uploads.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lectern.ui import labels, resources
from lectern.ui.i18n import _, language
from lectern.ui.server.security import page_ticket
from lectern.ui.state import event
from lectern.ui.widgets.component import component

_DROPZONE = component(
    "dropzone",
    """<div class="area" hidden>
<svg viewBox="0 0 24 24" width="40" height="40" fill="none" stroke="currentColor" stroke-width="1.4"
stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
<path d="M12 16V5m0 0L7.5 9.5M12 5l4.5 4.5"/>
<path d="M4 15v3a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-3"/></svg>
<span class="big"></span>
<span class="quiet"></span>
<span class="ways"><button type="button" class="accent choose"></button><span class="others"></span></span>
<input type="file" multiple hidden>
</div><ul aria-live="polite"></ul>""",
)


def dropzone(
    sources: Mapping[str, str],
    more: Mapping[str, str],
    *,
    small: bool,
    on_uploaded: Callable[[], None],
    on_source: Callable[[str], None],
) -> None:
    """`sources` maps other sources to their button labels. Those in `more` are behind one more button.
    `on_uploaded` runs when files are on this computer, `on_source` when a source was chosen."""
    limit = resources.library().settings.ingest.max_file_mb * 1_000_000
    _DROPZONE(
        key="dropzone",
        data={
            "address": "/api/upload",
            "ticket": page_ticket(),
            "small": small,
            "limit": limit,
            "ways": [{"name": name, "label": label} for name, label in sources.items()],
            "more": [{"name": name, "label": label} for name, label in more.items()],
            "words": _words(limit),
        },
        on_landed_change=on_uploaded,
        on_way_change=lambda: _choose_source(on_source),
    )


def _choose_source(on_source: Callable[[str], None]) -> None:
    if chosen := event("dropzone", "way"):
        on_source(str(chosen.get("name", "")))


def _words(limit: int) -> dict[str, str]:
    return {
        "drop": _("Drop your files here"),
        "add": _("Add your files"),
        "kinds": _(
            "PDF, Word, PowerPoint, Excel, web pages, e-books, mail, pictures, text. Up to {size} each."
        ).format(size=labels.size(limit)),
        "choose": _("Choose files"),
        "more": _("More"),
        "too_large": _("{name} is {size}; the limit is {limit}. Split it, or raise the limit in Settings."),
        "waiting": _("{size} · waiting"),
        "copying": _("{size} · copying"),
        "checking": _("is being checked"),
        "passed_over": _("Skipped because they are hidden or belong to installed packages: {names}"),
        "replaces": _("replaces the earlier version of this file."),
        "there": _("is already in your library."),
        "failed": _("could not be added."),
        "lost": _("was not added: the connection was lost."),
        "again": _("Try again"),
        "language": language(),
    }
