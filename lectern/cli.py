"""The library from a terminal.

lectern [--port NUMBER]      start the application; --no-token if a proxy checks who may use it
lectern add WHAT ...         add files, folders, web links or storage addresses, and wait until they are read
lectern ask QUESTION         print an answer with its sources
lectern export FILE          write the whole library into one file, also while it is in use
lectern import FILE          add such a file to the library
lectern rebuild              rebuild the index with other passages or another embedder
lectern worker               read the files of a shared library, until interrupted
lectern eval DATASET         measure retrieval and answers with a data set, or compare two settings
lectern record               record the answers of stage mode again, with the current language model
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Set
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lectern import access
from lectern import settings as config
from lectern.app_files import app_folder
from lectern.cli_parser import command_parser
from lectern.jobs.changes import wait_for_end
from ragcore.errors import ConfigError, InputError, Problem, RagError, StoreError
from ragcore.storage.atomic_file import replace_file

if TYPE_CHECKING:
    from lectern.jobs.file_rows import FileRow
    from lectern.jobs.files import Added
    from lectern.jobs.sources import SourceFile
    from lectern.library import Library

FIRST_PORT = 8501


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    # the encoding of a terminal or file may not have all characters
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    parser = command_parser()
    try:
        options = parser.parse_args(arguments)
        for option, used in (("--port", options.port is not None), ("--no-token", options.no_token)):
            if used and options.command not in (None, "serve"):
                parser.error(f"{option} starts the application; it cannot be used with {options.command}")
        return _run(options)
    except RagError as error:
        print(f"{error.what}\n{error.hint}".rstrip(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    where = options.library or config.default_library(options.database)
    config.absolute_path("")  # ConfigError in a folder that was deleted, where PyTorch would end the process
    match options.command:
        case "add" | "ingest":
            return _add(where, options.what, options.query, as_json=options.json)
        case "ask":
            return _ask(where, options)
        case "export":
            return _export(where, options.file)
        case "import":
            return _import(where, options.file, yes=options.yes, prompts=options.prompts)
        case "rebuild":
            return _rebuild(where, options)
        case "worker":
            return _worker(where)
        case "eval":
            _use_checkout("benchmarks", "What measures data sets")
            from benchmarks.datasets.command import run

            return run(options)
        case "record":
            return _record(where, options.into)
    return _serve(where, options.port, no_token=options.no_token)


def _open(where: Path | str) -> closing[Library]:
    from lectern.library import Library

    return closing(Library.open(where))


def _serve(where: Path | str, port: int | None, *, no_token: bool) -> int:
    """Run the application in this process until it ends, and open it in the browser if this is a terminal."""
    import importlib
    import os
    import threading

    options = _server_options()
    options["server.port"] = _free_port(str(options.get("server.address", "127.0.0.1")), port)
    os.environ |= config.absolute_environment()  # because this process goes to another folder
    in_folder = {config.HOME: str(where), config.DATABASE: ""}
    os.environ |= {config.DATABASE: str(where)} if config.on_server(where) else in_folder
    if no_token:
        os.environ[access.ACCESS] = "off"
    # so that uvicorn trusts no proxy headers of other local programs
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")
    if access.needs_token():
        access.access_token(config.default_folder())
    os.chdir(app_folder())  # where Streamlit looks for its configuration
    sys.path.insert(0, str(app_folder()))
    sys.argv = [str(app_folder() / "app.py")]
    application = importlib.import_module("app").app
    if access.on_terminal():
        threading.Thread(target=_open_browser, daemon=True).start()
    application.run(config=options)
    return 0


def _server_options() -> dict[str, object]:
    """From the environment variables of Streamlit that say where it listens and whom it answers. Without its
    own command it reads none."""
    import os

    options: dict[str, object] = {}
    if address := os.environ.get("STREAMLIT_SERVER_ADDRESS"):
        options["server.address"] = address
    for name, variable in (
        ("server.allowedHosts", "STREAMLIT_SERVER_ALLOWED_HOSTS"),
        ("server.corsAllowedOrigins", "STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS"),
    ):
        if listed := os.environ.get(variable, "").replace(",", " ").split():
            options[name] = listed
    return options


def _open_browser() -> None:
    """Open the browser once the application listens. The token is in a file that only this account may read,
    because other accounts can see the arguments of a program."""
    import webbrowser

    from lectern.ui.server.app import addresses

    where = addresses.get()
    if access.needs_token():
        page = config.default_folder() / "open.html"
        try:
            content = f'<!doctype html><meta http-equiv="refresh" content="0;url={where}">'
            replace_file(page, content, mode=0o600)
        except StoreError:
            return  # the address is on the terminal
        where = page.as_uri()
    webbrowser.open(where)


def _free_port(host: str, port: int | None) -> int:
    """`port`, or by default 8501 or the next one that is free at `host`. ConfigError if none is free."""
    import socket

    ports = range(FIRST_PORT, FIRST_PORT + 100) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in ports:
        with suppress(OSError), socket.create_server((host, number), family=family):
            return number
    raise ConfigError(
        "No port is free for the application."
        if port is None
        else f"Port {port} is in use, or is not open to this account.",
        hint="Choose another one with: lectern --port NUMBER",
    )


def _add(where: Path | str, what: list[str], query: str | None, *, as_json: bool) -> int:
    with _open(where) as library:
        before = library.files.versions()
        library.worker.start()
        ids: set[str] = set()
        failed = False
        for each in what:
            try:
                files = library.intake.take(read_source(library, each, query))
            except (ConfigError, InputError) as error:  # go on with the others
                if as_json:
                    print(added_as_json(each, "failed", error=error))
                else:
                    print(f"{error.what} {error.hint}", file=sys.stderr)
                failed = True
                continue
            for added in files:
                if as_json and added.outcome == "duplicate":
                    print(added_as_json(added.original_name, "duplicate", same_as=added.file.name))
                elif (sentence := added_in_words(added)) and not as_json:
                    print(sentence)
                ids.add(added.file.id)
        return int(not _all_read(library, ids, before, file_as_json if as_json else file_in_words) or failed)


def read_source(library: Library, what: str, query: str | None) -> Iterator[SourceFile]:
    """The files of a path, a link or an address. Everything that this account may read is allowed."""
    from lectern.jobs import sources
    from lectern.settings import AllowedSources

    path, into, ingest = Path(what), library.incoming, library.settings.ingest
    most = ingest.max_file_mb
    anything = AllowedSources(folders=(Path(path.absolute().anchor),), storage=(what,), private_network=True)
    if query is not None:
        yield sources.from_database(what, query, into, anything, max_mb=ingest.max_query_mb)
    elif sources.is_storage(what):
        yield from sources.from_storage(what, into, anything, max_mb=most)
    elif what.startswith(("http://", "https://")):
        yield sources.from_link(what, into, anything, max_mb=most)
    elif path.is_dir():
        yield from sources.from_folder(what, into, anything, max_mb=most)
    elif path.is_file():
        yield sources.from_file(path, into, ingest)
    else:
        raise ConfigError(f"There is no file {what}.", hint="Check the name and the folder.")


def added_in_words(added: Added) -> str:
    """Whether a new file is a duplicate, replaces a file, or got another name; "" for neither."""
    name, file = added.original_name, added.file
    if added.outcome == "duplicate":
        return f"{name} is already in the library{'' if name == file.name else f', as {file.name}'}."
    if added.outcome == "replaced":
        return f"{file.name} takes the place of the version that was there."
    return (
        ""
        if name == file.name
        else f"{name} is taken in as {file.name}, as there is another file of its name."
    )


def file_in_words(file: FileRow) -> str:
    """One line, and a second one with the first problem, if any."""
    passages = "1 passage" if file.passages == 1 else f"{file.passages:,} passages"
    lines = []
    if file.ready:
        lines.append(f"{file.name} is ready: {passages}.")
    elif file.problem is None:
        lines.append(f"{file.name} was stopped.")
    if file.problem is not None:
        more = len(file.left_out) - 1
        lines.append(
            f"{file.problem.what} "
            f"{file.problem.hint}{f' And {more} more: see Details, or --json.' if more > 0 else ''}"
        )
    return "\n".join(lines)


def file_as_json(file: FileRow) -> str:
    """One line. `left_out` has a sentence for each part of the file that was not read."""
    if file.problem is not None and file.problem.nothing_new:  # a folder or an archive
        return added_as_json(file.name, "passed over", left_out=[file.problem.what])
    left_out = [problem.what for problem in file.left_out]
    error = None if file.ready else file.problem
    return added_as_json(file.name, file.stage.value, passages=file.passages, left_out=left_out, error=error)


def added_as_json(
    name: str,
    state: str,
    *,
    passages: int = 0,
    left_out: list[str] | None = None,
    error: Problem | RagError | None = None,
    same_as: str = "",
) -> str:
    """One line with the file's name, its state ("ready", "failed", "stopped", "passed over" or "duplicate")
    and its result; for a duplicate also the name of the file with the same content."""
    problem = f"{error.what} {error.hint}".strip() if error is not None else None
    entry = {"file": name, "state": state, "passages": passages, "left_out": left_out or [], "error": problem}
    return json.dumps({**entry, "same_as": same_as} if same_as else entry, ensure_ascii=False)


def _all_read(
    library: Library,
    ids: Set[str],
    before: Set[tuple[str, float]],
    describe: Callable[[FileRow], str] = file_in_words,
) -> bool:
    """Wait for the files, and print the result of each; False if one failed. `before`: see `wait_for_end`."""
    failed = False
    for file in wait_for_end(library.files, ids, before):
        print(describe(file), flush=True)
        failed = failed or (file.problem is not None and not (file.ready or file.problem.nothing_new))
    return not failed


def _export(where: Path | str, target: Path) -> int:
    from lectern.export.backup import write_copy

    with _open(where) as library:
        copied = write_copy(library, target)
    print(f"{target} holds {copied}.")
    return 0


def _import(where: Path | str, source: Path, *, yes: bool, prompts: bool) -> int:
    """Show what a copy contains, and add it after a yes."""
    from lectern.export.backup import left_out_in_words
    from lectern.export.restore import inspect_copy, read_copy

    if not source.is_file():
        raise ConfigError(f"There is no file {source}.", hint="Check the name and the folder.")
    with _open(where) as library:
        summary = inspect_copy(library, source)
        print(f"{source} contains {summary}.")
        if summary.left_out:
            print(left_out_in_words(summary.left_out))
        if summary.chunking:
            print("An empty library also takes over how its documents are cut into passages.")
        if summary.prompts and not prompts:
            print(
                "Its prompts are not added. They decide what a language model is told; --prompts adds them."
            )
        if not yes and not _agrees("Add it to the library?"):
            return 1
        before = library.files.versions()
        copied = read_copy(library, source, prompts=prompts)
        print(copied.taken_in)
        library.worker.start()
        return int(not _all_read(library, set(), before))


def _agrees(question: str) -> bool:
    """Ask on the terminal. ConfigError where nobody can answer."""
    if not sys.stdin.isatty():
        raise ConfigError("Nothing was added: nobody can be asked here.", hint="Add it with: --yes")
    try:
        agrees = input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl+D
        agrees = False
    if not agrees:
        print("Nothing was added.")
    return agrees


def _rebuild(where: Path | str, options: argparse.Namespace) -> int:
    """After an interruption, the same command or the application goes on."""
    with _open(where) as library:
        plan = library.rebuilds.start(
            chunk_size=options.chunk_size,
            chunk_overlap=options.chunk_overlap,
            embed_model=options.embed_model,
            splitter=options.splitter,
        )
        changes = f" ({', '.join(plan.changes)})" if plan.changes else ""
        print(
            f"{plan.passages_now:,} passages become about {plan.passages:,}{changes}; about "
            f"{plan.seconds:,.0f} s.",
            flush=True,
        )
        library.worker.start()
        while (coming := library.store.versions.next_version()) is not None:
            if coming.problem is not None:
                print(f"{coming.problem.what} {coming.problem.hint}")
                return 1
            if access.on_terminal():
                print(f"\r{coming.fraction:.0%}", end="", flush=True)
            time.sleep(0.2)
        print(f"\nThe index has {len(library.store):,} passages.")
        return 0


def _worker(where: Path | str) -> int:
    """Run a worker process, as the application does."""
    import signal
    import threading

    ended = threading.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda _number, _frame: ended.set())
    with _open(where) as library:
        library.worker.start()
        print(f"Reading the files of {library.name}. Press Ctrl+C to end it.", flush=True)
        ended.wait()
        return 0


def _record(where: Path | str, into: Path | None) -> int:
    from lectern.runs.recorded_demo import RECORDED, Recording

    _use_checkout("sample", "What records answers")
    from sample.record import record, write

    def report(recording: Recording) -> None:
        ask, facts = recording.ask, recording.facts
        print(
            f"{ask.chat_mode or ask.response_mode}: {ask.question} ({facts.model}, {facts.seconds:.1f} s)",
            flush=True,
        )

    with _open(where) as library:
        recordings = record(library, report)
        write(recordings, into or RECORDED)
    print(f"{len(recordings)} answers are recorded in {into or RECORDED}.")
    return 0


def _use_checkout(package: str, what: str) -> None:
    """Make a package of the checkout importable, which an installation does not have. ConfigError."""
    if not (app_folder() / package / "__init__.py").exists():
        raise ConfigError(
            f"{what} is only in the project's repository.",
            hint="Install Lectern from a clone of it, with: python -m pip install -e .",
        )
    sys.path.append(str(app_folder()))


def _ask(where: Path | str, options: argparse.Namespace) -> int:
    from lectern.explain.source_view import locate_quotes
    from lectern.runs.answer_runs import check_question
    from lectern.runs.cost_estimate import price
    from lectern.schema import Ask, build_sources

    ask = Ask(options.question, chat_mode=None, response_mode=options.mode, top_k=options.top_k)
    check_question(ask.question)
    with _open(where) as library:
        if options.price:
            estimate = price(library, ask)
            calls = "1 call" if estimate.calls == 1 else f"{estimate.calls} calls"
            print(f"{ask.mode}: {calls}, about {estimate.tokens:,} tokens.")
            return 0
        began = time.perf_counter()
        answer = library.answer(ask)
        for piece in answer:
            if not options.json:
                print(piece, end="", flush=True)
        sources = locate_quotes(library.store, build_sources(answer.source_nodes), answer.text)
        if options.json:
            rows = [
                {"file": source.file_name, "place": source.place, "score": source.score} for source in sources
            ]
            seconds = round(time.perf_counter() - began, 3)
            reply = {"outcome": answer.outcome, "text": answer.text, "sources": rows, "seconds": seconds}
            print(json.dumps(reply, ensure_ascii=False))
            return 0
        print()
        for source in sources if answer.outcome != "nothing" else ():
            print(f"  [{source.number}] {source.place}")
        return 0


if __name__ == "__main__":
    sys.exit(main())
