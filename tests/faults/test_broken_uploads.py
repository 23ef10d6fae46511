"""An upload that breaks off leaves nothing behind, and the same file given again is taken in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import Response

from lectern.indexes import Indexes
from lectern.jobs.file_rows import Stage
from lectern.library import Library
from lectern.ui import resources
from lectern.ui.server.security import ticket
from lectern.ui.server.uploads import make_index, upload
from ragcore.embeddings.hashing import HashEmbedding


def uploaded(
    library: Library,
    *messages: dict[str, Any],
    name: str = "tower.txt",
    announced: str = "1000",
    answer_to: Callable[[Request], Awaitable[Response]] = upload,
) -> Response:
    """What the server answers to a body that comes in these messages."""
    coming = iter(messages)
    scope = {
        "type": "http",
        "method": "PUT",
        "path": "/api/upload",
        "query_string": f"name={name}".encode(),
        "headers": [
            (b"x-lectern-ticket", ticket(library.secret).encode()),
            (b"content-length", announced.encode("latin-1")),
        ],
    }

    async def receive() -> dict[str, Any]:
        return next(coming)

    async def answer() -> Response:
        return await answer_to(Request(scope, receive))

    return anyio.run(answer)


PART = {"type": "http.request", "body": b"The tower was " * 20, "more_body": True}
REST = {"type": "http.request", "body": b"built.", "more_body": False}


def test_cut_off_upload_leaves_nothing_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    monkeypatch.setattr(resources, "get_index", lambda _index: SimpleNamespace(library=library))
    monkeypatch.setattr(library.worker, "start", lambda: None)
    assert uploaded(library, PART, {"type": "http.disconnect"}).status_code == 499
    assert library.files.all() == []
    assert list(library.incoming.iterdir()) == []
    assert uploaded(library, PART, REST).status_code == 200
    (file,) = library.files.all()
    assert (file.name, file.size) == ("tower.txt", 286)
    library.close()


def test_an_upload_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    monkeypatch.setattr(resources, "get_index", lambda _index: SimpleNamespace(library=library))
    library.incoming.rmdir()
    library.incoming.write_text("a file where the folder should be")
    answer = uploaded(library, PART, REST)
    assert answer.status_code == 507
    assert json.loads(bytes(answer.body))["what"] == "tower.txt could not be saved."
    library.close()


def test_uploaded_text_over_the_limit_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    monkeypatch.setattr(resources, "get_index", lambda _index: SimpleNamespace(library=library))
    ingest = library.settings.ingest.model_copy(update={"max_text_mb": 1})
    library.update_settings(library.settings.model_copy(update={"ingest": ingest}))
    body = {"type": "http.request", "body": b"The tower was\n" * 80_000, "more_body": True}
    answer = uploaded(library, body, REST)
    what = "tower.txt has more than 1 MB of text, the limit for one file."
    assert (answer.status_code, json.loads(bytes(answer.body))["what"]) == (422, what)
    (file,) = library.files.all()
    assert file.problem is not None
    assert (file.name, file.stage, file.problem.what) == ("tower.txt", Stage.FAILED, what)
    assert list(library.incoming.iterdir()) == []
    library.close()


@pytest.mark.parametrize("answer_to", [make_index, upload])
@pytest.mark.parametrize("announced", ["501", "9" * 18, "9" * 5000, "²", ""])
def test_copy_may_take_half_of_the_free_disk_at_most(
    answer_to: Callable[[Request], Awaitable[Response]],
    announced: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    monkeypatch.setattr(resources, "get_index", lambda _index: SimpleNamespace(library=library))
    monkeypatch.setattr(resources, "all_indexes", lambda: Indexes(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1000))
    messages = (PART, PART, {"type": "http.request", "body": b"x" * 10**6, "more_body": True})
    answer = uploaded(library, *messages, name="all.lectern", announced=announced, answer_to=answer_to)
    assert answer.status_code == 413
    assert json.loads(bytes(answer.body)) == {
        "what": "There is not enough space on the disk for all.lectern.",
        "hint": "Free some space and add the file again.",
    }
    assert list(library.incoming.iterdir()) == []
    library.close()
