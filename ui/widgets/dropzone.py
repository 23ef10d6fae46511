"""Where documents come in: drop or choose files, or one of the other ways."""

from __future__ import annotations

from collections.abc import Mapping

from ui import resources
from ui.web import page_ticket
from ui.widgets.component import component, nothing

_DROPZONE = component(
    "dropzone",
    """<div class="area"><svg viewBox="0 0 24 24" width="40" height="40" fill="none" stroke="currentColor" stroke-width="1.4"
stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M12 16V5m0 0L7.5 9.5M12 5l4.5 4.5"/>
<path d="M4 15v3a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-3"/></svg>
<span class="big">Drop your files here</span>
<span class="quiet">PDF, Word, PowerPoint, Excel, web pages, e-books, mail, pictures, text. <span class="limit"></span></span>
<span class="ways"><button type="button" class="accent choose">Choose files</button><span class="others"></span></span>
<input type="file" multiple tabindex="-1" aria-label="Choose files">
</div><ul aria-live="polite"></ul>""",
)


def dropzone(ways: Mapping[str, str], more: Mapping[str, str], *, small: bool) -> str:
    """Where files are dropped; gives the way that was chosen instead, or "". `ways`: their names to the words on their
    buttons; `more`: those behind one more button."""
    library = resources.library()
    result = _DROPZONE(
        key="dropzone",
        data={
            "address": "/api/upload",
            "ticket": page_ticket(),
            "small": small,
            "limit": library.settings.ingest.max_file_mb * 1_000_000,
            "ways": [{"name": name, "label": label} for name, label in ways.items()],
            "more": [{"name": name, "label": label} for name, label in more.items()],
        },
        on_landed_change=nothing,
        on_way_change=nothing,
    )
    chosen = result.way
    return str(chosen.get("name", "")) if isinstance(chosen, dict) else ""
