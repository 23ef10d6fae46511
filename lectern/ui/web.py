"""The web server around the screens: who may call it, what a page may load, uploads straight to disk, copies of the library,
and page images."""

from __future__ import annotations

import gc
import hashlib
import hmac
import logging
import re
import shutil
import threading
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

import anyio
import numpy as np
import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lectern.explain.embedding_map import Survey
from lectern.explain.source_view import draw_page
from lectern.export import backup
from lectern.export.backup import Copied
from lectern.indexes import MAIN, Index
from lectern.library import Library
from lectern.ui import labels, resources
from lectern.ui.i18n import _, accepted, answer_in, language, said
from lectern.ui.link_downloads import NOT_SAVED
from lectern.ui.state import session
from ragcore.errors import InputError, RagError, StoreError, TooLargeError
from ragcore.schema import new_id

logger = logging.getLogger(__name__)

TICKET_SECONDS = 24 * 3600
AWAY_SECONDS = 5.0  # before a database server that is away is asked again
NAME_CHARS = 180
MAP_CHARS = 600  # of a passage, shown beside its point
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Open the library before the first visitor, and every other index in which work was left; end their workers when the
    server ends."""
    logging.getLogger("streamlit.error_util").addFilter(in_one_line)
    if not await anyio.to_thread.run_sync(_open):
        threading.Thread(target=_open_later, name="open-later", daemon=True).start()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        try:
            await anyio.to_thread.run_sync(lambda: resources.indexes().close())
        except RagError:
            logger.info("there was no library to close")


def _open() -> bool:
    """Whether there is no more to it; False while the database's server is away."""
    try:
        resources.opened()
        resources.indexes().go_on()
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
    from lectern.ui.widgets.problem import unexpected

    if not isinstance(error, RagError):
        logger.error("a screen failed", exc_info=error)
    unexpected(error)
    return True


# Who may call.


class KnownHosts:
    """Answers only to this server's own names, so that a page elsewhere cannot reach it by pointing its name here."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not known_host(Headers(scope=scope).get("host", "")):
            await PlainTextResponse("This server does not go by that name.", status_code=421)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def known_host(host: str) -> bool:
    """Whether a Host header names this server, by the list that also guards its websocket."""
    name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.split(":", 1)[0]
    allowed = [str(entry).strip("[]") for entry in st.get_option("server.allowedHosts") or LOCAL_HOSTS]
    return "*" in allowed or any(name == entry or (entry.startswith("*.") and name.endswith(entry[1:])) for entry in allowed)


class RequestLanguage:
    """What is said outside the screens is in the person's language, too: the one that was chosen, else the browser's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/api/"):
            chosen = await anyio.to_thread.run_sync(resources.chosen_language)
            answer_in(chosen or accepted(Headers(scope=scope).get("accept-language", "")))
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


class SecurityHeaders:
    """A page may run its own scripts and load from this server, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in security_headers().items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)


@cache
def security_headers() -> dict[str, str]:
    page = (Path(st.__file__).parent / "static" / "index.html").read_text("utf-8")
    page = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    inline = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", page, re.DOTALL)
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in inline)
    return {
        "Content-Security-Policy": (
            "default-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; "
            f"script-src 'self' {hashes} 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
            "frame-src 'self' blob: data:"
        ),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }


# Which index an address is about.


def in_open_index(address: str) -> str:
    """An address of this server, for the index that this tab has open."""
    index = session().index
    return address if index == MAIN else f"{address}{'&' if '?' in address else '?'}i={index}"


def asked_index(request: Request) -> str:
    """The id of the index that such an address names; it may be of none."""
    return request.query_params.get("i") or MAIN


# Uploads.


def ticket(secret: bytes, now: float | None = None) -> str:
    """Lets a page drawn for this library upload to it. It is sent in a header, which no other site can make a browser send."""
    hour = int((time.time() if now is None else now) // 3600)
    return f"{hour}.{_sign(secret, hour)}"


def valid_ticket(secret: bytes, given: str, now: float | None = None) -> bool:
    hour, _dot, signature = given.partition(".")
    if not (hour.isascii() and hour.isdigit() and len(hour) < 12):
        return False
    age = (time.time() if now is None else now) - int(hour) * 3600
    return 0 <= age < TICKET_SECONDS and hmac.compare_digest(signature.encode(), _sign(secret, int(hour)).encode())


def page_ticket() -> str:
    """The ticket of a page that shows the open index: it names that index, and is good for no other."""
    index = session().index
    return ticket(resources.opened(index).library.secret) + ("" if index == MAIN else f"@{index}")


def _sign(secret: bytes, hour: int) -> str:
    return hmac.new(secret, f"upload {hour}".encode(), hashlib.sha256).hexdigest()


def safe_name(name: str) -> str:
    """The last part of a path, on one line and not endless. It is only ever shown: on the disk a file has another name."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(character if character.isprintable() else " " for character in last)
    shown = " ".join(shown.split()).lstrip(".").strip()
    if len(shown) > NAME_CHARS:
        stem, dot, suffix = shown.rpartition(".")
        keep = dot + suffix if dot and len(suffix) <= 10 else ""
        shown = (stem if keep else shown)[: NAME_CHARS - len(keep)] + keep
    return shown or "unnamed"


