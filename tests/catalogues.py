"""`python -m tests.catalogues` reads the texts of the screens out of the code, writes the template
`locales/lectern.pot`, and takes what is new into the catalogue of each language. What is translated stays;
what is gone goes.

From the screens come the texts in `_("…")` and `ngettext("…", "…", …)`, from the run card and the options
of a retrieval those in `say("…")`. From the parts of lectern and ragcore that speak to people come all
sentences: a text of several words that begins with a capital, or a value, and ends as a sentence does.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from lectern.ui.i18n import (
    LANGUAGES,
    LOCALES,
    PART_OF_SENTENCE,
    RAGCORE_TEXT,
    entries,
    message_texts,
    read_catalogue,
)

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = LOCALES / "lectern.pot"
SPOKEN = (  # files and folders whose sentences reach a screen, as errors, notes and reports
    "lectern/db/conversations.py",
    "lectern/db/evaluations.py",
    "lectern/db/feedback.py",
    "lectern/db/integrity.py",
    "lectern/db/notes.py",
    "lectern/db/prompt_versions.py",
    "lectern/evaluate/jobs.py",
    "lectern/explain/embedding_map.py",
    "lectern/explain/source_view.py",
    "lectern/export/backup.py",
    "lectern/export/restore.py",
    "lectern/indexes.py",
    "lectern/jobs",
    "lectern/keys.py",
    "lectern/library.py",
    "lectern/local_models.py",
    "lectern/model_download.py",
    "lectern/models.py",
    "lectern/runs/answer_runs.py",
    "lectern/runs/chat_mode_replay.py",
    "lectern/settings.py",
    "lectern/ui/source_downloads.py",
    "lectern/ui/open_indexes.py",
    "lectern/ui/server/access.py",
    "lectern/ui/server/downloads.py",
    "lectern/ui/server/map.py",
    "lectern/ui/server/security.py",
    "lectern/ui/server/uploads.py",
    "ragcore/agent/base.py",
    "ragcore/agent/context_window.py",
    "ragcore/chat_engine/base.py",
    "ragcore/embeddings/bundled_model.py",
    "ragcore/embeddings/huggingface.py",
    "ragcore/embeddings/multilingual_e5.py",
    "ragcore/embeddings/openai.py",
    "ragcore/embeddings/server_embedding.py",
    "ragcore/errors.py",
    "ragcore/evaluation/question_sets.py",
    "ragcore/ingestion",
    "ragcore/llms/gguf_header.py",
    "ragcore/llms/http_client.py",
    "ragcore/llms/llama_cpp_runtime.py",
    "ragcore/llms/openai.py",
    "ragcore/llms/reply_room.py",
    "ragcore/llms/server_address.py",
    "ragcore/readers",
    "ragcore/response_synthesizers/packer.py",
    "ragcore/sql/base.py",
    "ragcore/sql/postgres.py",
    "ragcore/sql/postgres_address.py",
    "ragcore/sql/postgres_errors.py",
    "ragcore/sql/sqlite.py",
    "ragcore/storage/atomic_file.py",
    "ragcore/vector_stores/disk.py",
    "ragcore/vector_stores/postgres.py",
    "ragcore/vector_stores/vector_file.py",
)
FRAGMENTS = (  # what those say within a sentence, or instead of one
    "passage length: {was} → {now} tokens",
    "overlap: {was} → {now} tokens",
    "cut at: {was} → {now}",
    "embedding model: {was} → {now}",
    "built-in",
    "even lengths",
    "headings",
    "sentences",
    "{name} at {place} does not accept the key.",
    "{name} at {place} requires a key.",
    "{number} hours",
    "{number} minutes",
    "{number} seconds",
    "one page",
    "{number} pages",
    "{name} has no text in its {pages}: it is a scan, or holds only pictures",
    "{name} is a picture",
    "The library in {place}",
    "The library file {path}",
    "In {name} there are only pictures on {pages}",
    "In {name} there are large pictures beside the text of {pages}",
    "a picture (GIF)",
    "a 7-Zip archive",
    "a RAR archive",
    "a gzip archive",
    "a bzip2 archive",
    "an xz archive",
    "a zstd archive",
    "a program",
    "a database",
    "a sound recording",
    "a recording",
    "a video, sound recording or picture",
    "a Parquet table",
    "a Hangul document (.hwp)",
    "an old Word document (.doc)",
    "an old PowerPoint presentation (.ppt)",
    "an old Excel workbook (.xls)",
    "an Outlook message (.msg)",
    "an old Office file",
    "a binary Excel workbook (.xlsb)",
    "a Pages document (.pages)",
    "a Numbers spreadsheet (.numbers)",
    "a Keynote presentation (.key)",
    "is hidden",
    "are hidden",
    "is empty",
    "are empty",
    "belongs to an installed package",
    "belong to installed packages",
    "is of a type that cannot be read",
    "are of types that cannot be read",
    "{names} and {number} more",
    "1 place",
    "{number} places",
    "its content is not a PowerPoint presentation",
    "its content is not a Word document",
    "its content is not an OpenDocument file",
    "its content is not an e-book",
    "it has no body",
    "a part of it cannot be unpacked",
    "its part {part} is missing",
    "its part {part} cannot be unpacked",
    "its end is missing, or it is not what its name says",
    "would unpack to more than {size} MB",
    "would unpack to {times} times its size",
    "holds a file that unpacks to many times its size",
)
LITERAL_CHARS = 8  # a sentence with fewer of its own would be seen in anything
_SQL = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER) ")
_HEAD = tuple(
    f'"{name}'
    for name in (
        "Project-Id",
        "Report-Msgid",
        "POT-Creation",
        "PO-Revision",
        "Last-Translator",
        "Language-Team",
        "Generated-By",
    )
)


def template() -> Catalog:
    """All texts that the code holds."""
    made = _empty(None)
    for path in _files("pages", "lectern/ui", "lectern/retrieval.py", "lectern/export/run_card.py"):
        for forms in screen_texts(ast.parse(path.read_text("utf-8"))):
            made.add(forms if len(forms) > 1 else forms[0], locations=[_place(path)])
    for path in _files(*SPOKEN):
        for text in sentences(ast.parse(path.read_text("utf-8"))):
            made.add(text, locations=[_place(path)], auto_comments=[RAGCORE_TEXT])
    for text in FRAGMENTS:
        made.add(text, auto_comments=[RAGCORE_TEXT, PART_OF_SENTENCE])
    return made


def screen_texts(code: ast.Module) -> Iterator[tuple[str, ...]]:
    """What is marked for translation: one form, or the singular and the plural. ValueError for what is no
    literal."""
    for call in ast.walk(code):
        marked = _called(call) if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and marked in ("_", "say", "ngettext"):
            forms = call.args[:2] if marked == "ngettext" else call.args[:1]
            literals = [
                form.value for form in forms if isinstance(form, ast.Constant) and isinstance(form.value, str)
            ]
            if len(literals) < len(forms):
                raise ValueError(f"{ast.unparse(call)} is not a literal")
            yield tuple(literals)


def _called(call: ast.Call) -> str:
    """The function's name, where it is a plain one, or `say`, which may be somebody's."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return "say" if function.attr == "say" else ""
    return function.id if isinstance(function, ast.Name) else ""


