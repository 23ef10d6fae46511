"""The map of all passages: their places, and the text of a single one."""

from __future__ import annotations

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lectern.explain.embedding_map import Survey
from lectern.ui import resources
from lectern.ui.server.index_address import asked_index, in_open_index
from lectern.ui.server.security import refusal
from ragcore.errors import RagError

MAP_CHARS = 600  # of a passage, in the tooltip of its point


def map_points(request: Request) -> Response:
    """The places of all passages and their documents: n as uint32, then n times x and y as float32, from -1 to 1,
    then n times the document's number as uint32; little-endian. The address has the map's version."""
    survey = _survey(request)
    if isinstance(survey, Response):
        return survey
    parts = (np.array(len(survey.ids), "<u4"), survey.points.astype("<f4"), survey.owners.astype("<u4"))
    body = b"".join(part.tobytes() for part in parts)
    return Response(body, media_type="application/octet-stream", headers={"Cache-Control": "private, max-age=3600"})


def map_passage(request: Request) -> Response:
    survey = _survey(request)
    if isinstance(survey, Response):
        return survey
    row = int(request.path_params["row"])
    try:
        nodes = resources.get_index(asked_index(request)).library.store.nodes(list(survey.ids[row : row + 1]))
    except RagError as error:
        return refusal(503, error.what, error.hint)
    if not nodes:
        return refusal(404, "This passage no longer exists.", "Draw the map again.")
    node = nodes[0]
    name, page = str(node.metadata.get("file_name", "")), str(node.metadata.get("page_label") or "")
    return JSONResponse({"name": name, "page": page, "text": node.text[:MAP_CHARS]})


def _survey(request: Request) -> Survey | Response:
    try:
        survey = resources.get_index(asked_index(request)).surveys.latest()
    except RagError as error:
        return refusal(404, error.what, error.hint)
    if survey is None or _edition(survey) != request.query_params.get("v"):
        return refusal(404, "A newer map has replaced this one.", "Reload the page.")
    return survey


def _edition(survey: Survey) -> str:
    return f"{survey.version}-{survey.made:.0f}"


def map_address(survey: Survey) -> str:
    """The address of a map's points. Add a row's number to the path for its passage."""
    return in_open_index(f"/api/map?v={_edition(survey)}")
