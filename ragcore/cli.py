"""The library from a terminal.

lectern                      start the application
lectern ingest FILE ...      take files in, and wait until they are read
lectern ask QUESTION         an answer with its sources
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from ragcore import config
from ragcore.errors import ConfigError, RagError
from ragcore.schema import new_id

APP = Path(__file__).parents[1] / "app.py"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; gives its exit status."""
    parser = argparse.ArgumentParser(prog="lectern", description="Ask your documents.")
    parser.add_argument("--library", type=Path, default=None, metavar="FOLDER", help="where the library is kept")
    commands = parser.add_subparsers(dest="command")
    serve = commands.add_parser("serve", help="start the application (the default)")
    serve.add_argument("--port", type=int, default=8501)
    ingest = commands.add_parser("ingest", help="take files in")
    ingest.add_argument("files", nargs="+", type=Path)
    ask = commands.add_parser("ask", help="ask a question")
    ask.add_argument("question")
    ask.add_argument("--mode", default="compact", help="response mode")
    ask.add_argument("--top-k", type=int, default=6, help="how many passages")
    given = parser.parse_args(arguments)
    folder = given.library or config.default_folder()
    try:
        if given.command == "ingest":
            return _ingest(folder, given.files)
        if given.command == "ask":
            return _ask(folder, given.question, given.mode, given.top_k)
        return _serve(folder, getattr(given, "port", 8501))
    except RagError as error:
        print(f"{error.what}\n{error.hint}".rstrip(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _serve(folder: Path, port: int) -> int:
    if not APP.exists():
        raise ConfigError(
            "The application's screens are not installed beside the library.",
            hint="Install from a checkout, with: python -m pip install -e .",
        )
    import os

    environment = {**os.environ, "LECTERN_HOME": str(folder)}
    command = [sys.executable, "-m", "streamlit", "run", str(APP), f"--server.port={port}"]
    return subprocess.call(command, cwd=APP.parent, env=environment)


def _ingest(folder: Path, paths: list[Path]) -> int:
    import time

    from ragcore.ingestion.files import Stage
    from ragcore.library import Library

    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise ConfigError(f"There is no file {missing[0]}.", hint="Check the name and the folder.")
    library = Library.open(folder)
    try:
        library.start_worker()
        waiting = []
        for path in paths:
            copy = library.incoming / f"{new_id()}{path.suffix}"
            shutil.copyfile(path, copy)
            try:
                added = library.add(copy, path.name)
            except RagError as error:
                print(f"{path.name}: {error.what} {error.hint}")
                continue
            if added.outcome == "duplicate":
                print(f"{path.name}: already in the library, skipped.")
            waiting.append(added.file.id)
        failed = False
        while waiting:
            for file_id in list(waiting):
                file = library.files.get(file_id)
                if file is None or not file.active:
                    waiting.remove(file_id)
                if file is not None and file.stage is Stage.READY:
                    print(f"{file.name}: ready, {file.passages} passages.")
                elif file is not None and file.problem is not None:
                    failed = True
                    print(f"{file.name}: {file.problem.what} {file.problem.hint}")
            time.sleep(0.2)
        return int(failed)
    finally:
        library.close()


def _ask(folder: Path, question: str, mode: str, top_k: int) -> int:
    from ragcore.conversations import Ask
    from ragcore.library import Library
    from ragcore.runs import check_question

    check_question(question)
    library = Library.open(folder)
    try:
        answer = library.answer(Ask(question, chat_mode=None, response_mode=mode, top_k=top_k))
        for piece in answer:
            print(piece, end="", flush=True)
        print()
        for source in library.sources(answer.source_nodes):
            print(f"  [{source.number}] {source.place}")
        return 0
    finally:
        library.close()


if __name__ == "__main__":
    sys.exit(main())
