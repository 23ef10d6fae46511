"""Office files from before XML, Outlook messages and Apple's iWork, read with kreuzberg (the extra "legacy").

There is no other library with a permissive licence for these formats. It is imported only for such a file.
"""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import DamagedFileError, NoTextError, UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.schema import Document

_KINDS = {  # by suffix: its name in messages, and its media type
    ".doc": ("an old Word document (.doc)", "application/msword"),
    ".ppt": ("an old PowerPoint presentation (.ppt)", "application/vnd.ms-powerpoint"),
    ".xls": ("an old Excel workbook (.xls)", "application/vnd.ms-excel"),
    ".xlsb": ("a binary Excel workbook (.xlsb)", "application/vnd.ms-excel.sheet.binary.macroEnabled.12"),
    ".msg": ("an Outlook message (.msg)", "application/vnd.ms-outlook"),
    ".hwp": ("a Hangul document (.hwp)", "application/x-hwp"),
    ".pages": ("a Pages document (.pages)", "application/x-iwork-pages-sffpages"),
    ".numbers": ("a Numbers spreadsheet (.numbers)", "application/x-iwork-numbers-sffnumbers"),
    ".key": ("a Keynote presentation (.key)", "application/x-iwork-keynote-sffkey"),
}
SUFFIXES = (".doc", ".ppt", ".xls", ".xlsb", ".msg", ".hwp", ".pages", ".numbers", ".key")
_SHEETS = frozenset({".xls", ".xlsb", ".numbers"})


def read(path: Path, options: ReadOptions) -> Document:
    from ragcore.readers.file_type import true_suffix
    from ragcore.readers.registry import suffix_of

    name = options.name
    suffix = true_suffix(path, name, suffix_of(name))
    what, media_type = _KINDS[suffix]
    try:
        import kreuzberg
    except ImportError as error:
        raise UnsupportedFileError(
            f'{name} is {what}, which is read once the extra "legacy" is installed: pip install '
            '"lectern[legacy]".',
            hint=(
                "Or open it in the program it comes from, save it in a newer format or as PDF, and add that."
            ),
        ) from error
    config = kreuzberg.ExtractionConfig(
        use_cache=False, output_format="markdown" if suffix in _SHEETS else "plain"
    )
    try:
        text = clean(str(kreuzberg.extract_bytes_sync(path.read_bytes(), media_type, config).content))
    except BaseException as error:  # a panic of its Rust code is not an Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DamagedFileError(
            f"{name} could not be read: it seems to be damaged.",
            hint="Open it in the program it comes from and save it again, or save it as PDF.",
        ) from error
    if suffix in _SHEETS:
        text = with_tables_as_lines(re.sub(r"(?m)^## ", "", text))
    if not text.strip():
        raise NoTextError(f"{name} has no text in it.", hint="If it holds pictures of text, save it as PDF.")
    return Document(re.sub("\n{3,}", "\n\n", text).strip(), metadata={"file_name": name})
