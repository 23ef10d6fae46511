from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.ui.server.uploads import MAX_NAME_CHARS, safe_name


@given(st.text())
def test_a_name_is_one_displayable_part_of_a_path(name: str) -> None:
    made = safe_name(name)
    assert made
    assert len(made) <= MAX_NAME_CHARS
    assert made.isprintable()
    assert not set(made) & {"/", "\\"}
    assert not made.startswith(".")


@pytest.mark.parametrize(
    ("given_name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\docs\\Report.pdf", "Report.pdf"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("a\nb\x00c.txt", "a b c.txt"),
        ("x" * 300 + ".pdf", "x" * 176 + ".pdf"),
        ("Übung 3 – наука.md", "Übung 3 – наука.md"),
    ],
)
def test_names_of_uploads(given_name: str, expected: str) -> None:
    assert safe_name(given_name) == expected
