"""Compares rows of a table that a conversation spoke of: "Which one is larger?" after "How many seats does
Cedar have?" and "And Elm?"; in English, German, French, Spanish and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.structure.answer import Computed
from ragcore.structure.column_names import RANKED
from ragcore.structure.tables import Table
from ragcore.text.keywords import content_words


@dataclass(frozen=True, slots=True)
class _Patterns:
    """`asks`: a whole question, in which WORD stands for `more` or `less`. The others are answers."""

    asks: str
    more: str
    less: str
    most: str
    least: str
    equal: str


_LANGUAGES = {
    "en": _Patterns(
        asks="(?:and )?(?:which|what)(?: one| of (?:them|these|those|the two))?(?: is| has)?(?: the)?"
        " (?:WORD)(?: one| number| value)?",
        more="larger|largest|bigger|biggest|greater|greatest|higher|highest|more|most",
        less="smaller|smallest|lower|lowest|less|least|fewer|fewest",
        most="**{name}** has the highest {column}, {value}, of {rows} rows.",
        least="**{name}** has the lowest {column}, {value}, of {rows} rows.",
        equal="{column} is {value} in all {rows} rows.",
    ),
    "de": _Patterns(
        asks="(?:und )?(?:welche[rs]?|was|wer)(?: von (?:ihnen|beiden|den beiden|diesen))?(?: davon)?"
        " (?:ist|hat)(?: (?:der|die|das|am))? (?:WORD)",
        more="größer|größte[rn]?|größten|höher|höchste[rn]?|mehr|meisten",
        less="kleiner|kleinste[rn]?|kleinsten|niedriger|niedrigste[rn]?|weniger|wenigsten",
        most="**{name}** hat den höchsten Wert von {column}, {value}, von {rows} Zeilen.",
        least="**{name}** hat den niedrigsten Wert von {column}, {value}, von {rows} Zeilen.",
        equal="{column} ist {value} in allen {rows} Zeilen.",
    ),
    "fr": _Patterns(
        asks="(?:et )?(?:le(?:s?)quel(?:le)?s?|laquelle|lequel|qui)(?: des deux| d['’]entre (?:eux|elles))?"
        " (?:est|a|en a)(?: l[ea])? (?:WORD)",
        more="plus (?:grande?|élevée?|haute?)|plus|supérieure?",
        less="plus (?:petite?|basse?|bas|faible)|moins|inférieure?",
        most="**{name}** a la plus grande valeur de {column}, {value}, sur {rows} lignes.",
        least="**{name}** a la plus petite valeur de {column}, {value}, sur {rows} lignes.",
        equal="{column} est {value} dans les {rows} lignes.",
    ),
    "es": _Patterns(
        asks="(?:y )?(?:cu[aá]l|qui[eé]n)(?: de (?:l[oa]s dos|ell[oa]s))? (?:es|tiene)"
        "(?: (?:el|la))? (?:WORD)",
        more="mayor|más (?:grande|alt[oa])|más",
        less="menor|más (?:pequeñ[oa]|baj[oa])|menos",
        most="**{name}** tiene el valor más alto de {column}, {value}, de {rows} filas.",
        least="**{name}** tiene el valor más bajo de {column}, {value}, de {rows} filas.",
        equal="{column} es {value} en las {rows} filas.",
    ),
    "zh": _Patterns(
        asks="(?:那么?)?(?:哪(?:一)?个|哪(?:一)?间|谁)(?:的)?(?:更|比较|最)?(?:WORD)(?:一些|一点)?",
        more="大|多|高",
        less="小|少|低",
        most="**{name}** 的 {column} 最高，为 {value}（共 {rows} 行）。",
        least="**{name}** 的 {column} 最低，为 {value}（共 {rows} 行）。",
        equal="{rows} 行的 {column} 都是 {value}。",
    ),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is asked of the rows; `is_most` for the largest value, else for the smallest."""

    is_most: bool
    language: str


def find_comparison(question: str) -> Comparison | None:
    """None if the question as a whole does not ask which of several has most or least.

    >>> find_comparison("Which one is larger?").is_most, find_comparison("Which one is larger in May?")
    (True, None)
    """
    words = " ".join(question.split()).strip(" ¿?？.!！")
    for language, patterns in _LANGUAGES.items():
        for is_most, word in ((True, patterns.more), (False, patterns.less)):
            if re.fullmatch(patterns.asks.replace("WORD", word), words, re.IGNORECASE):
                return Comparison(is_most, language)
    return None


def compare(comparison: Comparison, names: Sequence[str], question: str, table: Table) -> Computed | None:
    """Compares the rows with these names in the column that the question is about. None if one has no row or
    several, if it is unclear which column is asked about, or if its values are no numbers.

    >>> from ragcore.structure.tables import tables_of
    >>> rooms = tables_of("Room | Seats\\nRoom: Cedar; Seats: 30\\nRoom: Elm; Seats: 20")[0]
    >>> asked = find_comparison("Which one is larger?")
    >>> compare(asked, ["Cedar", "Elm"], "How many seats does Elm have?", rooms).sentence
    '**Cedar** has the highest Seats, 30, of 2 rows.'
    """
    key = table.names[0]
    found = [
        [at for at, row in enumerate(table.rows) if _is_named(row.cells.get(key), name)] for name in names
    ]
    if table.is_part or any(len(rows) != 1 for rows in found):
        return None
    at = [rows[0] for rows in found]
    asked = set(content_words(question))
    columns = [name for name in table.names[1:] if asked.intersection(content_words(name))]
    column = table.columns.get(columns[0]) if len(columns) == 1 else None
    if column is None or column.kind != "number" or RANKED.fullmatch(column.name):
        return None
    if not set(at) <= set(column.values):
        return None
    numbers = [float(str(column.values[row])) for row in at]
    best = max(numbers) if comparison.is_most else min(numbers)
    patterns = _LANGUAGES[comparison.language]
    if len(set(numbers)) == 1:
        sentence = patterns.equal
    elif numbers.count(best) > 1:
        return None
    else:
        sentence = patterns.most if comparison.is_most else patterns.least
    row = table.rows[at[numbers.index(best)]]
    text = sentence.format(
        name=row.cells[key], column=column.name, value=row.cells[column.name], rows=len(at)
    )
    return Computed(text, [table.rows[number] for number in at])


def _is_named(cell: str | None, name: str) -> bool:
    return cell is not None and cell.strip().casefold() == name.strip().casefold()
