"""MarkdownNodeParser: where sections begin, and what they say of their place."""

from __future__ import annotations

import pytest

from ragcore.node_parser import MarkdownNodeParser
from ragcore.schema import Document

TEXT = """\
Before any heading.

# Railway
About it.
## Tickets ##
They cost 3 pounds.
```sh
# no heading
```
### C#
# Harbour

Boats.
"""


def places(text: str) -> list[tuple[str, str]]:
    return [(node.text, str(node.metadata["header_path"])) for node in MarkdownNodeParser()([Document(text)])]


def test_each_heading_opens_a_section_named_by_those_above() -> None:
    # The same as llama-index-core 0.14.25 makes of it.
    assert places(TEXT) == [
        ("Before any heading.", "/"),
        ("# Railway\nAbout it.", "/"),
        ("## Tickets ##\nThey cost 3 pounds.\n```sh\n# no heading\n```", "/Railway/"),
        ("### C#", "/Railway/Tickets/"),
        ("# Harbour\n\nBoats.", "/"),
    ]


def test_headings_above_a_section_join_its_documents_metadata() -> None:
    nodes = MarkdownNodeParser()([Document(TEXT, metadata={"file_name": "a.md"})])
    assert dict(nodes[0].metadata) == {"file_name": "a.md", "header_path": "/"}
    assert dict(nodes[3].metadata) == {"file_name": "a.md", "header_path": "/Railway/Tickets/"}


def test_a_skipped_rank_is_not_in_the_path() -> None:
    nodes = MarkdownNodeParser(header_path_separator=" > ")([Document("# A\n### B\n## C\n")])
    assert [node.metadata["header_path"] for node in nodes] == [" > ", " > A > ", " > A > "]


def test_what_looks_like_a_heading_in_a_block_of_code_is_none() -> None:
    for fence in ("```", "~~~", "````", "  ```"):
        text = f"# A\n{fence}\n# x\n{fence}\n# B"
        assert [text for text, _ in places(text)] == [f"# A\n{fence}\n# x\n{fence}", "# B"]
    nested = "# A\n````\n```\n# x\n```\n````\n# B"
    assert [text for text, _ in places(nested)] == [nested[:-4], "# B"]
    assert [text for text, _ in places("# A\n```\n# never closed")] == ["# A\n```\n# never closed"]
    assert [text for text, _ in places("# A\n```\n# x\n``` no end\n# y\n```\n# B")][1:] == ["# B"]
    for code in ("`` ` `` ```code```", "```code``` in a line"):
        assert [text for text, _ in places(f"# A\n{code}\n# B")] == [f"# A\n{code}", "# B"]


def test_what_is_no_heading_by_the_rules_of_markdown_is_text() -> None:
    for line in ("#nospace", "####### seven", "    # indented code", "text # with a sign"):
        assert places(f"{line}\n") == [(line.strip(), "/")]
    assert places("   ## indented a little\nx")[0][0] == "## indented a little\nx"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_markdown_has_it(end: str) -> None:
    text = TEXT.replace("\n", end)
    nodes = MarkdownNodeParser()([Document(text)])
    assert [dict(node.metadata) for node in nodes] == [
        dict(node.metadata) for node in MarkdownNodeParser()([Document(TEXT)])
    ]
    assert [node.text.replace(end, "\n") for node in nodes] == [section for section, _ in places(TEXT)]
    assert [text[node.start_char_idx : node.end_char_idx] for node in nodes] == [node.text for node in nodes]


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_other_signs_end_no_line(sign: str) -> None:
    assert places(f"# A\nfoo{sign}# no\n# B") == [(f"# A\nfoo{sign}# no", "/"), ("# B", "/")]
    assert places(f"# A{sign}# no")[0][0] == f"# A{sign}# no"


def test_sections_are_linked_stretches_of_the_document() -> None:
    nodes = MarkdownNodeParser.from_defaults()([Document(TEXT, id_="d")])
    assert [TEXT[node.start_char_idx : node.end_char_idx] for node in nodes] == [node.text for node in nodes]
    assert [node.next_id for node in nodes] == [*(node.id_ for node in nodes[1:]), None]
    assert "".join("".join(node.text.split()) for node in nodes) == "".join(TEXT.split())