async def upload(request: Request) -> Response:
    """Take one file in, or all that is in a copy of a library. The answer says what became of it, in words for the person who
    dropped it."""
    library = await _ticketed(request)
    if isinstance(library, Response):
        return library
    name = safe_name(request.query_params.get("name", ""))
    try:
        limit, too_large = await anyio.to_thread.run_sync(_limit, library, name)
    except StoreError as error:
        return _refusal(503, error.what, error.hint)
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        await anyio.to_thread.run_sync(_refuse, library, name, int(announced), too_large)
        return _refusal(413, too_large.what, too_large.hint)
    target = library.incoming / f"{new_id()}.part"
    size = 0
    try:
        async with await anyio.open_file(target, "wb") as file:
            async for piece in request.stream():
                size += len(piece)
                if size > limit:
                    raise too_large
                await file.write(piece)
        told = await anyio.to_thread.run_sync(_take_in, library, target, name)
    except ClientDisconnect:
        return Response(status_code=499)
    except RagError as error:
        await anyio.to_thread.run_sync(_refuse, library, name, size, error)
        return _refusal(422, error.what, error.hint)
    except OSError:
        logger.exception("an upload could not be written")
        return _refusal(507, f"{name} could not be saved.", NOT_SAVED)
    finally:
        _drop(target)
    await anyio.to_thread.run_sync(library.worker.start)
    return JSONResponse(told)


def _refuse(library: Library, name: str, size: int, error: RagError) -> None:
    """A row for the file, where the library can be written: on a full disk the answer alone says what happened."""
    with suppress(StoreError):
        library.files.refuse(name, size, error)


def _drop(target: Path) -> None:
    """What has come of a file that is not wanted any more. Where nothing can be written, nothing has."""
    with suppress(OSError):
        target.unlink(missing_ok=True)


def _take_in(library: Library, uploaded: Path, name: str) -> dict[str, str]:
    if _is_copy(name):
        return {"outcome": "copy", "name": name, "told": labels.taken_in(backup.read_copy(library, uploaded, name=name))}
    added = library.intake.add(uploaded, name)
    told = {"outcome": added.outcome, "name": added.file.name, "id": added.file.id}
    if added.outcome == "duplicate" and added.given != added.file.name:
        told["told"] = _("is in your library already, as {name}.").format(name=added.file.name)
    return told


def _is_copy(name: str) -> bool:
    return name.lower().endswith(backup.SUFFIX)


def _limit(library: Library, name: str) -> tuple[int, TooLargeError]:
    """How many bytes may come, and what is said when more do. A copy of a library is as large as all of its files."""
    if _is_copy(name):
        what, hint = f"There is no room on the disk for {name}.", "Make room and add the file again."
        return shutil.disk_usage(library.incoming).free, TooLargeError(what, hint=hint)
    most = library.settings.ingest.max_file_mb
    what, hint = f"{name} is larger than {most:,} MB.", "Split the file, or raise the limit in Settings."
    return most * 1_000_000, TooLargeError(what, hint=hint)


