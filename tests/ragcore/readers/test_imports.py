"""A file imports its own reader and no other."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import ragcore.readers
from ragcore.readers.registry import reader_for, supported_suffixes

READ = """
import sys
from pathlib import Path
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
path = Path(sys.argv[1])
print(read_file(path, ReadOptions(path.name)).text)
print(*(name for name in sys.modules if name.startswith("ragcore.readers.")))
"""


def test_the_first_file_that_is_not_plain_text_imports_its_own_reader_alone(tmp_path: Path) -> None:
    path = tmp_path / "lamps.csv"
    path.write_text("tower,lamps\nNorth,3\n", "utf-8")
    run = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert "North" in run.stdout
    modules = set(run.stdout.splitlines()[-1].split())
    assert "ragcore.readers.csv" in modules
    others = {reader_for(f"a{suffix}").__name__ for suffix in supported_suffixes()}
    assert modules & others == {"ragcore.readers.csv", "ragcore.readers.text"}


def test_every_module_with_endings_is_the_reader_of_its_files() -> None:
    found: dict[str, str] = {}
    for module in walk_packages(ragcore.readers.__path__, "ragcore.readers."):
        for suffix in getattr(import_module(module.name), "SUFFIXES", ()):
            assert suffix not in found
            found[suffix] = module.name
    assert sorted(found) == list(supported_suffixes())
    assert {suffix: reader_for(f"a{suffix}").__name__ for suffix in found} == found
