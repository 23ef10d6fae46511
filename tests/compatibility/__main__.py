"""`python -m tests.compatibility --peer DIR --checkout DIR [--only TEXT]`: how much of what runs on
LlamaIndex runs on ragcore.

Three figures: the snippets of the peer's documentation and the tests of its core, of those that the peer
itself passes here, and the pages of which every name of its core can be imported. DIR of `--peer` is where
llama-index-core and, for the snippets, llama-index-llms-openai and llama-index-embeddings-openai are
installed; that of `--checkout` has its docs and llama-index-core. `--only` takes pages and tests whose path
contains TEXT. `--peer-outcomes` is a file that keeps what the peer passes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from tests.compatibility.figures import Figure, Outcome
from tests.compatibility.pages import cells, imports, pages
from tests.compatibility.server import obliging_server
from tests.compatibility.shim import strictly
from tests.compatibility.suite import outcomes, test_files

HERE = Path(__file__).parent
FIGURES = ("snippets", "tests", "names")


class Kept:
    """What the peer passes, remembered between calls, as it does not change."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()
        self._known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path and path.exists() else {}

    def get(self, key: str, find: Callable[[], Any]) -> Any:
        if key not in self._known:
            outcome = find()
            with self._lock:
                self._known[key] = outcome
                if self._path:
                    self._path.write_text(json.dumps(self._known), "utf-8")
        return self._known[key]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility", description=__doc__)
    parser.add_argument("--peer", type=Path, required=True)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--figure", choices=FIGURES, action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--peer-outcomes", type=Path)
    parser.add_argument("--problems", action="store_true", help="list what fails, and why")
    options = parser.parse_args()
    kept = Kept(options.peer_outcomes)
    chosen = options.figure or FIGURES
    found = [page for page in pages(options.checkout) if options.only in str(page)]
    with obliging_server() as server:
        environment = _environment(options.peer.resolve(), server.url)
        figures = []
        if "names" in chosen:
            figures.append(names(options.checkout, found))
        if "snippets" in chosen:
            figures.append(snippets(options.checkout, found, environment, kept))
        if "tests" in chosen:
            files = [file for file in test_files(options.checkout) if options.only in str(file)]
            figures.append(suite(options.checkout, files, environment, kept))
        for figure in figures:
            print("\n".join(figure.lines(by_group=figure.title.startswith("public"))), flush=True)
            if options.problems:
                print("\n".join(figure.problems()))
    return 0


def names(checkout: Path, found: Sequence[Path]) -> Figure:
    figure = Figure("documentation files of which every name imports, strictly")
    for page in found:
        wanted = {each for cell in cells(page) for each in imports(cell)}
        missing = sorted(f"{module} {name}" for module, name in wanted if not strictly(module, name))
        figure.outcomes.append(Outcome("page", str(page.relative_to(checkout)), ", ".join(missing)))
    return figure


def snippets(checkout: Path, found: Sequence[Path], environment: Mapping[str, str], kept: Kept) -> Figure:
    """Those that the peer runs and that use it."""
    figure = Figure("documentation snippets that the peer runs")
    with (
        _runner("theirs", environment) as theirs,
        _runner("ours", environment) as ours,
        ThreadPoolExecutor(1) as pool,
    ):
        ahead = [pool.submit(kept.get, str(page), partial(_ask, theirs, page)) for page in found]
        for page, future in zip(found, ahead, strict=True):
            passes = future.result()
            if not any(not problem and used for problem, used in passes):
                continue
            for number, ((problem, used), (our_problem, _)) in enumerate(
                zip(passes, _ask(ours, page), strict=True), 1
            ):
                if used and not problem:
                    figure.outcomes.append(
                        Outcome(str(page.relative_to(checkout)), f"cell {number}", our_problem)
                    )
    return figure


def suite(checkout: Path, files: Sequence[Path], environment: Mapping[str, str], kept: Kept) -> Figure:
    figure = Figure("public tests of the peer's core")
    with ThreadPoolExecutor(2) as pool:
        theirs = [
            pool.submit(kept.get, str(file), partial(outcomes, checkout, file, "theirs", environment))
            for file in files
        ]
        ours = [pool.submit(outcomes, checkout, file, "ours", environment) for file in files]
        for file, passes, results in zip(files, theirs, ours, strict=True):
            folder = file.relative_to(checkout / "llama-index-core" / "tests").parts[0]
            for name, problem in passes.result().items():
                if not problem:
                    figure.outcomes.append(Outcome(folder, name, results.result().get(name, "did not run")))
    return figure


def _environment(peer: Path, server: str) -> dict[str, str]:
    """Of a process that runs the peer's material: nothing in it leads off this machine."""
    cores = [Path(place) / "llama_index" / "core" for place in (peer, *sys.path)]
    tokens = next(
        (
            core / "_static" / "tiktoken_cache"
            for core in cores
            if (core / "_static" / "tiktoken_cache").is_dir()
        ),
        peer,
    )
    places = [str(HERE.parents[1]), str(peer), str(HERE)]
    keys = {"OPENAI_API_KEY": "sk-none", "OPENAI_API_BASE": f"{server}/v1", "OPENAI_BASE_URL": f"{server}/v1"}
    offline = {"HF_HUB_OFFLINE": "1", "OLLAMA_HOST": server, "TIKTOKEN_CACHE_DIR": str(tokens)}
    return {**os.environ, **keys, **offline, "PYTHONPATH": os.pathsep.join(places)}


def _runner(side: str, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.compatibility.snippets", side]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=dict(environment),
    )


def _ask(runner: subprocess.Popen[str], page: Path) -> list[list[Any]]:
    assert runner.stdin
    assert runner.stdout
    print(json.dumps(cells(page)), file=runner.stdin, flush=True)
    return json.loads(runner.stdout.readline())


if __name__ == "__main__":
    sys.exit(main())
