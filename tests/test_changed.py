"""What `python start.py test --changed` selects: what a change can break, the contracts, and a test of each
room."""

from __future__ import annotations

import subprocess
from pathlib import Path

import grimp
import pytest

from tests.changed import Code, changed_files, module_of, read_code
from tests.needs import needs_program

IMPORTS = {  # module: what it imports
    "ragcore.text": [],
    "ragcore.llms": [],
    "lectern.library": ["ragcore.text"],
    "lectern.ui.state": ["lectern.library"],
    "tests.test_words": ["ragcore.text"],
    "tests.test_models": ["ragcore.llms"],
    "tests.lectern.conftest": ["lectern.library"],
    "tests.lectern.test_with_library": [],
    "tests.lectern.test_alone": [],
    "tests.contracts.test_stores": [],
    "tests.app.test_chat": ["lectern.library"],
    "tests.app.test_stage": [],
    "tests.screens.test_pages": [],
}
CONTENT = {
    "lectern/ui/state.py": 'STYLE = "style.css"',
    "tests/lectern/conftest.py": "@pytest.fixture\ndef library(tmp_path):\n    ...",
    "tests/lectern/test_with_library.py": "def test_it(library): ...",
    "tests/lectern/test_alone.py": 'run("-m", "lectern.ui.state")',
    "tests/test_models.py": '@pytest.mark.smoke\ndef test_it(): ...\nDATA = ROOT / "models" / "a.json"',
    "tests/real/test_modes.py": "import lectern.library",
    "pages/chat.py": "from lectern.ui.state import STYLE",
}


@pytest.fixture
def code() -> Code:
    graph = grimp.ImportGraph()
    texts = dict(CONTENT)
    for module, imported in IMPORTS.items():
        texts.setdefault(module.replace(".", "/") + ".py", "")
        for name in imported:
            graph.add_import(importer=module, imported=name)
        graph.add_module(module)
    return Code(texts, graph)


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        (["ragcore/llms.py"], ["tests/test_models.py"]),
        (
            ["ragcore/text.py"],  # directly, through a fixture, and of a page and a program that import it
            [
                "tests/lectern/test_alone.py",
                "tests/lectern/test_with_library.py",
                "tests/screens/test_pages.py",
                "tests/test_words.py",
            ],
        ),
        (
            ["lectern/ui/style.css"],
            [
                "tests/app/test_chat.py",
                "tests/app/test_stage.py",
                "tests/lectern/test_alone.py",
                "tests/screens/test_pages.py",
            ],
        ),
        (
            ["pages/chat.py"],
            ["tests/app/test_chat.py", "tests/app/test_stage.py", "tests/screens/test_pages.py"],
        ),
        (["tests/app/test_stage.py"], ["tests/app/test_stage.py"]),
        (["models/b.json"], ["tests/test_models.py"]),
        (["ragcore/removed.py"], []),
        (["LICENSE"], []),
    ],
)
def test_change_selects_what_it_can_break(code: Code, changed: list[str], affected: list[str]) -> None:
    assert code.affected_tests(changed) == affected


def test_change_of_the_dependencies_selects_every_test_without_a_model(code: Code) -> None:
    assert len(code.affected_tests(["pyproject.toml"])) == 8


def test_contracts_and_smoke_tests_run_after_every_change(code: Code) -> None:
    always = ["tests/contracts/test_stores.py", "tests/test_models.py::test_it"]
    assert code.selected([]) == always
    assert code.selected(["ragcore/llms.py"]) == ["tests/contracts/test_stores.py", "tests/test_models.py"]


@needs_program("git")
def test_change_is_what_differs_from_main_or_another_commit(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for name in ("kept", "edited", "deleted"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "--message=first")
    git("checkout", "-b", "branch")
    (tmp_path / "committed").touch()
    git("add", ".")
    git("commit", "--message=second")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").touch()
    assert changed_files(root=tmp_path) == ["committed", "deleted", "edited", "new"]
    assert changed_files("HEAD", tmp_path) == ["deleted", "edited", "new"]
    with pytest.raises(SystemExit, match="Name a commit: --changed REF"):
        changed_files("nowhere", tmp_path)


def test_every_room_of_the_project_has_a_smoke_test() -> None:
    code = read_code()
    rooms = {"tests/app", "tests/screens"}
    for path in code.tests():
        if path.startswith(("tests/ragcore/", "tests/lectern/")) and path.count("/") > 2:
            rooms.add("/".join(path.split("/")[:3]))
    tested = {room for room in rooms for test in code.smoke_tests() if test.startswith(f"{room}/")}
    assert rooms - tested == set()


def test_module_of_the_project_selects_the_tests_that_import_it() -> None:
    code = read_code()
    assert module_of("ragcore/text/__init__.py") == "ragcore.text"
    selected = code.selected(["tests/postgres.py"])
    assert "tests/ragcore/sql/test_postgres.py" in selected
    assert "tests/ragcore/sql/test_sqlite.py" not in selected
