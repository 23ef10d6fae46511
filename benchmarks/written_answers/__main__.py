"""How good the answers are that a real language model writes through Lectern, with its default settings.

    python -m benchmarks.written_answers --model FILE.gguf --quick  # serves the file itself, with xllamacpp
    python -m benchmarks.written_answers --server http://127.0.0.1:8080 --only squad2,household --count 10
    python -m benchmarks.written_answers --judge  # the table again, of all answers that are stored

Answers are stored in the folder --answers as they come; the next run asks only what is missing, so a run may
be stopped, or end itself after --minutes, at any time. `--peer PYTHON` names an interpreter with
llama-index-core 0.14.25, which gets the same questions and passages.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack
from pathlib import Path

import platformdirs

from benchmarks.reader import DATA
from benchmarks.written_answers.answers import read_rows
from benchmarks.written_answers.figures import table
from benchmarks.written_answers.fitting import fit
from benchmarks.written_answers.model_server import ModelServer, run_server
from benchmarks.written_answers.parts import FULL, PARTS, Session
from benchmarks.written_answers.peer import PeerProcess

FOLDER = Path(platformdirs.user_cache_dir("lectern", appauthor=False)) / "written_answers"


def main() -> None:
    options = _options()
    if not options.judge:
        with ExitStack() as stack:
            url = options.server or stack.enter_context(run_server(options.model, options.threads))
            peer = None
            server = ModelServer(url)
            if options.peer:
                peer = PeerProcess(options.peer, server.url, server.model)
                stack.callback(peer.close)
            session = Session(server, options, time.monotonic() + 60 * options.minutes, peer)
            for part in options.only:
                if time.monotonic() < session.deadline:
                    PARTS[part](session, part)
    suffixes = ("", "-peer")
    rows = {
        part + suffix: read_rows(options.answers, part + suffix)
        for part in options.only
        for suffix in suffixes
    }
    if options.half != "all":
        development = options.half == "development"
        rows = {
            part: [row for row in some if row.get("development", development) is development]
            for part, some in rows.items()
        }
    print(fit([*rows["squad2"], *rows["clapnq"]]) if options.fit else table(rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--model", type=Path, metavar="FILE", help="a GGUF file, which is served for the time of the run"
    )
    source.add_argument("--server", metavar="URL", help="a running server that speaks OpenAI's wire format")
    source.add_argument("--judge", action="store_true", help="ask nothing; judge what is stored")
    parser.add_argument(
        "--fit", action="store_true", help="with --judge: fit the limit below which an answer is doubted"
    )
    parser.add_argument(
        "--only",
        type=_parts,
        default=list(FULL),
        metavar="PARTS",
        help=f"of {','.join(FULL)}; all by default",
    )
    parser.add_argument("--count", type=int, help="at most so many questions of a kind")
    parser.add_argument("--quick", action="store_true", help="a few questions of each kind")
    parser.add_argument(
        "--passages", type=int, default=3, help="for an answer about a data set (3); others have the default"
    )
    parser.add_argument(
        "--half", choices=("development", "validation", "all"), default="validation", help="of the data sets"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the served model")
    parser.add_argument("--minutes", type=float, default=600, help="after which no further question begins")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with llama-index-core 0.14.25")
    parser.add_argument(
        "--answers", type=Path, default=FOLDER, metavar="FOLDER", help="where answers are stored"
    )
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="where the data sets are")
    return parser.parse_args()


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    if unknown := set(parts) - FULL.keys():
        raise argparse.ArgumentTypeError(
            f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(FULL)}"
        )
    return parts


if __name__ == "__main__":
    main()
