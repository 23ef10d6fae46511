"""The web server: startup and shutdown, routes, middleware."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from queue import SimpleQueue

import anyio
import streamlit as st
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lectern import access
from lectern.open_files import raise_open_files
from lectern.settings import default_folder
from lectern.ui import resources
from lectern.ui.i18n import preferred_language, set_request_language
from lectern.ui.server import downloads, exports, uploads
from lectern.ui.server.access import Access, HiddenToken, stored_token
from lectern.ui.server.first_frame import FirstFrame
from lectern.ui.server.map import map_passage, map_points
from lectern.ui.server.security import KnownHosts, SameOrigin, SecurityHeaders, ValidPaths, not_found
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5.0  # between two attempts to reach a database server
# Where to open the started application. It comes when the server listens, so that no other program that
# listens there before it gets the token.
addresses: SimpleQueue[str] = SimpleQueue()


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Prints the address, opens the library and every other index with unfinished work, and ends their
    workers at the end. The server listens already."""
    _print_address()
    logging.getLogger("streamlit.error_util").addFilter(in_one_line)
    raise_open_files()
    if not await anyio.to_thread.run_sync(_open):
        threading.Thread(target=_open_later, name="open-later", daemon=True).start()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        try:
            await anyio.to_thread.run_sync(lambda: resources.open_indexes().close())
        except RagError:
            logger.info("there was no library to close")


def _print_address() -> None:
    token, listening = stored_token(), st.get_option("server.address") or ""
    where = access.address(listening, st.get_option("server.port"), None)
    with_token = access.address(listening, st.get_option("server.port"), token)
    lines = [f"Lectern is at {with_token if access.on_terminal() else where}", "Press Ctrl+C to end it."]
    if token and not access.on_terminal():
        lines[1:1] = [
            "A browser needs the token once: add /?token= and what is in the file "
            f"{access.token_file(default_folder())} to this address."
        ]
    try:
        print(*lines, sep="\n", flush=True)  # noqa: T201 - for the person who starts it
    except OSError as error:
        logger.warning("the address of Lectern cannot be printed: %s", error.strerror)
    addresses.put(with_token)


def _open() -> bool:
    """Opens the indexes. Returns False while the database server is away."""
    try:
        resources.get_index()
        resources.open_indexes().resume_work()
    except RagError as error:
        logger.warning("the library cannot be opened: %s", error.what)  # the screens show it, and try again
        return not error.retryable
    return True


def _open_later() -> None:
    """Waiting files are read even without a visitor."""
    while not _open():
        time.sleep(RETRY_SECONDS)


def in_one_line(record: logging.LogRecord) -> bool:
    """Streamlit logs every failing screen with a traceback. For an error that the screen explains, one line
    is enough."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and not isinstance(error, Exception):  # Streamlit interrupted the script meanwhile
        error = error.__context__
    if isinstance(error, RagError):
        record.msg, record.args, record.exc_info = "a screen cannot be drawn: %s", (error,), None
    return True


def on_script_error(error: BaseException) -> bool:
    """Draws any failure of a screen in the one form; the traceback goes only to the log."""
    from lectern.ui.widgets.problem import draw_screen_failure

    if not isinstance(error, RagError):
        logger.error("a screen failed", exc_info=error)
    draw_screen_failure(error)
    return True


class RequestLanguage:
    """Sets the language of texts outside the screens: the chosen one, or else the browser's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/api/"):
            chosen = await anyio.to_thread.run_sync(resources.chosen_language)
            set_request_language(
                chosen or preferred_language(Headers(scope=scope).get("accept-language", ""))
            )
        await self.app(scope, receive, send)


class ClosedTabs:
    """Ends the session of a tab that closes while its screen is being sent. Streamlit would read from it once
    more, and the server would log a failure with a traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        closed = False

        async def while_open(message: Message) -> None:
            nonlocal closed
            try:
                await send(message)
            except OSError:
                closed = True
                raise

        try:
            await self.app(scope, receive, while_open)
        except RuntimeError:
            if not closed:
                raise


class Number(IntegerConvertor):
    """A number that every database and library of ours takes."""

    regex = "[0-9]{1,9}"


register_url_convertor("number", Number())
ROUTES = [
    Route("/api/upload", uploads.upload, methods=["PUT"]),
    Route("/api/index", uploads.make_index, methods=["PUT"]),
    Route("/api/copy", downloads.make_copy, methods=["POST"]),
    Route("/api/copy/{id:uuid}", downloads.send_copy),
    Route("/api/map", map_points),
    Route("/api/map/{row:number}", map_passage),
    Route("/api/conversation/{id}/{form}", exports.conversation_file),
    Route("/api/page/{file_id}/{page_index:number}", downloads.page_image),
    Route("/api/original/{file_id}", downloads.original),
    Route("/api/card/{message_id}", downloads.run_card),
    Mount("/api", not_found),  # or Streamlit would send its page
]
MIDDLEWARE = [
    Middleware(class_)
    for class_ in (
        HiddenToken,
        ClosedTabs,
        SecurityHeaders,
        KnownHosts,
        SameOrigin,
        Access,
        RequestLanguage,
        ValidPaths,
        FirstFrame,
    )
]
