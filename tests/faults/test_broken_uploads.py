"""An upload that breaks off leaves nothing behind, and the same file given again is taken in."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import Response

from lectern.jobs.file_rows import Stage
from lectern.library import Library
from lectern.ui import resources
from lectern.ui.server.security import ticket
from lectern.ui.server.uploads import upload
from ragcore.embeddings.hashing import HashEmbedding


def uploaded(library: Library, *messages: dict[str, Any]) -> Response:
    """What the server answers to a body that comes in these messages."""
    coming = iter(messages)
    scope = {
        "type": "http",
        "method": "PUT",
        "path": "/api/upload",
        "query_string": b"name=tower.txt",
        "headers": [(b"x-lectern-ticket", ticket(library.secret).encode()), (b"content-length", b"1000")],
    }

    async def receive() -> dict[str, Any]:
        return next(coming)

    async def answer() -> Response:
        return await upload(Request(scope, receive))

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
