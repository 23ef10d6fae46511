"""The map of all passages: their places, and the text of the one that is pointed at."""

from __future__ import annotations

import anyio
import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lectern.explain.embedding_map import Survey
from lectern.ui import resources
from lectern.ui.server.index_address import asked_index, in_open_index
from lectern.ui.server.security import refusal
from ragcore.errors import RagError

MAP_CHARS = 600  # of a passage, shown beside its point


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
        return refusal(503, error.what, error.hint)
    if not found:
        return refusal(404, "This passage no longer exists.", "Draw the map again.")
    node = found[0]
    name, page = str(node.metadata.get("file_name", "")), str(node.metadata.get("page_label") or "")
    return JSONResponse({"name": name, "page": page, "text": node.text[:MAP_CHARS]})


async def _survey(request: Request) -> Survey | Response:
    try:
        surveys = (await anyio.to_thread.run_sync(resources.opened, asked_index(request))).surveys
        made = await anyio.to_thread.run_sync(surveys.latest)
    except RagError as error:
        return refusal(404, error.what, error.hint)
    if made is None or _edition(made) != request.query_params.get("v"):
        return refusal(404, "A newer map has replaced this one.", "Reload the page.")
    return made


def _edition(made: Survey) -> str:
    return f"{made.version}-{made.made:.0f}"


def map_address(made: Survey) -> str:
    """Where the points of a map are; a row's passage is at the same address with its number at the end of the path."""
    return in_open_index(f"/api/map?v={_edition(made)}")
