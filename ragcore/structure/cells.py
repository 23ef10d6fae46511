"""Computes what a question asks of a few cells of a two-way table: "What was the percentage change in net
sales from 2018 to 2019?", in five languages.

The question names an operation, and one row in several periods or two rows in one. Each further word of it
must be one of the table's own or say nothing; otherwise nothing is computed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ragcore.structure.answer import Computed
from ragcore.structure.column_names import NEVER_ADDED
from ragcore.structure.query import Unclear
from ragcore.structure.tables import Row
from ragcore.structure.two_way_tables import Cell, LabelledRow, TwoWayTable
from ragcore.structure.words.cells import CELL_WORDS, CellOperation, CellWords
from ragcore.structure.words.languages import vocabulary_of
from ragcore.text.keywords import content_words

DECIMALS = 2  # of a quotient
MAX_YEARS = 12  # of a range
_YEAR = re.compile(r"(?<![\d.$€£])(?:19|20)\d\d(?!\d|\.\d|,\d{3}(?!\d))")
_SHORT_YEAR = re.compile(r"\bFY?\W?(\d\d)\b", re.IGNORECASE)
_RANGE = re.compile(
    r"((?:19|20)\d\d)年?\s?(?:[-–]|to|through|until|bis|à|a|al|至|到)\s?((?:19|20)\d\d)(?!\d)", re.IGNORECASE
)
_BACKWARDS = re.compile(
    r"\b(?:from|von|de|desde)\b\D*((?:19|20)\d\d)\D+((?:19|20)\d\d)|从\D*(\d{4})\D+(\d{4})", re.IGNORECASE
)
# Words that tell names of rows apart, though they say nothing in a search: income before taxes, and after.
_TELLING = re.compile(
    r"\b(?:non|not?|without|excluding|before|after|over|under|above|below|nicht|ohne|vor|nach|über"
    r"|unter|sans|hors"
    r"|avant|après|moins|plus|sin|antes|después|others?|own|same|more|less|autres?|andere[nrs]?|otr[oa]s?)\b",
    re.IGNORECASE,
)
_OTHER_QUESTION = re.compile(
    r"\W*(?:who|where|which|wer|wo|welche\w*|qui|où|qu(?:el(?:le)?s|iénes?)|quién|dónde)\b"
    r"|.*(?:\b(?:why|when|warum|weshalb|wann|pourquoi|quand|por qué|cuándo)\b|为什么|何时|谁|哪)",
    re.IGNORECASE | re.DOTALL,
)
_RATE = re.compile(r".*\b(?:per|pro|par|por)\b.*", re.IGNORECASE)
_OWNER = re.compile(r"\b([A-Z]\w+)['’]s\b")
_OF_PERCENTAGES = re.compile(
    r"%|\b(?:as|in) (?:a )?(?:percent|share)|\b(?:in|als) prozent|\ben (?:pourcentage|porcentaje)|百分比",
    re.IGNORECASE,
)
_REST = "other others andere anderer anderes sonstige sonstiges autre autres otro otra otros otras"
_TOTAL = re.compile(r"\btotal|gesamt|合计|总", re.IGNORECASE)
_NOTE = re.compile(r"\([^()]*\)|(?<=[^\W\d])\d\b")  # "Other assets (1)", "Net sales2"


def compute_cells(
    question: str, tables: Sequence[TwoWayTable], name: str = "", text: str = ""
) -> list[Computed]:
    """What the tables say; only those that have the row with exactly the words of the question, if there are
    some. `name` and `text` are those of their document: the question may have words of the name, and
    "Acme's" if the text speaks of Acme.

    >>> from ragcore.structure.two_way_tables import two_way_tables_of
    >>> tables = two_way_tables_of("| | 2019 | 2018 |\\n| Rent | 1,200 | 1,000 |\\n| Food | 310 | 200 |")
    >>> compute_cells("What was the percentage change in rent from 2018 to 2019?", tables)[0].sentence
    '**20%** is the percentage change in Rent from 1,000 (2018) to 1,200 (2019).'
    """
    if _OTHER_QUESTION.match(question):
        return []
    asked = _OWNER.sub(lambda owner: " " if _has_word(text, owner[1]) else owner[0], question)
    exact: list[Computed] = []
    others: list[Computed] = []
    for table in tables:
        language = vocabulary_of(question, " ".join(table.heads)).language
        try:
            computed, is_exact = _Question(asked, table, name, CELL_WORDS[language]).result()
        except Unclear:
            continue
        (exact if is_exact else others).append(computed)
    return exact or others


def without_operation(question: str) -> str:
    """The words that name rows and columns; "" if the question asks for no operation on cells.

    >>> without_operation("What was the average rent in 2018 and 2019?")
    'What was the   rent in 2018 and 2019?'
    """
    words = CELL_WORDS[vocabulary_of(question, "").language]
    for _, pattern in words.operations:
        rest, count = re.subn(pattern, " ", question, flags=re.IGNORECASE)
        if count:
            return rest
    return question if any(re.fullmatch(pattern, question, re.I) for _, pattern in words.pairs) else ""


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


@dataclass(frozen=True, slots=True)
class _Operand:
    row: LabelledRow
    column: int

    @property
    def cell(self) -> Cell:
        if self.column not in self.row.cells:
            raise Unclear
        return self.row.cells[self.column]


class _Question:
    """A question about one table."""

    def __init__(self, question: str, table: TwoWayTable, name: str, words: CellWords) -> None:
        self._question = _SHORT_YEAR.sub(r"20\1", question.strip(" ?？"))
        self._table = table
        self._words = words
        self._known = self._stems(f"{name} {table.title}", keep_notes=True)
        self._is_exact = True

    def result(self) -> tuple[Computed, bool]:
        """And whether the row was named in full. Raises Unclear."""
        years = list(dict.fromkeys(_YEAR.findall(self._question)))
        for operation, pattern in self._words.pairs:
            match = re.fullmatch(pattern, self._question, re.IGNORECASE)
            columns = self._columns(years) if match is not None else []
            if match is not None and len(columns) == 1 and (rows := self._two_rows(match)):
                operands = [_Operand(row, columns[0]) for row in rows]
                return self._computed(operation, operands, f"{operation} of rows"), self._is_exact
        for operation, pattern in self._words.operations:
            rest, count = re.subn(pattern, " ", self._question, flags=re.IGNORECASE)
            if operation == "percent":  # "By how many percent did the rent rise?"
                rest = re.sub(dict(self._words.operations)["change"], " ", rest, flags=re.IGNORECASE)
            if count:
                columns = self._columns(self._with_range(operation, years))
                row = self._row(self._asked(rest, columns))
                return self._computed(
                    operation, [_Operand(row, at) for at in columns], operation
                ), self._is_exact
        raise Unclear

    def _stems(self, text: str, *, keep_notes: bool = False) -> frozenset[str]:
        text = text if keep_notes else _NOTE.sub(" ", text)
        text = _TELLING.sub(r"tell\g<0>", self._words.without_ignored(_YEAR.sub(" ", text)))
        return frozenset(content_words(text))

    def _with_range(self, operation: CellOperation, years: Sequence[str]) -> Sequence[str]:
        """The years of "2017 to 2019", of which an average is one of three."""
        backwards = _BACKWARDS.search(self._question)
        if operation in ("percent", "change") and backwards is not None:
            first, last = filter(None, backwards.groups())
            if first > last:
                raise Unclear  # the change may be meant the other way
        match = _RANGE.search(self._question) if operation in ("average", "sum") else None
        if match is None or not 0 < int(match[2]) - int(match[1]) < MAX_YEARS:
            return years
        return [str(year) for year in range(int(match[1]), int(match[2]) + 1)]

    def _columns(self, years: Sequence[str]) -> list[int]:
        """Those of the years, the oldest first; without years, all columns of one."""
        of_years: dict[str, list[int]] = {}
        for at, head in enumerate(self._table.heads):
            found = set(_YEAR.findall(_SHORT_YEAR.sub(r"20\1", head)))
            if at and len(found) == 1:
                of_years.setdefault(found.pop(), []).append(at)
        asked = self._stems(self._question)
        chosen: list[int] = []
        for year in sorted(years or of_years):
            columns = of_years.get(year, [])
            if len(columns) > 1:
                columns = [at for at in columns if self._stems(self._table.heads[at]) <= asked]
            if len(columns) != 1:
                raise Unclear
            chosen += columns
        return chosen

    def _asked(self, text: str, columns: Sequence[int]) -> frozenset[str]:
        """The words of the text that are not those of the columns."""
        heads = " ".join(self._table.heads[at] for at in columns)
        return self._stems(text) - self._stems(heads)

    def _row(self, asked: frozenset[str]) -> LabelledRow:
        """The only row with these words as its name; further words may be those of its section or of the
        table."""
        exact: list[LabelledRow] = []
        others: list[LabelledRow] = []
        rest = self._stems(_REST)
        labels = [self._stems(row.label) for row in self._table.rows]
        for row, label in zip(self._table.rows, labels, strict=True):
            if label <= rest:  # "Other" stands in most tables
                continue
            if label == asked:
                exact.append(row)
            elif label <= asked <= label | self._stems(row.section) | self._known:
                others.append(row)
        found = exact or others
        if len(found) != 1:
            raise Unclear
        is_total = _TOTAL.search(found[0].label) and not _TOTAL.search(self._question)
        if is_total and any(asked < label for label in labels):
            raise Unclear  # "income" may be the total income, or the net income
        self._is_exact = self._is_exact and bool(exact)
        return found[0]

    def _two_rows(self, match: re.Match[str]) -> list[LabelledRow]:
        """The rows with these two names; none where they are not two."""
        try:
            rows = [self._row(self._asked(match[name], ())) for name in "ab"]
        except Unclear:
            return []
        return rows if rows[0] is not rows[1] else []

    def _computed(self, operation: CellOperation, operands: Sequence[_Operand], sentence: str) -> Computed:
        cells = [operand.cell for operand in operands]
        if len(cells) < 2 or (operation not in ("average", "sum") and len(cells) > 2):
            raise Unclear
        if len({cell.is_percent for cell in cells}) > 1 or all(cell.number < 0 for cell in cells):
            raise Unclear  # the change of a loss may be meant either way
        if operation == "sum" and any(_is_rate(operand.row.label) for operand in operands):
            raise Unclear
        is_of_percentages = self._is_of_percentages(operands)
        number, decimals = _compute(operation, cells, is_of_percentages=is_of_percentages)
        is_percent = operation in ("percent", "share") or (operation != "ratio" and cells[0].is_percent)
        shown = _written(number, decimals, cells) + ("%" if is_percent else "")
        heads = [self._table.heads[operand.column] for operand in operands]
        is_of_rows = sentence.endswith("of rows")
        labels = [
            f"{operand.row.label} ({operand.cell.text})" if is_of_rows else f"{operand.cell.text} ({head})"
            for operand, head in zip(operands, heads, strict=True)
        ]
        text = self._words.sentences[sentence].format(
            result=shown,
            row=operands[0].row.label,
            first=labels[0],
            last=labels[-1],
            columns=", ".join(heads),
        )
        rows = [self._cited(row) for row in dict.fromkeys(operand.row for operand in operands)]
        return Computed(text, rows, all_rows=rows)

    def _is_of_percentages(self, operands: Sequence[_Operand]) -> bool:
        """Whether the numbers are percentages, so that their sum or the change of one in percent says
        nothing."""
        names = [self._table.title, *(self._table.heads[operand.column] for operand in operands)]
        return operands[0].cell.is_percent or any(map(_OF_PERCENTAGES.search, names))

    def _cited(self, row: LabelledRow) -> Row:
        cells = {self._table.heads[at]: cell.text for at, cell in row.cells.items()}
        return Row({"": row.label, **cells}, row.start, row.text)


def _compute(
    operation: CellOperation, cells: Sequence[Cell], *, is_of_percentages: bool
) -> tuple[Decimal, int]:
    """(result, decimals). Raises Unclear."""
    numbers = [cell.number for cell in cells]
    decimals = max(0, *(-int(number.as_tuple().exponent) for number in numbers))
    match operation:
        case "change":
            return numbers[-1] - numbers[0], decimals
        case "difference":
            return abs(numbers[-1] - numbers[0]), decimals
        case "average":
            return sum(numbers, Decimal()) / len(numbers), max(decimals, DECIMALS)
        case "sum" if not is_of_percentages:
            return sum(numbers, Decimal()), decimals
        case "percent" if numbers[0] > 0 and not is_of_percentages:
            return (numbers[-1] - numbers[0]) / numbers[0] * 100, DECIMALS
        case "share" if numbers[-1] > 0 and numbers[0] >= 0 and not is_of_percentages:
            return numbers[0] / numbers[-1] * 100, DECIMALS
        case "ratio" if numbers[-1] > 0 and numbers[0] >= 0:
            return numbers[0] / numbers[-1], DECIMALS
    raise Unclear


def _is_rate(label: str) -> bool:
    """Whether the sum of such numbers says nothing."""
    return _RATE.match(label) is not None or NEVER_ADDED.fullmatch(label) is not None


def _written(number: Decimal, decimals: int, cells: Sequence[Cell]) -> str:
    """As the cells are written: 1,234.5 or 1.234,5."""
    rounded = round(number, decimals)
    written = max(0, *(-int(cell.number.as_tuple().exponent) for cell in cells))
    if decimals > written:  # 20%, not 20.00%
        needed = max(0, -int(rounded.normalize().as_tuple().exponent))
        decimals = max(written, needed)
    shown = f"{rounded:,.{decimals}f}"
    if any(cell.has_decimal_comma for cell in cells):
        return shown.translate(str.maketrans(",.", ".,"))
    return shown
