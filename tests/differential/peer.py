"""LlamaIndex's side, in its own interpreter: `python -m tests.differential.peer AREA`, inputs and outcomes as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    from tests.differential.cases import area, error

    theirs = area(sys.argv[1]).theirs
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the peer prints is not an outcome
    for line in sys.stdin:
        try:
            outcome = theirs(json.loads(line))
        except Exception as problem:  # noqa: BLE001 whatever it raises is its outcome
            outcome = error(problem)
        print(json.dumps(outcome), file=out, flush=True)


if __name__ == "__main__":
    core = find_spec("llama_index.core")
    assert core is not None, "needs llama-index-core==0.14.25"
    assert core.origin is not None
    # Its wheel brings the vocabularies of tiktoken and nltk; nothing is downloaded.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(core.origin).parent / "_static" / "tiktoken_cache")
    main()
