"""Uploads of files and library copies, written straight to disk."""

from __future__ import annotations

import logging
import re
import shutil
from contextlib import suppress
from pathlib import Path

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from lectern.export import backup
from lectern.library import Library
from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.offered_copies import OfferedCopy
from lectern.ui.server.security import check_ticket, refusal
from lectern.ui.source_downloads import NOT_SAVED
from ragcore.errors import RagError, StoreError, TooLargeError
from ragcore.schema import new_id

logger = logging.getLogger(__name__)

MAX_NAME_CHARS = 180
MAX_PLACE_CHARS = 2_000


def safe_name(name: str) -> str:
    """The last part of a path, on one line and shortened. Only for display: the file on disk has another
    name."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    printable = " ".join(_printable(last).split()).lstrip(".").strip()
    if len(printable) > MAX_NAME_CHARS:
        stem, dot, suffix = printable.rpartition(".")
        keep = dot + suffix if dot and len(suffix) <= 10 else ""
        printable = (stem if keep else printable)[: MAX_NAME_CHARS - len(keep)] + keep
    return printable or "unnamed"


def _printable(text: str) -> str:
    """With blanks for what no database or screen takes, such as a null character."""
    return "".join(character if character.isprintable() else " " for character in text)


async def upload(request: Request) -> Response:
    """Receives a file, or a copy of a library. The response describes the result in words for the person."""
    library = await check_ticket(request)
    if isinstance(library, Response):
        return library
    name = safe_name(request.query_params.get("name", ""))
    try:
        limit, too_large = await anyio.to_thread.run_sync(_limit, library, name)
    except RagError as error:
        return refusal(503, error.what, error.hint)
    target = library.incoming / f"{new_id()}.part"
    try:
        await _receive(request, target, limit, too_large)
        place = _printable(request.query_params.get("place", ""))
        outcome = await anyio.to_thread.run_sync(_take_in, library, target, name, place)
    except ClientDisconnect:
        return Response(status_code=499)
    except RagError as error:
        await anyio.to_thread.run_sync(_refuse, library, name, _announced_bytes(request), error)
        return refusal(413 if error is too_large else 422, error.what, error.hint)
    except OSError:
        logger.exception("an upload could not be written")
        return refusal(507, f"{name} could not be saved.", NOT_SAVED)
    finally:
        _drop(target)
    await anyio.to_thread.run_sync(library.worker.start)
    return JSONResponse(outcome)


async def _receive(request: Request, target: Path, limit: int, too_large: TooLargeError) -> None:
    """Writes the body of a request to `target`, a piece at a time. Raises `too_large` beyond `limit` bytes,
    and before the first if more are announced."""
    if _announced_bytes(request) > limit:
        raise too_large
    size = 0
    async with await anyio.open_file(target, "wb") as file:
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                raise too_large
            await file.write(piece)


def _announced_bytes(request: Request) -> int:
    """The size of the body in its header; 0 if it does not say."""
    announced = request.headers.get("content-length", "")
    return int(announced) if re.fullmatch(r"[0-9]{1,18}", announced) else 0


def _refuse(library: Library, name: str, size: int, error: RagError) -> None:
    """Adds a row for the file, unless the library cannot be written, as on a full disk."""
    with suppress(StoreError):
        library.files.refuse(name, size, error)


def _drop(target: Path) -> None:
    """Deletes a partial file. If nothing can be written, there is none."""
    with suppress(OSError):
        target.unlink(missing_ok=True)


def _take_in(library: Library, uploaded: Path, name: str, place: str) -> dict[str, str]:
    """`place` is the path below the dropped folder. A file from the same place replaces the earlier one. A
    copy of a library is only offered."""
    if _is_copy(name):
        resources.open_indexes().offers.offer(library, uploaded, name)
        return {"outcome": "copy", "name": name}
    added = library.intake.add(
        uploaded, name, origin=f"dropped:{place[:MAX_PLACE_CHARS]}" if "/" in place else ""
    )
    outcome = {"outcome": added.outcome, "name": added.file.name, "id": added.file.id}
    if added.outcome == "duplicate" and added.original_name != added.file.name:
        outcome["message"] = _("is already in your library, as {name}.").format(name=added.file.name)
    if added.outcome == "added" and added.original_name != added.file.name:
        outcome["message"] = _("was saved as {name}, because another file has the same name.").format(
            name=added.file.name
        )
    return outcome


def _is_copy(name: str) -> bool:
    return name.lower().endswith(backup.SUFFIX)


def _limit(library: Library, name: str) -> tuple[int, TooLargeError]:
    """The largest size in bytes, and the error beyond it."""
    if _is_copy(name):
        return _copy_limit(library, name)
    most = library.settings.ingest.max_file_mb
    what, hint = f"{name} is larger than {most:,} MB.", "Split the file, or raise the limit in Settings."
    return most * 1_000_000, TooLargeError(what, hint=hint)


def _copy_limit(library: Library, name: str) -> tuple[int, TooLargeError]:
    """As `_limit`, for a copy of a library: half of the free space, because its documents need the rest."""
    what = f"There is not enough space on the disk for {name}."
    error = TooLargeError(what, hint="Free some space and add the file again.")
    return shutil.disk_usage(library.incoming).free // 2, error


async def make_index(request: Request) -> Response:
    """Receives a copy of a library, from which an index can be created. Returns the id of the offer."""
    library = await check_ticket(request)
    if isinstance(library, Response):
        return library
    name = safe_name(request.query_params.get("name", ""))
    target = library.incoming / f"{new_id()}.part"
    try:
        limit, too_large = await anyio.to_thread.run_sync(_copy_limit, library, name)
        await _receive(request, target, limit, too_large)
        offered = await anyio.to_thread.run_sync(_offer_index, library, target, name)
    except ClientDisconnect:
        _drop(target)
        return Response(status_code=499)
    except TooLargeError as error:
        _drop(target)
        return refusal(413, error.what, error.hint)
    except OSError:
        _drop(target)
        logger.exception("a copy could not be written")
        return refusal(507, f"{name} could not be saved.", NOT_SAVED)
    except RagError as error:
        _drop(target)
        return refusal(422, error.what, error.hint)
    return JSONResponse({"id": offered.id})


def _offer_index(library: Library, uploaded: Path, name: str) -> OfferedCopy:
    return resources.open_indexes().offers.offer(library, uploaded, name, new_index=True)
