"""Which index an address of this server is about."""

from __future__ import annotations

from starlette.requests import Request

from lectern.indexes import MAIN
from lectern.ui.state import session


def in_open_index(address: str) -> str:
    """An address of this server, for the index that this tab has open."""
    index = session().index
    return address if index == MAIN else f"{address}{'&' if '?' in address else '?'}i={index}"


def asked_index(request: Request) -> str:
    """The id of the index that such an address names; it may be of none."""
    return request.query_params.get("i") or MAIN
