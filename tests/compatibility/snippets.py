"""Runs the cells of pages, each page in a process of its own: `python -m tests.compatibility.snippets
ours|theirs`.

A line of JSON on the standard input has the cells of a page; the line that comes back has for each cell its
problem ("" where it ran), and whether it used the library. What a page takes for granted is there: documents,
an index, models, files of data.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.compatibility import shim
from tests.compatibility.pages import data_paths

SECONDS = 60  # for a page
ESSAY = (
    "The author wrote short stories and programmed on an IBM 1401. Later the author painted, and "
    "started a company.\n"
) * 12
BEFORE = """
from llama_index.core import Document, Settings, SimpleDirectoryReader, SummaryIndex, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.llms.openai import OpenAI
from llama_index.embeddings.openai import OpenAIEmbedding
Settings.llm = llm = OpenAI(model="gpt-4o-mini")
Settings.embed_model = embed_model = OpenAIEmbedding()
documents = SimpleDirectoryReader("data").load_data()
nodes = SentenceSplitter().get_nodes_from_documents(documents)
index = VectorStoreIndex(nodes)
retriever = index.as_retriever()
query_engine = index.as_query_engine()
"""


def main(side: str) -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_RDWR)
    if "COMPATIBILITY_LOG" not in os.environ:
        os.dup2(silence, 1)
        os.dup2(silence, 2)
    if side == "ours":
        shim.install()
    for module in (
        "llama_index.core",
        "llama_index.llms.openai",
        "llama_index.embeddings.openai",
        "numpy",
        "pydantic",
    ):
        import_module(module)
    for line in sys.stdin:
        print(json.dumps(_in_a_child(json.loads(line))), file=out, flush=True)


def _in_a_child(cells: list[str]) -> list[tuple[str, bool]]:
    reader, writer = os.pipe()
    if not (child := os.fork()):
        os.close(reader)
        os.setsid()
        with tempfile.TemporaryDirectory() as folder, os.fdopen(writer, "w", 1, encoding="utf-8") as out:
            os.chdir(folder)
            signal.alarm(SECONDS)
            _run(cells, out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as lines:
        outcomes = [tuple(json.loads(line)) for line in lines]
    os.waitpid(child, 0)
    return outcomes + [("took too long", False)] * (len(cells) - len(outcomes))


def _run(cells: list[str], out: Any) -> None:
    _write_data("\n".join(cells))
    _only_loopback()
    space: dict[str, Any] = {"__name__": "__main__"}
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    before = _problem(BEFORE, space, loop)
    for cell in cells:
        problem = before or _problem(cell, space, loop)
        print(json.dumps((problem, _uses_library(cell, space))), file=out)


def _problem(cell: str, space: dict[str, Any], loop: asyncio.AbstractEventLoop) -> str:
    """Why a cell does not run; "" where it does."""
    try:
        code = compile(cell, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if code.co_flags & inspect.CO_COROUTINE:
            loop.run_until_complete(eval(code, space))
        else:
            exec(code, space)
    except BaseException as error:  # noqa: BLE001 whatever it raises is its outcome
        if "COMPATIBILITY_LOG" in os.environ:
            traceback.print_exc()
        return f"{type(error).__name__}: {error}"[:400]
    return ""


def _uses_library(cell: str, space: dict[str, Any]) -> bool:
    """Whether a cell imports the peer, or names something that comes from it."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    values = [space[name] for name in names if name in space]
    homes = [
        getattr(value, "__module__", None) or type(value).__module__
        for value in (*values, *map(type, values))
    ]
    return "llama_index" in cell or any(str(home).startswith("llama_index") for home in homes)


def _write_data(code: str) -> None:
    """Files and folders at the paths that a page names, as far as they are below the working folder."""
    for name in ("data", *data_paths(code)):
        path = Path(name)
        if path.is_absolute() or ".." in path.parts or path.exists():
            continue
        path = path if path.suffix else path / "essay.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ESSAY, "utf-8")


def _only_loopback() -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "localhost", "::1"):
            raise OSError(f"no connection to {address[0]}")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign]


if __name__ == "__main__":
    main(sys.argv[1])
