from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.requests import Request
from starlette.responses import FileResponse

from lectern.library import Library
from lectern.ui import resources
from lectern.ui.server.downloads import image_type, original
from ragcore.embeddings.hashing import HashEmbedding
from tests.lectern.jobs.libraries import add


def test_kinds_of_images_are_known_by_their_first_bytes() -> None:
    assert image_type(b"RIFF\x00\x00\x00\x00WEBPVP8 ") == "image/webp"
    assert image_type(b"\x89PNG\r\n\x1a\n") == "image/png"
    assert image_type(b"\xff\xd8\xff\xe0") == "image/jpeg"


def test_a_damaged_original_can_be_downloaded_and_a_missing_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Library(tmp_path, embedder=HashEmbedding())) as library:
        monkeypatch.setattr(resources, "get_index", lambda index_id: SimpleNamespace(library=library))
        file = add(library, "The rent is due.", "lease.txt")
        path = library.files.location(file)
        path.write_text("The bent is due.")
        request = Request(
            {"type": "http", "query_string": b"", "headers": [], "path_params": {"file_id": file.id}}
        )
        response = original(request)
        assert isinstance(response, FileResponse)
        assert Path(response.path) == path
        path.unlink()
        assert original(request).status_code == 404
