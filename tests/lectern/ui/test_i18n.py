from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message
from hypothesis import given
from hypothesis import strategies as st

from lectern.jobs.file_rows import FileRow, Stage
from lectern.ui import i18n, labels
from lectern.ui.i18n import (
    LANGUAGES,
    RAGCORE_TEXT,
    compile_catalogue,
    drop_broken_translations,
    entries,
    message_texts,
    placeholders,
    preferred_language,
    read_catalogue,
    set_request_language,
    supported_language,
    translate,
)
from ragcore.errors import StillReadingError
from ragcore.readers import file_listing, file_type
from ragcore.readers.office import legacy
from tests import catalogues

UI = Path(i18n.__file__).parent
TRANSLATED = [code for code in LANGUAGES if code != "en"]


# Computed where a test needs them: whoever only collects the tests does without.


@cache
def read_template() -> dict[tuple[str, ...], Message]:
    return {message_texts(message)[0]: message for message in entries(catalogues.template())}


@cache
def load_catalogue(code: str) -> Catalog:
    return read_catalogue(code)


@cache
def list_sentences() -> list[Message]:
    return [
        message
        for message in read_template().values()
        if RAGCORE_TEXT in message.auto_comments and placeholders(str(message.id))
    ]


@cache
def compile_patterns() -> list[i18n.Template]:
    return i18n.templates(
        Message(message.id, message.id, auto_comments=[RAGCORE_TEXT]) for message in list_sentences()
    )


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    set_request_language("en")


# The catalogues.


def test_the_template_holds_what_the_code_says() -> None:
    kept = {message_texts(message)[0] for message in entries(catalogues.kept_template())}
    assert kept == set(read_template()), "python -m tests.catalogues brings the template up to date"


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_text_is_translated(code: str) -> None:
    found = {message_texts(message)[0]: message for message in entries(load_catalogue(code))}
    assert set(found) == set(read_template()), "python -m tests.catalogues brings the catalogues up to date"
    assert catalogues.untranslated(load_catalogue(code)) == []
    assert [message.id for message in found.values() if message.fuzzy] == []
    assert {
        message.id: message.auto_comments
        for message in found.values()
        if RAGCORE_TEXT in message.auto_comments
    }.keys() == {message.id for message in read_template().values() if RAGCORE_TEXT in message.auto_comments}


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_translation_has_the_places_and_the_forms_of_its_text(code: str) -> None:
    translations = entries(load_catalogue(code))
    wrong = [
        message.id
        for message in translations
        if any(message_texts(message)[1]) and not _fits(message, load_catalogue(code))
    ]
    assert wrong == []


def _fits(message: Message, catalogue: Catalog) -> bool:
    english, translated = message_texts(message)
    if len(english) == 1:
        return placeholders(translated[0]) == placeholders(english[0])
    # the form for one may do without the number
    both = placeholders(english[0]) & placeholders(english[1]) - {"number"}
    return len(translated) == catalogue.num_plurals and all(
        both <= placeholders(form) <= placeholders(english[0]) | placeholders(english[1])
        for form in translated
    )


@pytest.mark.parametrize("code", TRANSLATED)
def test_markdown_survives_translation(code: str) -> None:
    """Bold stays bold: the stars come in pairs."""
    odd = [
        message_texts(message)[0][0]
        for message in entries(load_catalogue(code))
        for form in message_texts(message)[1]
        if form.count("**") % 2 != message_texts(message)[0][0].count("**") % 2
    ]
    assert odd == []


# Where texts are looked up.


def test_no_text_is_looked_up_when_a_module_is_loaded() -> None:
    """The language is the session's, so a text must be looked up when it is shown. Pages run for each
    session."""
    early = [
        f"{path.relative_to(UI)}:{call.lineno}"
        for path in UI.rglob("*.py")
        for call in _run_at_import(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("_", "ngettext")
    ]
    assert early == []


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    inner: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        inner = [
            *decorators,
            *node.args.defaults,
            *(default for default in node.args.kw_defaults if default is not None),
        ]
    for child in inner:
        yield from _run_at_import(child)


def test_such_a_lookup_would_be_detected() -> None:
    code = "A = _('a')\ndef f(x=_('b')):\n    _('c')\nclass C:\n    d = [_('d')]\ng = lambda: _('e')"
    found = [
        node.args[0].value
        for node in _run_at_import(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant)
    ]
    assert sorted(map(str, found)) == ["a", "b", "d"]


@pytest.mark.parametrize("code", ["_(f'{name} is gone')", "_(text)", "ngettext('one', many, 2)"])
def test_a_text_that_is_no_literal_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="not a literal"):
        list(catalogues.screen_texts(ast.parse(code)))


