"""The web server around the screens: what it does when it starts and ends, its addresses, and what every request passes."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import streamlit as st
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lectern import access
from lectern.open_files import raise_open_files
from lectern.ui import resources
from lectern.ui.i18n import answer_in, preferred_language
from lectern.ui.server import downloads, exports, uploads
from lectern.ui.server.access import Access, stored_token
from lectern.ui.server.first_frame import FirstFrame
from lectern.ui.server.map import map_passage, map_points
from lectern.ui.server.security import KnownHosts, SameOrigin, SecurityHeaders
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

AWAY_SECONDS = 5.0  # before a database server that is away is asked again


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Say where the application is; open the library before the first visitor, and every other index in which work was left;
    end their workers when the server ends."""
    where = access.address(st.get_option("server.port"), stored_token())
    sys.stdout.write(f"Lectern is at {where}\nPress Ctrl+C to end it.\n")  # to the terminal alone: in a log, others may read it
    sys.stdout.flush()
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


def _open() -> bool:
    """Whether there is no more to it; False while the database's server is away."""
    try:
        resources.get_index()
        resources.open_indexes().go_on()
    except RagError as error:
        logger.warning("the library cannot be opened: %s", error.what)  # the screens say so, and try again
        return not error.retryable
    return True


def _open_later() -> None:
    """What waits is to be read, whether anybody looks at it or not."""
    while not _open():
        time.sleep(AWAY_SECONDS)


def in_one_line(record: logging.LogRecord) -> bool:
    """Streamlit logs every failure of a screen with its traceback. Of one that the screen puts in words, the words will do."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and not isinstance(error, Exception):  # the screen was left while it put it in words
        error = error.__context__
    if isinstance(error, RagError):
        record.msg, record.args, record.exc_info = "a screen cannot be drawn: %s", (error,), None
    return True


def on_script_error(error: BaseException) -> bool:
    """Show any failure of a screen in the one form; the traceback goes to the log alone."""
    from lectern.ui.widgets.problem import draw_screen_failure

    if not isinstance(error, RagError):
        logger.error("a screen failed", exc_info=error)
    draw_screen_failure(error)
    return True


class RequestLanguage:
    """What is said outside the screens is in the person's language, too: the one that was chosen, else the browser's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/api/"):
            chosen = await anyio.to_thread.run_sync(resources.chosen_language)
            answer_in(chosen or preferred_language(Headers(scope=scope).get("accept-language", "")))
        await self.app(scope, receive, send)


class ClosedTabs:
    """A tab that is closed while its screen is being sent has its session end as any other. Streamlit listens to it once more,
    which the server would log as a failure, with its traceback."""

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


ROUTES = [
    Route("/api/upload", uploads.upload, methods=["PUT"]),
    Route("/api/index", uploads.make_index, methods=["PUT"]),
    Route("/api/copy", downloads.make_copy, methods=["POST"]),
    Route("/api/copy/{id:uuid}", downloads.send_copy),
    Route("/api/map", map_points),
    Route("/api/map/{row:int}", map_passage),
    Route("/api/conversation/{id}/{form}", exports.conversation_file),
    Route("/api/page/{file_id}/{page_index:int}", downloads.page_image),
    Route("/api/original/{file_id}", downloads.original),
    Route("/api/card/{message_id}", downloads.run_card),
]
MIDDLEWARE = [
    Middleware(each) for each in (ClosedTabs, SecurityHeaders, KnownHosts, SameOrigin, Access, RequestLanguage, FirstFrame)
]
