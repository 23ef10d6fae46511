"""The commands and options of `lectern` on a terminal."""

from __future__ import annotations

import argparse
from typing import get_args

from lectern import access
from lectern import settings as config
from lectern.settings import RESPONSE_MODES, SplitterName, absolute_path


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lectern", description="Ask your documents.")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--library", type=absolute_path, default=None, metavar="FOLDER", help="where the library is kept"
    )
    place.add_argument(
        "--database", metavar="URL", help=f"the server that keeps it; or name it in {config.DATABASE}"
    )
    port_help = "the port of the application; by default 8501, or the next free one"
    parser.add_argument("--port", type=_port, metavar="NUMBER", help=port_help)
    token_help = f"let in whoever reaches the application, as a proxy decides; or set {access.ACCESS}=off"
    parser.add_argument("--no-token", action="store_true", help=token_help)
    commands = parser.add_subparsers(dest="command")
    serve = commands.add_parser("serve", help="start the application (the default)")
    # SUPPRESS, because the default of a command's option would replace the value before the command.
    serve.add_argument("--port", type=_port, metavar="NUMBER", help=port_help, default=argparse.SUPPRESS)
    serve.add_argument("--no-token", action="store_true", help=token_help, default=argparse.SUPPRESS)
    add = commands.add_parser("add", aliases=["ingest"], help="take documents in")
    add.add_argument(
        "what",
        nargs="+",
        help="a file, a folder, https://..., s3://...; with --query the address of a database",
    )
    add.add_argument("--query", metavar="SELECT", help="take in the rows that a database gives")
    add.add_argument(
        "--json",
        action="store_true",
        help="a line of JSON for each file: what was read of it, and what was not",
    )
    ask = commands.add_parser("ask", help="ask a question")
    ask.add_argument("question")
    ask.add_argument("--mode", default="compact", choices=RESPONSE_MODES, help="response mode")
    ask.add_argument("--top-k", type=_at_least_one, default=6, help="how many passages")
    ask.add_argument(
        "--json", action="store_true", help="outcome, text, sources and seconds as one line of JSON"
    )
    ask.add_argument(
        "--price", action="store_true", help="say what the answer would take, and do not ask for it"
    )
    _add_copies(commands)
    rebuild = commands.add_parser("rebuild", help="rebuild the index; the old one answers until then")
    rebuild.add_argument("--chunk-size", type=_at_least_one, metavar="TOKENS", help="length of a passage")
    rebuild.add_argument(
        "--chunk-overlap", type=int, metavar="TOKENS", help="how much of a passage the next one repeats"
    )
    rebuild.add_argument(
        "--splitter", choices=get_args(SplitterName), help="where documents are cut into passages"
    )
    rebuild.add_argument(
        "--embed-model", metavar="NAME", help="a sentence-transformers model by name or folder, or hashing"
    )
    commands.add_parser("worker", help="read the files of a shared library, until interrupted")
    _add_eval(commands.add_parser("eval", help="measure finding and answering with a data set"))
    record = commands.add_parser("record", help="record the answers of stage mode anew")
    record.add_argument("--into", type=absolute_path, metavar="FOLDER", help="by default sample/recorded")
    return parser


def _add_copies(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = commands.add_parser("export", help="write the whole library into one file")
    export.add_argument("file", type=absolute_path)
    import_ = commands.add_parser("import", help="add what export has written to the library")
    import_.add_argument("file", type=absolute_path)
    import_.add_argument(
        "--yes", action="store_true", help="add it without asking; needed where nobody can answer"
    )
    import_.add_argument(
        "--prompts", action="store_true", help="also its edited prompts: what a language model is told"
    )


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 65535")
    return int(text)


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=absolute_path, metavar="DATASET", help="its folder; docs/quality.md says what is in it"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--setting", default="default", metavar="A", help='"default", or name=value,... such as top_k=10'
    )
    how.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="measure two settings, and test their difference"
    )
    parser.add_argument(
        "--part", default="all", choices=("development", "validation", "all"), help="which questions"
    )
    parser.add_argument(
        "--others",
        type=int,
        metavar="N",
        help="of a corpus, the graded documents and N more: quicker, and easier",
    )
    parser.add_argument(
        "--questions",
        type=absolute_path,
        metavar="DATASET",
        help="ask the questions of this one that have the same ids: translations",
    )
    parser.add_argument(
        "--beside",
        type=absolute_path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="of files that are put into the same library",
    )
    parser.add_argument(
        "--finding", action="store_true", help="measure only what is found, not what is answered"
    )
    parser.add_argument(
        "--work",
        type=absolute_path,
        metavar="FOLDER",
        help="where indexes are kept; by default this system's cache",
    )
    parser.add_argument(
        "--each", type=absolute_path, metavar="FILE", help="write what came of each question, as JSON Lines"
    )
