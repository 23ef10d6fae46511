from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_run_leaves_module_search_paths_intact_for_threads() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from app import SCREENS; from streamlit.runtime.scriptrunner.exec_code import "
            "modified_sys_path\n"
            "before = list(sys.path)\n"
            "with modified_sys_path(str(SCREENS / 'shell.py')): assert sys.path == before\n"
            "assert sys.path == before",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
