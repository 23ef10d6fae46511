from __future__ import annotations

from lectern.ui.server.downloads import image_type


def test_kinds_of_images_are_known_by_their_first_bytes() -> None:
    assert image_type(b"RIFF\x00\x00\x00\x00WEBPVP8 ") == "image/webp"
    assert image_type(b"\x89PNG\r\n\x1a\n") == "image/png"
    assert image_type(b"\xff\xd8\xff\xe0") == "image/jpeg"
