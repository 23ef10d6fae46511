"""The links to the sources below an answer or a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lectern.schema import Source
from lectern.ui import labels
from lectern.ui.safetext import label


def source_address(owner_id: str, source: Source) -> str:
    """The link to a source of this message or note; `citation_clicks` handles it."""
    return f"#passage-{owner_id}.{source.number}"


def source_links(
    sources: Sequence[Source],
    owner_id: str,
    numbers: Mapping[int, int] | None = None,
    *,
    numbered: bool = True,
) -> list[str]:
    """A link for each place, sorted by number. A file without pages has one link with all its numbers.

    `owner_id`: of the message or note. `numbers[n]` is the number to show instead of n.
    """
    numbers = numbers or {}
    places: dict[tuple[str, str | None], dict[int, Source]] = {}
    for source in sorted(sources, key=lambda source: numbers.get(source.number, source.number)):
        place = places.setdefault((source.file_id, source.page_label), {})
        place.setdefault(numbers.get(source.number, source.number), source)
    return [
        _link(next(iter(place.values())), owner_id, list(place) if numbered else [])
        for place in places.values()
    ]


def name_md(name: str) -> str:
    """Markdown of a name, in which the style sheet shortens what is emphasised."""
    start, end = labels.name_parts(name)
    gap = "\N{NO-BREAK SPACE}" if end[:1].isspace() else ""
    return f"*{label(start)}*{gap}{label(end)}" if start else label(end)


def _link(source: Source, owner_id: str, numbers: Sequence[int]) -> str:
    """Numbers, name and page. CSS shortens a long name in its middle, and not the page."""
    whole, page = label(labels.place(source)).replace('"', "&quot;"), labels.page(source)
    caption = (
        (f"**{' '.join(map(str, numbers))}** " if numbers else "")
        + name_md(source.file_name)
        + (f"\N{NO-BREAK SPACE}· {label(page)}" if page else "")
    )
    return f'[{caption}]({source_address(owner_id, source)} "{whole}")'
