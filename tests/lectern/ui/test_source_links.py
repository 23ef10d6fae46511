from __future__ import annotations

from dataclasses import replace

from lectern.schema import Source
from lectern.ui.widgets.source_links import source_links

LEASE = Source(1, "n1", "f1", "lease.docx", 0, 9, "The rent.")
PAGED = Source(4, "n4", "f2", "tower.pdf", 0, 9, "The tower.", page_label="2")


def test_a_file_without_pages_has_one_link_with_all_its_numbers() -> None:
    sources = [LEASE, replace(LEASE, number=3), replace(LEASE, number=2), PAGED]
    assert source_links(sources, "note") == [
        '[**1 2 3** lease\\.docx](#passage-note.1 "lease\\.docx")',
        '[**4** tower\\.pdf\xa0· p\\. 2](#passage-note.4 "tower\\.pdf · p\\. 2")',
    ]


def test_links_have_the_numbers_to_show_or_none() -> None:
    (link,) = source_links([PAGED], "m", {4: 1})
    assert link.startswith("[**1** tower")
    (link,) = source_links([PAGED], "m", {4: 1}, numbered=False)
    assert link.startswith("[tower")


def test_only_the_beginning_of_a_long_name_may_be_shortened() -> None:
    (link,) = source_links([replace(PAGED, file_name="Annual report of the council 2024.pdf")], "m")
    assert link.startswith("[**4** *Annual report of the council*\xa02024\\.pdf\xa0· p\\. 2](")
