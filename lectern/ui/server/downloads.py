"""Downloads: copies of the library, run cards, documents, and pages of PDFs as images."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from lectern.explain.source_view import draw_page
from lectern.export import backup
from lectern.library import Library
from lectern.ui import labels, resources
from lectern.ui.i18n import _, language, translate
from lectern.ui.server.index_address import requested_index, with_index_parameter
from lectern.ui.server.security import check_ticket, refusal
from ragcore.errors import InputError, RagError, UnknownDocumentError
from ragcore.schema import new_id


async def make_copy(request: Request) -> Response:
    """Writes a copy of the library. Returns the id under which `send_copy` sends it."""
    library = await check_ticket(request)
    if isinstance(library, Response):
        return library
    copy_id = new_id()
    async for _piece in request.stream():  # to its end: after it the server notices a closed page
        pass
    try:
        await anyio.to_thread.run_sync(backup.write_copy, library, _copy_of(copy_id))
    except RagError as error:
        return refusal(507, error.what, error.hint)
    if await request.is_disconnected():
        await anyio.to_thread.run_sync(lambda: _copy_of(copy_id).unlink())
        return Response(status_code=499)
    return JSONResponse({"id": copy_id})


def send_copy(request: Request) -> Response:
    """Sends a copy once. Only the page that requested it knows its id."""
    path = _copy_of(request.path_params["id"].hex)
    if not path.exists():
        return PlainTextResponse(
            _("This copy has already been downloaded. Make another one in Settings."), status_code=404
        )
    return _TemporaryFileResponse(
        path,
        filename=f"library-{time.strftime('%Y-%m-%d')}{backup.SUFFIX}",
        media_type="application/octet-stream",
    )


def _copy_of(copy_id: str) -> Path:
    """The file of a copy, whichever index it is from."""
    return resources.get_index().library.incoming / f"copy-{copy_id}{backup.SUFFIX}"


class _TemporaryFileResponse(FileResponse):
    """Deletes the file after it was sent or the client is gone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            Path(self.path).unlink(missing_ok=True)


def run_card(request: Request) -> Response:
    """The run card of an answer, or of all answers of its comparison."""
    message_id = str(request.path_params["message_id"])
    try:
        card = _card(resources.get_index(requested_index(request)).library, message_id)
    except RagError as error:
        return PlainTextResponse(f"{translate(error.what)} {translate(error.hint)}", status_code=404)
    saved = {"Content-Disposition": f'attachment; filename="run-card-{message_id[:8]}.html"'}
    return Response(card, media_type="text/html; charset=utf-8", headers=saved)


def _card(library: Library, message_id: str) -> str:
    from lectern.export.run_card import Voice, run_card
    from lectern.ui.widgets.settings_prompts import titles

    conversations = library.conversations
    message = conversations.message(message_id)
    conversation = conversations.get(message.conversation_id) if message else None
    if message is None or conversation is None:
        raise InputError("This answer no longer exists.", hint="Ask the question again.")
    answers = conversations.messages(conversation.id) if conversation.kind == "compare" else [message]
    modes = {
        name: mode.label for name, mode in [*labels.chat_modes().items(), *labels.response_modes().items()]
    }
    readings: dict[str, str] = {name: reading.label for name, reading in labels.readings().items()}
    prompts = {name: title for name, (title, _where) in titles().items()}
    voice = Voice(language(), _, translate, modes, readings, prompts)
    return run_card(library, [each for each in answers if each.role == "assistant"], voice)


def card_address(message_id: str) -> str:
    return with_index_parameter(f"/api/card/{message_id}")


def page_image(request: Request) -> Response:
    """A page of a PDF as an image. The address has the file's version, so that browsers may cache it."""
    file_id, index = str(request.path_params["file_id"]), int(request.path_params["page_index"])
    try:
        data = draw_page(resources.get_index(requested_index(request)).library, file_id, index)
    except RagError as error:
        return refusal(404, error.what, error.hint)
    return Response(data, media_type=image_type(data), headers={"Cache-Control": "private, max-age=86400"})


def original(request: Request) -> Response:
    """The original file of a document. A browser only saves it and never shows it."""
    try:
        files, file_id = (
            resources.get_index(requested_index(request)).library.files,
            str(request.path_params["file_id"]),
        )
        file = files.get(file_id)
        # A damaged original is served too: it may still be readable, and is better than none.
        if file is None or not file.path or not (path := files.storage.local(file.path)).is_file():
            raise UnknownDocumentError(file_id)
    except RagError as error:
        return refusal(404, error.what, error.hint)
    headers = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
    return FileResponse(path, filename=file.name, media_type="application/octet-stream", headers=headers)


def original_address(file_id: str) -> str:
    return with_index_parameter(f"/api/original/{file_id}")


def image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"


def page_address(file_id: str, version: str) -> str:
    """The address of the pages of a file; fill in {index}."""
    return with_index_parameter(f"/api/page/{file_id}/{{index}}?v={version[:12]}")
