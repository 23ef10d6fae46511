"""Which index an address of this server is about."""

from __future__ import annotations

from starlette.requests import Request

from lectern.indexes import MAIN
from lectern.ui.state import session


def in_open_index(address: str) -> str:
    """Adds the open index of this tab to an address of this server."""
    index = session().index
    return address if index == MAIN else f"{address}{'&' if '?' in address else '?'}i={index}"


def asked_index(request: Request) -> str:
    """The id in such an address; the index may not exist."""
    return request.query_params.get("i") or MAIN
