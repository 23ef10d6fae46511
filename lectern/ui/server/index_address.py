"""The index parameter in addresses of this server."""

from __future__ import annotations

from starlette.requests import Request

from lectern.indexes import MAIN
from lectern.ui.state import session


def with_index_parameter(address: str) -> str:
    """Adds the open index of this tab to an address of this server."""
    index = session().index
    return address if index == MAIN else f"{address}{'&' if '?' in address else '?'}i={index}"


def requested_index(request: Request) -> str:
    """The id of the index in the address of a request. The index may not exist."""
    return request.query_params.get("i") or MAIN