async def _ticketed(request: Request) -> Library | Response:
    """The library that the request has a ticket for, or the answer to who has none."""
    given, _at, index = request.headers.get("x-lectern-ticket", "").partition("@")
    try:
        library = (await anyio.to_thread.run_sync(resources.opened, index or MAIN)).library
        secret = await anyio.to_thread.run_sync(lambda: library.secret)
    except RagError as error:
        return _refusal(404 if isinstance(error, InputError) else 503, error.what, error.hint)
    if valid_ticket(secret, given):
        return library
    return _refusal(403, "This page is out of date.", "Reload the page and try again.")


def _refusal(status: int, what: str, hint: str) -> Response:
    return JSONResponse({"what": said(what), "hint": said(hint)}, status_code=status)


# Copies of the library.


async def make_index(request: Request) -> Response:
    """Take a copy of a library, and have another index made from it; gives the id of the making."""
    library = await _ticketed(request)
    if isinstance(library, Response):
        return library
    name = safe_name(request.query_params.get("name", ""))
    target = library.incoming / f"{new_id()}.part"
    shelf = resources.shelf()
    try:
        async with await anyio.open_file(target, "wb") as file:
            async for piece in request.stream():
                await file.write(piece)
        called = await anyio.to_thread.run_sync(shelf.free_name, Path(name).stem)
    except ClientDisconnect:
        _drop(target)
        return Response(status_code=499)
    except OSError:
        _drop(target)
        logger.exception("a copy could not be written")
        return _refusal(507, f"{name} could not be saved.", NOT_SAVED)

    def make(told: Callable[[float], None]) -> tuple[Index, Copied]:
        try:
            return shelf.take_in(target, called, called=name, told=told)
        finally:
            target.unlink(missing_ok=True)

    return JSONResponse({"id": resources.indexes().making.start(called, make)})


async def make_copy(request: Request) -> Response:
    """Write a copy of the library, for `send_copy` to fetch under the id that is given."""
    library = await _ticketed(request)
    if isinstance(library, Response):
        return library
    made = new_id()
    await request.body()  # once that is read, it is heard of a page that is gone
    try:
        await anyio.to_thread.run_sync(backup.write_copy, library, _copy_of(made))
    except RagError as error:
        return _refusal(507, error.what, error.hint)
    if await request.is_disconnected():
        await anyio.to_thread.run_sync(lambda: _copy_of(made).unlink())
        return Response(status_code=499)
    return JSONResponse({"id": made})


async def send_copy(request: Request) -> Response:
    """Stream a copy that was made, once. Its id is known to nobody but the page that had it made."""
    path = await anyio.to_thread.run_sync(_copy_of, request.path_params["id"].hex)
    if not path.exists():
        return PlainTextResponse(_("This copy was fetched already. Make another in Settings."), status_code=404)
    return _Once(path, filename=f"library-{time.strftime('%Y-%m-%d')}{backup.SUFFIX}", media_type="application/octet-stream")


def _copy_of(made: str) -> Path:
    """Where a copy waits for whoever had it made, whichever index it is of."""
    return resources.opened().library.incoming / f"copy-{made}{backup.SUFFIX}"


