"""The map of all passages: their points, and the text of a single one."""

from __future__ import annotations

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lectern.explain.embedding_map import EmbeddingMap
from lectern.ui import resources
from lectern.ui.server.index_address import requested_index, with_index_parameter
from lectern.ui.server.security import refusal
from ragcore.errors import RagError

TOOLTIP_CHARS = 600  # of a passage


def map_points(request: Request) -> Response:
    """The points of all passages and their documents: n as uint32, then n times x and y as float32, from -1
    to 1, then n times the document's number as uint32; little-endian. The address has the map's version."""
    embedding_map = _find_map(request)
    if isinstance(embedding_map, Response):
        return embedding_map
    parts = (
        np.array(len(embedding_map.ids), "<u4"),
        embedding_map.points.astype("<f4"),
        embedding_map.document_numbers.astype("<u4"),
    )
    body = b"".join(part.tobytes() for part in parts)
    return Response(
        body, media_type="application/octet-stream", headers={"Cache-Control": "private, max-age=3600"}
    )


def map_passage(request: Request) -> Response:
    embedding_map = _find_map(request)
    if isinstance(embedding_map, Response):
        return embedding_map
    row = int(request.path_params["row"])
    try:
        nodes = resources.get_index(requested_index(request)).library.store.nodes(
            list(embedding_map.ids[row : row + 1])
        )
    except RagError as error:
        return refusal(503, error.what, error.hint)
    if not nodes:
        return refusal(404, "This passage no longer exists.", "Draw the map again.")
    node = nodes[0]
    name, page = str(node.metadata.get("file_name", "")), str(node.metadata.get("page_label") or "")
    page_word = str(node.metadata.get("page_word", "page"))
    text = node.text[:TOOLTIP_CHARS]
    return JSONResponse({"name": name, "page": page, "page_word": page_word, "text": text})


def _find_map(request: Request) -> EmbeddingMap | Response:
    try:
        embedding_map = resources.get_index(requested_index(request)).maps.latest()
    except RagError as error:
        return refusal(404, error.what, error.hint)
    if embedding_map is None or _edition(embedding_map) != request.query_params.get("v"):
        return refusal(404, "A newer map has replaced this one.", "Reload the page.")
    return embedding_map


def _edition(embedding_map: EmbeddingMap) -> str:
    return f"{embedding_map.version}-{embedding_map.created:.0f}"


def map_address(embedding_map: EmbeddingMap) -> str:
    """The address of a map's points. Add a row's number to the path for its passage."""
    return with_index_parameter(f"/api/map?v={_edition(embedding_map)}")
