"""How many files of the product a chat question enters, and how often it moves from one of them to another.

    python -m benchmarks.entered_files [FOLDER ...] [--question TEXT]

The sample documents are read by another process and the embedder is loaded; then the question is answered as
in a new chat, by quoting, and only that counts. A file is entered when a function or the top level of it
runs. A move is a call of a function by code in another file of the product; a generator is called once. The
first answer includes the modules that it loads.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from types import FrameType

from lectern.jobs.file_rows import ACTIVE
from lectern.library import Library
from lectern.runs.answer_runs import check_question
from lectern.schema import Ask

FOLDERS = ["ragcore", "lectern", "pages"]


class Entered:
    """A profiler for `sys.setprofile` that counts the files and the moves between them."""

    def __init__(self, folders: list[str]) -> None:
        self.files, self.moves = set[str](), 0
        self._roots = tuple(f"{Path(__file__).parents[1] / folder}/" for folder in folders)
        self._generators: set[FrameType] = set()  # that have begun

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        file, caller = frame.f_code.co_filename, frame.f_back
        if event != "call" or frame in self._generators or not file.startswith(self._roots):
            return
        self.files.add(file)
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            self._generators.add(frame)
        if caller and caller.f_code.co_filename != file and caller.f_code.co_filename.startswith(self._roots):
            self.moves += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "folders", nargs="*", default=FOLDERS, help=f"of the product; by default {', '.join(FOLDERS)}"
    )
    parser.add_argument("--question", default="How long is lost property kept?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, closing(Library(Path(folder))) as library:
        library.intake.add_sample()
        library.worker.start()
        while library.files.all(*ACTIVE, limit=1):
            time.sleep(0.2)
        library.embedder_loader.load()
        how = library.settings.answers
        ask = Ask(
            options.question,
            how.chat_mode,
            how.response_mode,
            how.top_k,
            retrieval=how.retrieval,
        )
        check_question(ask.question)  # as the chat does, whose module is loaded with the screens
        for order in ("first", "second"):
            entered = Entered(options.folders)
            sys.setprofile(entered)
            text = "".join(library.answer(ask))
            sys.setprofile(None)
            print(f"{order:6}  {len(entered.files):3} files  {entered.moves:6,} moves  {text[:60]}")


if __name__ == "__main__":
    main()
