"""SimpleDirectoryReader over small folders: which files are read, as which text and metadata, and what is
refused."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.differential.cases import Case

FOLDER = {
    "a.txt": "first file",
    "b.txt": "second\nfile",
    "c.md": "just *text*",
    "data.log": "a log",
    ".hidden.txt": "hidden",
    "sub/empty.txt": "",
    "sub/titled.md": "# Heading\n\ntext",
    "sub/d.txt": "in a folder",
    "sub/.secret/e.txt": "in a hidden folder",
    "sub/deep/f.txt": "deep down",
    "UPPER.TXT": "capitals",
}


def cases() -> Iterator[Case]:
    yield Case("folder", _case())
    yield Case("recursive", _case(recursive=True))
    yield Case("hidden-too", _case(recursive=True, exclude_hidden=False))
    yield Case("without-empty", _case(exclude_empty=True))
    yield Case("only-txt", _case(required_exts=[".txt"]))
    yield Case("only-md", _case(required_exts=[".md"], recursive=True))
    yield Case("none-of-these", _case(required_exts=[".doc"]))
    yield Case("without-some", _case(exclude=["*.txt"]))
    yield Case("without-one-name", _case(exclude=["b.txt"], recursive=True))
    yield Case("at-most-two", _case(num_files_limit=2))
    yield Case("at-most-two-md", _case(num_files_limit=1, required_exts=[".md"]))
    yield Case("names-as-ids", _case(filename_as_id=True))
    yield Case("no-folder", _case(folder="nowhere"))
    yield Case("no-arguments", _case(folder=None))
    yield Case("empty-folder", _case(folder="none"))
    yield Case("one-file", _case(files=["a.txt"]))
    yield Case("two-files", _case(files=["sub/d.txt", "a.txt"]))
    yield Case("missing-file", _case(files=["a.txt", "z.txt"]))
    yield Case("own-metadata", _case(files=["a.txt"], own_metadata=True))
    chance = random.Random(11)
    for number in range(10):
        options = {
            "recursive": chance.random() < 0.5,
            "exclude_hidden": chance.random() < 0.5,
            "required_exts": chance.choice([None, [".txt"], [".md", ".log"]]),
            "exclude": chance.choice([None, ["a*"], ["*.md", "*.log"]]),
        }
        yield Case(f"random-{number}", _case(**options))


def _case(
    folder: str | None = ".", files: list[str] | None = None, *, own_metadata: bool = False, **options: Any
) -> dict[str, Any]:
    return {"folder": folder, "files": files, "options": options, "own_metadata": own_metadata}


def theirs(given: Any) -> Any:
    from llama_index.core import SimpleDirectoryReader

    return _read(SimpleDirectoryReader, given)


def ours(given: Any) -> Any:
    from ragcore.readers import SimpleDirectoryReader

    return _read(SimpleDirectoryReader, given)


def _read(kind: Any, given: Any) -> Any:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "data"
        for path, text in FOLDER.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root / "none").mkdir()
        options = dict(given["options"])
        if given["own_metadata"]:
            options["file_metadata"] = lambda path: {"name": Path(path).name, "kind": "note"}
        if given["files"]:
            options["input_files"] = [str(root / path) for path in given["files"]]
        elif given["folder"] is not None:
            options["input_dir"] = str(root / given["folder"])
        try:
            documents = kind(**options).load_data()
        except ValueError:
            return "refused"
        return [_describe(document, root, given) for document in documents]


def _describe(document: Any, root: Path, given: Any) -> Any:
    metadata = document.metadata
    if given["own_metadata"]:
        return [document.text, dict(metadata)]
    seen = sorted(set(metadata) - set(document.excluded_llm_metadata_keys))
    embedded = sorted(set(metadata) - set(document.excluded_embed_metadata_keys))
    path = str(Path(metadata["file_path"]).relative_to(root))
    id_ = document.id_.replace(str(root), "") if given["options"].get("filename_as_id") else ""
    return [
        path,
        document.text,
        sorted(metadata),
        seen,
        embedded,
        id_,
        metadata["file_name"],
        metadata["file_size"],
    ]


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if not isinstance(ours, list):
        return ""
    if given["own_metadata"]:
        # What a passage's source is called goes along whatever else is said.
        return "1.1" if [[text, {**said, "file_name": "a.txt"}] for text, said in theirs] == ours else ""
    if [row[0] for row in ours] != _by_rule(given):
        return ""
    both = {row[0] for row in ours} & {row[0] for row in theirs} if isinstance(theirs, list) else set()
    known = [
        [row[0], row[1], [key for key in row[2] if key != "title"], *row[3:]]
        for row in ours
        if row[0] in both
    ]
    return "1.1" if known == [row for row in theirs if row[0] in both] else ""


def _by_rule(given: Any) -> list[str]:
    """Suffixes count whatever their case, empty files are told as failures, and the limit is the last thing
    that counts."""
    options = given["options"]
    named = [Path(path) for path in given["files"] or FOLDER if FOLDER[path]]
    kept = [
        path
        for path in sorted(named)
        if given["files"]
        or (
            (options.get("recursive") or len(path.parts) == 1)
            and not (options.get("exclude_hidden", True) and any(part.startswith(".") for part in path.parts))
            and (not options.get("required_exts") or path.suffix.lower() in options["required_exts"])
            and not any(fnmatchcase(path.name, pattern) for pattern in options.get("exclude") or ())
        )
    ]
    return [str(path) for path in kept][: options.get("num_files_limit")]