class _Once(FileResponse):
    """Deletes the file when it was sent, or when nobody waits for it any more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            Path(self.path).unlink(missing_ok=True)


# Run cards.


async def run_card(request: Request) -> Response:
    """The run card of an answer, or of all answers of its comparison, to be saved."""
    message_id = str(request.path_params["message_id"])
    try:
        opened = await anyio.to_thread.run_sync(resources.opened, asked_index(request))
        card = await anyio.to_thread.run_sync(_card, opened.library, message_id)
    except RagError as error:
        return PlainTextResponse(f"{said(error.what)} {said(error.hint)}", status_code=404)
    saved = {"Content-Disposition": f'attachment; filename="run-card-{message_id[:8]}.html"'}
    return Response(card, media_type="text/html; charset=utf-8", headers=saved)


def _card(library: Library, message_id: str) -> str:
    from lectern.export.run_card import Voice, run_card
    from lectern.ui.widgets.prompt_settings import titles

    conversations = library.conversations
    message = conversations.message(message_id)
    conversation = conversations.get(message.conversation_id) if message else None
    if message is None or conversation is None:
        raise InputError("This answer is no longer there.", hint="Ask the question again.")
    all_of_it = conversations.messages(conversation.id) if conversation.kind == "compare" else [message]
    ways = {name: mode.label for name, mode in [*labels.chat_modes().items(), *labels.response_modes().items()]}
    readings: dict[str, str] = {name: reading.label for name, reading in labels.readings().items()}
    prompts = {name: title for name, (title, _where) in titles().items()}
    voice = Voice(language(), _, said, ways, readings, prompts)
    return run_card(library, [each for each in all_of_it if each.role == "assistant"], voice)


def card_address(message_id: str) -> str:
    """Where the run card of an answer is saved from."""
    return in_open_index(f"/api/card/{message_id}")


# Page images.


async def page_image(request: Request) -> Response:
    """A page of a PDF as an image. The address carries the file's version, so that a browser may keep it."""
    file_id, index = str(request.path_params["file_id"]), int(request.path_params["page_index"])
    try:
        opened = await anyio.to_thread.run_sync(resources.opened, asked_index(request))
        data = await anyio.to_thread.run_sync(draw_page, opened.library, file_id, index)
    except RagError as error:
        return _refusal(404, error.what, error.hint)
    return Response(data, media_type=image_type(data), headers={"Cache-Control": "private, max-age=86400"})


def image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"


def page_address(file_id: str, version: str) -> str:
    """Where the pages of a file are; add the page's index to it, and then the version."""
    return in_open_index(f"/api/page/{file_id}/{{index}}?v={version[:12]}")


# The map of all passages.


async def map_points(request: Request) -> Response:
    """The places of all passages and the documents they are from: n as uint32, then n times x and y as float32, from -1 to 1,
    then n times the document's number as uint32; little-endian. The address carries the map's version."""
    made = await _survey(request)
    if isinstance(made, Response):
        return made
    parts = (np.array(len(made.ids), "<u4"), made.points.astype("<f4"), made.owners.astype("<u4"))
    body = b"".join(part.tobytes() for part in parts)
    return Response(body, media_type="application/octet-stream", headers={"Cache-Control": "private, max-age=3600"})


async def map_passage(request: Request) -> Response:
    """The text of one passage of the map, and what it is from."""
    made = await _survey(request)
    if isinstance(made, Response):
        return made
    row = int(request.path_params["row"])
    try:
        opened = await anyio.to_thread.run_sync(resources.opened, asked_index(request))
        found = await anyio.to_thread.run_sync(opened.library.store.nodes, list(made.ids[row : row + 1]))
    except RagError as error:
        return _refusal(503, error.what, error.hint)
    if not found:
        return _refusal(404, "This passage is no longer there.", "Draw the map anew.")
    node = found[0]
    name, page = str(node.metadata.get("file_name", "")), str(node.metadata.get("page_label") or "")
    return JSONResponse({"name": name, "page": page, "text": node.text[:MAP_CHARS]})


async def _survey(request: Request) -> Survey | Response:
    try:
        surveys = (await anyio.to_thread.run_sync(resources.opened, asked_index(request))).surveys
        made = await anyio.to_thread.run_sync(surveys.latest)
    except RagError as error:
        return _refusal(404, error.what, error.hint)
    if made is None or _edition(made) != request.query_params.get("v"):
        return _refusal(404, "There is another map now.", "Reload the page.")
    return made


def _edition(made: Survey) -> str:
    return f"{made.version}-{made.made:.0f}"


def map_address(made: Survey) -> str:
    """Where the points of a map are; a row's passage is at the same address with its number at the end of the path."""
    return in_open_index(f"/api/map?v={_edition(made)}")
