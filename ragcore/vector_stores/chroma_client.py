"""The connection to Chroma, and its failures as errors that a person can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ragcore.errors import MissingPackageError, StoreError

if TYPE_CHECKING:
    from chromadb import Collection as ChromaCollection


def documents_collection(passages: ChromaCollection) -> ChromaCollection:
    """The collection of the documents, created if there is none."""
    import_chromadb()
    from chromadb import Collection as Handle

    client = passages._client  # a collection has no public reference to its server
    with translate_errors():
        model = client.get_or_create_collection(
            f"{passages.name}-documents", configuration={}, tenant=passages.tenant, database=passages.database
        )
    return Handle(client=client, model=model, embedding_function=None)


def import_chromadb() -> Any:
    try:
        import chromadb
    except ImportError as error:
        raise MissingPackageError("chromadb", extra="chroma") from error
    return chromadb


@contextmanager
def translate_errors() -> Iterator[None]:
    """Chroma's failures as errors that a person can act on."""
    import httpx
    from chromadb.errors import ChromaError, NotFoundError

    try:
        yield
    except httpx.TransportError as error:
        raise StoreError(
            f"The Chroma server does not answer: {error}.",
            hint="Start it with: chroma run. Then check host and port.",
        ) from error
    except NotFoundError as error:
        raise StoreError(
            f"The Chroma collection is gone: {error}.", hint="It was deleted while in use. Open it again."
        ) from error
    except Exception as error:  # bare: how the client reports an answer that it has no class for
        if not isinstance(error, ChromaError) and type(error) is not Exception:
            raise
        raise StoreError(
            f"Chroma refuses: {error}.", hint="Look at the collection's settings and the server's log."
        ) from error


def connect_to(place: str, connect: Callable[[], Any]) -> Any:
    try:
        return connect()
    except ValueError as error:  # the client raises it for any failure to connect
        raise StoreError(
            f"No Chroma server answers at {place}.",
            hint="Start it with: chroma run. Then check host and port.",
        ) from error