def test_sentences_are_extracted_with_their_locations() -> None:
    code = '''
"""A docstring of two words."""
raise InputError(f"{path.name!r} has {len(rows):,} rows too many.", hint="Take fewer {of them}.")
logger.info("Nothing for a screen.")
x = "SELECT a FROM b WHERE c = ?"
y = "no sentence"
'''
    found = list(catalogues.sentences(ast.parse(code)))
    assert sorted(found) == ["Take fewer {{of them}}.", "{name} has {rows} rows too many."]


# Which language.


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("de-AT", "de"),
        ("zh-Hans-CN", "zh"),
        ("zh_TW", "zh"),
        ("FR", "fr"),
        ("it", ""),
        ("", ""),
        (None, ""),
        ("den", ""),
    ],
)
def test_a_browsers_word_for_a_language(tag: str | None, code: str) -> None:
    assert supported_language(tag) == code


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de-DE,de;q=0.9,en;q=0.8", "de"),
        ("it, en;q=0.4, fr;q=0.7", "fr"),
        ("es;q=0, zh;q=0.1", "zh"),
        ("", "en"),
        ("*", "en"),
        (";;q=x", "en"),
    ],
)
def test_the_language_that_a_browser_accepts(header: str, code: str) -> None:
    assert preferred_language(header) == code


@given(st.text())
def test_any_header_gives_a_language(header: str) -> None:
    assert preferred_language(header) in LANGUAGES


# Texts.


def test_missing_translation_or_language_shows_english() -> None:
    set_request_language("xx")
    assert i18n._("Delete") == "Delete"
    set_request_language("de")
    assert i18n._("Nobody ever translated this.") == "Nobody ever translated this."
    assert i18n.ngettext("{number} gnu", "{number} gnus", 2) == "{number} gnus"


def test_a_translation_that_could_not_be_filled_is_not_used() -> None:
    catalogue = Catalog(locale="de")
    for english, german in {
        "{a} is gone.": "{b} ist weg.",
        "{a} came.": "{a kam.",
        "{a} went.": "{a} ging.",
    }.items():
        catalogue.add(english, german)
    catalogue.add(("{a} bird", "{a} birds"), ("ein Vogel", "{b} Vögel"))
    found = compile_catalogue(drop_broken_translations(catalogue))
    assert [found.gettext(text) for text in ("{a} is gone.", "{a} came.", "{a} went.")] == [
        "{a} is gone.",
        "{a} came.",
        "{a} ging.",
    ]
    assert found.ngettext("{a} bird", "{a} birds", 3) == "{a} birds"


def test_a_catalogue_is_merged_without_losing_a_translation(tmp_path: Path) -> None:
    now = Catalog()
    now.add("Kept.", locations=[("a.py", 0)])
    now.add(("{n} new", "{n} news"))
    before = Catalog(locale="de")
    before.add("Kept.", "Behalten.")
    before.add("Gone.", "Weg.")
    merged = catalogues.merge(before, now)
    assert {message.id: message.string for message in entries(merged)} == {
        "Kept.": "Behalten.",
        ("{n} new", "{n} news"): ("", ""),
    }
    assert catalogues.untranslated(merged) == ["{n} new"]


@pytest.mark.parametrize("code", TRANSLATED)
def test_numbers_sizes_and_lines_follow_the_language(code: str) -> None:
    set_request_language(code)
    point, group = {
        "de": (",", "."),
        "es": (",", "."),
        "fr": (",", "\N{NARROW NO-BREAK SPACE}"),
        "zh": (".", ","),
    }[code]
    assert i18n.numeral(1234567) == f"1{group}234{group}567"
    assert i18n.numeral(0.5, 2) == f"0{point}50"
    file = FileRow("1", "a.pdf", "p", "h", 2_345_000, 0.0, Stage.READY, 0, 0, 340, 12, None)
    assert f"2{point}3" in labels.file_facts(file)
    assert "Ready" not in labels.file_facts(file)


def test_days_follow_the_language() -> None:
    set_request_language("de")
    assert i18n.day(1_777_636_800.0) == "01.05.2026"
    set_request_language("en")
    assert i18n.day(1_777_636_800.0) == "May 1, 2026"
    assert re.fullmatch(r"May 1, 2026 \d{1,2}:\d\d [AP]M", i18n.day_and_time(1_777_636_800.0))


# What ragcore says.


def shape(template: str) -> str:
    return re.sub(r"\{\w+\}", "{}", template)


def filled(template: str, values: list[str]) -> str:
    given = iter(values)
    parts = Formatter().parse(template)
    return "".join(
        literal + ("" if name is None else next(given)) for literal, name, _spec, _conversion in parts
    )


