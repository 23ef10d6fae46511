"""Files that are replaced as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ragcore.errors import StoreError
from ragcore.schema import new_id


def replace_file(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Replace the file as a whole, however many write it at once: it is what one of them wrote. It never
    exists with a wider mode than `mode`, not even for a moment. StoreError, and then the file is as it
    was."""
    draft = path.with_name(f"{path.name}.{new_id()[:8]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                # or a power cut might leave an empty file in the place of the old one
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)  # there only when it did not get its place
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}. Nothing was changed.",
            hint="Check that the disk has space and that you can write to this folder.",
        ) from error