def sentences(code: ast.Module) -> Iterator[str]:
    """The sentences of a module as texts with {places}; neither its docstrings nor what goes to a log."""
    passed: set[ast.AST] = set()
    for node in ast.walk(code):  # from the outside inwards
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(node.value)
        elif isinstance(node, ast.Call) and _is_logging(node):
            passed.update(ast.walk(node))
        elif isinstance(node, ast.JoinedStr):
            passed.update(part for part in node.values if isinstance(part, ast.Constant))
        if node not in passed and (text := _text(node)) and _is_sentence(text):
            yield text


def _is_logging(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "logger"
    )


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("{", "{{").replace("}", "}}")
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts, names = [], list[str]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            names.append(_name(part.value, names))
            parts.append(f"{{{names[-1]}}}")
        else:
            parts.append(_text(part))
    return "".join(parts)


def _name(value: ast.expr, taken: list[str]) -> str:
    """What a place is called: as the last part of the value is."""
    called = {node.func for node in ast.walk(value) if isinstance(node, ast.Call)}
    attributes = [
        node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute) and node not in called
    ]
    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name) and node not in called]
    name = next(iter([*attributes, *names]), "value").strip("_")
    return name if name not in taken else f"{name}{len(taken) + 1}"


def _is_sentence(text: str) -> bool:
    literal = re.sub(r"\{\w+\}", "", text)
    return (
        " " in text.strip()
        and (text[0].isupper() or text[0] == "{")
        and text[-1] in ".?!"
        and "\n" not in text
        and len(literal) >= LITERAL_CHARS
        and not _SQL.match(text)
    )


def _files(*names: str) -> Iterator[Path]:
    for name in names:
        path = ROOT / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _place(path: Path) -> tuple[str, int]:
    return path.relative_to(ROOT).as_posix(), 0


def _empty(code: str | None) -> Catalog:
    return Catalog(locale=code, header_comment="", fuzzy=False)


def write(catalogue: Catalog, path: Path) -> None:
    """Without dates and places in files, which would change with every line of the code."""
    written = BytesIO()
    write_po(written, catalogue, include_lineno=False, ignore_obsolete=True, sort_output=True, width=100)
    lines = written.getvalue().decode("utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(_HEAD)).lstrip(), "utf-8")


def kept_template() -> Catalog:
    """As it was written last."""
    with TEMPLATE.open("rb") as file:
        return read_po(file)


def merge(kept: Catalog, texts_now: Catalog) -> Catalog:
    """The catalogue of a language with the texts of now."""
    merged = _empty(str(kept.locale))
    # with its plural forms: another release of Babel may have others for the language
    merged.mime_headers = kept.mime_headers
    for message in entries(texts_now):
        before = kept.get(message.id)
        same = before is not None and message_texts(before)[0] == message_texts(message)[0]
        merged.add(
            message.id,
            before.string if before is not None and same else "",
            locations=message.locations,
            auto_comments=message.auto_comments,
            user_comments=before.user_comments if before is not None else (),
        )
    return merged


def untranslated(catalogue: Catalog) -> list[str]:
    """The English texts, of several forms the first, that have no translation, or not of every form."""
    return [
        message_texts(message)[0][0] for message in entries(catalogue) if not all(message_texts(message)[1])
    ]


def main() -> None:
    now = template()
    write(now, TEMPLATE)
    sys.stdout.write(f"{len(now)} texts\n")
    for code in LANGUAGES:
        if code != "en":
            merged = merge(read_catalogue(code) if (LOCALES / f"{code}.po").exists() else _empty(code), now)
            write(merged, LOCALES / f"{code}.po")
            missing = untranslated(merged)
            sys.stdout.write(
                f"{code}: {len(missing)} without a translation\n"
                + "".join(f"  {text}\n" for text in missing[:5])
            )


if __name__ == "__main__":
    main()