def test_error_uses_the_reader_s_language_with_its_values() -> None:
    error = StillReadingError(3)
    set_request_language("de")
    assert translate(error.what) != error.what
    assert "3" in translate(error.what)
    assert translate(error.hint) != error.hint
    set_request_language("en")
    assert translate(error.what) == error.what


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_finished_text_is_known_again_with_its_values(code: str) -> None:
    set_request_language(code)
    alike: dict[str, list[Message]] = {}  # by what is the same once the values are in
    for message in list_sentences():
        alike.setdefault(shape(str(message.id)), []).append(message)
    unknown = []
    for message in list_sentences():
        values = [f"Wert{number}" for number in range(len(placeholders(str(message.id))))]
        possible = [fill_translation(values, other, code) for other in alike[shape(str(message.id))]]
        if (answer := translate(filled(str(message.id), values))) not in possible:
            unknown.append((message.id, answer, possible))
    assert unknown == []


def fill_translation(values: list[str], message: Message, code: str) -> str:
    """Its translation, with the values in the order of the English text."""
    names = [name for _literal, name, _spec, _conversion in Formatter().parse(str(message.id)) if name]
    translated = load_catalogue(code).get(message.id)
    assert translated is not None
    return str(translated.string).format(**dict(zip(names, values, strict=True)))


@given(
    message=st.deferred(lambda: st.sampled_from(list_sentences())),
    values=st.lists(st.text(max_size=30), min_size=8, max_size=8),
)
def test_a_template_filled_with_anything_is_recognised(message: Message, values: list[str]) -> None:
    text = filled(str(message.id), values)
    assert any(template.pattern.fullmatch(text) for template in compile_patterns())


def test_sentences_displayed_together_are_each_translated() -> None:
    set_request_language("de")
    assert (
        translate("Check the address. a.txt is empty.")
        == f"{translate('Check the address.')} a.txt ist leer."
    )
    assert translate("Words of nobody. Check the address.") == "Words of nobody. Check the address."


@pytest.mark.parametrize(
    ("text", "german"),
    [
        (
            "a.rar is a RAR archive, which cannot be read.",
            "a.rar ist ein RAR-Archiv und kann nicht gelesen werden.",
        ),
        (
            "a.docx could not be read: its part b.xml is missing.",
            "a.docx konnte nicht gelesen werden: der Teil b.xml fehlt.",
        ),
        (
            "a.zip was not unpacked: it would unpack to more than 2,000 MB.",
            "a.zip wurde nicht entpackt: Es würde entpackt mehr als 2,000 MB ergeben.",
        ),
        (
            (
                "a.pdf has no text in its one page: it is a scan, or holds only pictures, and no text was "
                "found in them."
            ),
            "a.pdf enthält auf einer Seite keinen Text: Es ist ein Scan oder enthält nur Bilder,"
            " und darin wurde kein Text gefunden.",
        ),
        (
            "a/b.exe is a .exe file, which cannot be read.",
            "a/b.exe ist eine .exe-Datei und kann nicht gelesen werden.",
        ),
        (
            "The library in a on b is being written by another program, which has not finished.",
            (
                "Die Bibliothek in a on b wird gerade von einem anderen Programm geschrieben, das noch "
                "nicht fertig ist."
            ),
        ),
        (
            "a.txt could not be read: nobody knows why.",
            "a.txt konnte nicht gelesen werden: nobody knows why.",
        ),
    ],
)
def test_sentence_part_uses_the_reader_s_language_too(text: str, german: str) -> None:
    set_request_language("de")
    assert translate(text) == german


@pytest.mark.parametrize("code", TRANSLATED)
def test_what_the_readers_say_of_a_file_has_no_english_part(code: str) -> None:
    set_request_language(code)
    kinds = [what for _first, what, _kind in file_type._NO_READER] + [
        what for what, _type in legacy._KINDS.values()
    ]
    left = [what for what in kinds if what in translate(f"x is {what}, which cannot be read.")]
    assert left == []
    extra = 'x.doc is {}, which is read once the extra "legacy" is installed: pip install "lectern[legacy]".'
    assert [
        what for what, _type in legacy._KINDS.values() if "once the extra" in translate(extra.format(what))
    ] == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_skipped_parts_are_named_in_the_readers_language(code: str) -> None:
    set_request_language(code)
    for kind, (one, many) in file_listing._KINDS.items():
        for count in (1, 5):
            passed = [f"{number}/.b/node_modules/c" for number in range(count)]
            error = file_listing.passed_over_error("papers", {kind: passed})
            assert error is not None
            assert not [
                english for english in (one, many, "skipped", "more") if english in translate(error.what)
            ]


@pytest.mark.parametrize("text", ["", "Some words of nobody.", "  ", "{", "a\nb"])
def test_what_is_not_known_stays_as_it_is(text: str) -> None:
    set_request_language("de")
    assert translate(text) == text
