"""LlamaIndex's side, in its own interpreter: `python -m tests.differential.peer`. A line of JSON names an
area and has what its cases are given; the line that comes back has their outcomes.

Each area has a process of its own, forked from one that has LlamaIndex loaded, which takes longer than most
areas do.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the peer prints is not an outcome
    import_module("llama_index.core")
    for line in sys.stdin:
        name, given = json.loads(line)
        if not hasattr(os, "fork"):
            answer(name, given, out)
        elif child := os.fork():
            if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                sys.exit(status)
        else:
            answer(name, given, out)
            os._exit(0)


def answer(name: str, cases: list[Any], out: TextIO) -> None:
    from tests.differential.cases import area, error

    theirs = area(name).theirs
    outcomes = []
    for given in cases:
        try:
            outcomes.append(theirs(given))
        except Exception as problem:  # noqa: BLE001 whatever it raises is its outcome
            outcomes.append(error(problem))
    print(json.dumps(outcomes), file=out, flush=True)


if __name__ == "__main__":
    core = find_spec("llama_index.core")
    assert core is not None, "needs llama-index-core==0.14.25"
    assert core.origin is not None
    # Its wheel brings the vocabularies of tiktoken and nltk; nothing is downloaded.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(core.origin).parent / "_static" / "tiktoken_cache")
    main()
