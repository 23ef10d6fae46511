"""The tests that a change can break: `python start.py test --changed [REF]` runs them.

    python -m tests.changed [REF]     prints them, a file or a test a line

A change is what differs from REF, committed or not. Unless it is given, REF is the commit at which this
branch left `main`. A test can break if it imports a changed module, directly or through others, or names one,
such as one that it runs as a program. If another file changed, a test can break if it names the file or its
folder, or imports a module that does. Besides those, all contracts run, and each test with the mark `smoke`:
one of each room.

Tests in the browser see the product through its screens alone. A change of what draws the screens selects all
of them, any other change only those with the mark `smoke`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(__file__).parents[1]
PACKAGES = ["ragcore", "lectern", "benchmarks", "sample", "tests"]
ALL_DEPEND_ON = {"pyproject.toml", "tests/conftest.py"}
BROWSER, SCREENS, CONTRACTS = "tests/app/", "tests/screens/", "tests/contracts/"
DRAWS_SCREENS = ("lectern/ui/", "pages/", "app.py", ".streamlit/")
WITH_A_MODEL = "tests/real/"  # they run in .ci/run only
MODULE_NAME = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+")


@dataclass
class Code:
    """The Python files of the project, and which module imports which."""

    texts: dict[str, str]  # path from the root of the project: content
    imports: grimp.ImportGraph

    @cached_property
    def module_names(self) -> dict[str, set[str]]:
        """What looks like the name of a module, in each file."""
        return {path: set(MODULE_NAME.findall(text)) for path, text in self.texts.items()}

    def tests(self) -> list[str]:
        """The files of tests, without those that need a real language model."""
        return sorted(
            path
            for path in self.texts
            if path.startswith("tests/")
            and PurePosixPath(path).name.startswith("test_")
            and not path.startswith(WITH_A_MODEL)
        )

    def affected_tests(self, changed: Iterable[str]) -> list[str]:
        """The files of tests that a change of these files can break."""
        changed = set(changed)
        if changed & ALL_DEPEND_ON:
            return self.tests()
        affected = self._affected_modules(changed)
        paths = {path for path in self.texts if module_of(path) in affected}
        for path, names in self.module_names.items():
            if names & affected:
                paths.add(path)
        for path in self.tests():
            if any(conftest in paths for conftest in self._conftests_used_by(path)):
                paths.add(path)
        if any(not path.startswith("tests/") and is_script(path) for path in paths | changed):
            paths.update(path for path in self.tests() if path.startswith(SCREENS))
        if any(path.startswith(DRAWS_SCREENS) for path in changed):
            paths.update(path for path in self.tests() if path.startswith(BROWSER))
        else:
            paths = {path for path in paths if not path.startswith(BROWSER) or path in changed}
        return [path for path in self.tests() if path in paths]

    def _affected_modules(self, changed: set[str]) -> set[str]:
        """The changed modules, those with the data that changed, and all that import any of them."""
        sources: set[str] = set()
        for path in changed:
            if path.endswith(".py") and not is_script(path):
                sources.add(module_of(path))
            else:
                sources.update(module_of(user) for user in self._files_that_name(path))
        affected = set(sources)
        for module in sources & self.imports.modules:
            affected |= self.imports.find_downstream_modules(module)
            if module in PACKAGES or self.imports.find_children(module):  # a package's own file runs first
                affected |= self.imports.find_downstream_modules(module, as_package=True)
                affected |= self.imports.find_descendants(module)
        return affected

    def _files_that_name(self, path: str) -> list[str]:
        """The Python files that name this file, or else the nearest folder of it that any file names."""
        name = PurePosixPath(path)
        for part in [name, *name.parents]:
            if not part.name:
                break
            words = [f'"{part.name}"', f"/{part.name}", f"import {part.stem}\n", f"from {part.stem} import"]
            users = [user for user, text in self.texts.items() if any(word in text for word in words)]
            if users:
                return users
        return []

    def _conftests_used_by(self, test: str) -> list[str]:
        """The files of fixtures beside and above a test, of which it names a fixture."""
        used = []
        for folder in PurePosixPath(test).parents:
            path = (folder / "conftest.py").as_posix()
            if path in self.texts and path not in ALL_DEPEND_ON:
                fixtures = re.findall(r"@pytest\.fixture.*\ndef (\w+)", self.texts[path])
                if any(re.search(rf"\b{fixture}\b", self.texts[test]) for fixture in fixtures):
                    used.append(path)
        return used

    def smoke_tests(self) -> list[str]:
        """The tests with the mark `smoke`, as pytest names them."""
        tests = []
        for path in self.tests():
            if "mark.smoke" not in self.texts[path]:
                continue
            for node in ast.parse(self.texts[path]).body:
                marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
                if "pytest.mark.smoke" in marks and isinstance(node, ast.FunctionDef):
                    tests.append(f"{path}::{node.name}")
        return tests

    def selected(self, changed: Iterable[str]) -> list[str]:
        """The affected tests of a change of these files, the contracts and the smoke tests."""
        files = set(self.affected_tests(changed))
        files.update(path for path in self.tests() if path.startswith(CONTRACTS))
        smoke = [test for test in self.smoke_tests() if test.partition("::")[0] not in files]
        return [*sorted(files), *smoke]


def module_of(path: str) -> str:
    """The name of the module in a Python file: "ragcore.text" for "ragcore/text/__init__.py"."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def is_script(path: str) -> bool:
    """Whether it is run as a program, and outside the packages."""
    return path.endswith(".py") and PurePosixPath(path).parts[0] not in PACKAGES


def read_code(root: Path = ROOT) -> Code:
    texts = {}
    for folder in [*PACKAGES, "pages"]:
        for path in (root / folder).rglob("*.py"):
            texts[path.relative_to(root).as_posix()] = path.read_text("utf-8")
    for path in root.glob("*.py"):
        texts[path.name] = path.read_text("utf-8")
    return Code(texts, grimp.build_graph(*PACKAGES, cache_dir=None))


def changed_files(ref: str = "", root: Path = ROOT) -> list[str]:
    """The files that differ from the commit `ref`, or that git does not know yet. `ref`: "" for where this
    branch left `main`."""
    base = ref or _git(root, "merge-base", "HEAD", "main")[0]
    return sorted(
        {
            *_git(root, "diff", "--name-only", "--no-renames", "-z", base),
            *_git(root, "ls-files", "--others", "--exclude-standard", "-z"),
        }
    )


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}\nName a commit: --changed REF")
    return [name for name in re.split("[\0\n]", done.stdout) if name]


if __name__ == "__main__":
    since = sys.argv[1] if len(sys.argv) > 1 else ""
    print("\n".join(read_code().selected(changed_files(since))))
