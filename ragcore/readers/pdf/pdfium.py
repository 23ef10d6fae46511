"""PDFium, through pypdfium2, which is imported when one of its names is first used."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith(("FPDF", "FS_", "FORMTYPE_", "Pdf")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pypdfium2
    import pypdfium2.raw

    value = globals()[name] = getattr(pypdfium2 if name.startswith("Pdf") else pypdfium2.raw, name)
    return value
