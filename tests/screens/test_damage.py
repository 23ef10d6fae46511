"""A damaged library says so on every page, and shows no keys."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lectern.keys import write_key
from lectern.ui import navigation
from ragcore.embeddings.hashing import HashEmbedding
from tests.faults.test_damaged_library import overwrite_page
from tests.sample_library import read_sample_once
from tests.screens.conftest import Screen


# without the second one, no screen can be drawn
@pytest.mark.parametrize("table", ["passages", "conversations"])
def test_damaged_database_and_keys_are_reported_on_every_screen(
    table: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, open_tab: Callable[..., Screen]
) -> None:
    home = tmp_path / "library"
    shutil.copytree(read_sample_once(tmp_path_factory), home)
    write_key(home, "openai", "sk-secret")
    (home / "keys.json").write_bytes(b'{"openai": "sk-sec')
    overwrite_page(home / "library.db", table, b"\xff" * 4096)
    screen = open_tab(HashEmbedding(), drawn=False)
    screen.library.integrity.wait(30)
    screen.tab.run()
    for page in ("home", "settings"):
        screen.tab.switch_page(str(navigation.PAGES / f"{page}.py")).run()
        said = screen.words()
        assert "A part of the library file" in said
        assert "keys.damaged-1.json" in said
        assert "sk-sec" not in said
