"""Reads the SELECT that a language model proposes for a question about a table, and mends or refuses it.

A small model gets the shape of a query right and its details wrong. Names of columns and values are those of
the table or the nearest ones; what is counted, summed, compared and left out is what the words of the
question say. Where words and query differ and it is unclear which is meant, the query is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ragcore.structure import select_words
from ragcore.structure.column_names import HEIGHT, LENGTH, MONEY, ORDERED_BY_TIME, RANKED, WEIGHT
from ragcore.structure.sql_table import LISTED, SQLTable, sql_value
from ragcore.structure.tables import Column, Table
from ragcore.text.keywords import content_words, words

NEAR = 0.75  # least likeness of a misspelt name
MAX_NAMED = 6  # words of a value that a question names
MIN_PART = 5  # letters of "wafer" in "ricewafer"
MIN_PREFIX = 3  # letters of "Sun" for "Sunday"
_SELECT = re.compile(r"\bSELECT\b[^;`]*", re.IGNORECASE | re.DOTALL)
_FORBIDDEN = (exp.Join, exp.SetOperation, exp.CTE, exp.Into, exp.Window, exp.Command, exp.Parameter)
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_FLAGS = {"true": "yes", "yes": "yes", "1": "yes", "false": "no", "no": "no", "0": "no"}
_ABOUT = (
    (select_words.OF_MONEY, MONEY),
    (select_words.OF_WEIGHT, WEIGHT),
    (select_words.OF_LENGTH, LENGTH),
    (select_words.OF_HEIGHT, HEIGHT),
)
_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_ORDERS = (  # a comparison, the same with equality, and the words of both
    (exp.GT, exp.GTE, select_words.ABOVE, select_words.FROM),
    (exp.LT, exp.LTE, select_words.BELOW, select_words.UP_TO),
)


def read_select(reply: str, question: str, table: SQLTable) -> exp.Select | None:
    """The SELECT of a reply, mended; None if it is something else, or not what the question asks.

    >>> from ragcore.structure.tables import tables_of
    >>> text = "Room | Price a day\\nRoom: Aspen; Price a day: 90\\nRoom: Birch; Price a day: 75"
    >>> rooms = SQLTable(tables_of(text)[0], "rooms")
    >>> reply = "SELECT room FROM rooms WHERE price < 80;"
    >>> read_select(reply, "Which rooms cost less than 80?", rooms).sql()
    'SELECT room FROM rooms WHERE price_a_day < 80'
    >>> read_select(reply, "Which rooms cost less than 85?", rooms)
    >>> rooms.close()
    """
    match = _SELECT.search(reply)
    try:
        statements = sqlglot.parse(match.group(), read="sqlite") if match else []
    except SqlglotError:
        return None
    if len(statements) != 1 or not isinstance(select := statements[0], exp.Select):
        return None
    if select.find(*_FORBIDDEN) or not select.find(exp.From):
        return None
    mended = _names_mended(select, table) and _values_mended(select, question, table)
    if not mended:
        return None
    _drop_ranges(select, question, table)
    _mend_comparisons(select, question)
    _mend_sign(select, question, table)
    _mend_kind(select, question, table)
    check = _Check(select, question, table)
    return select if check.agrees() else None


def named_values(question: str, table: Table) -> set[str]:
    """The values of columns of text that the question names, in small letters.

    >>> from ragcore.structure.tables import tables_of
    >>> text = "Room | Seats\\nRoom: Aspen Hall; Seats: 12\\nRoom: Birch; Seats: 8"
    >>> named_values("How many seats does Aspen Hall have?", tables_of(text)[0])
    {'aspen hall'}
    """
    tokens = _TOKEN.findall(question)
    found: set[str] = set()
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + MAX_NAMED, len(tokens)) + 1):
            text = " ".join(tokens[start:end])
            is_name = not text.islower() or len(text) > MIN_PREFIX  # "no" and "in" are words
            if is_name and text.casefold() in table.values:
                found.add(text.casefold())
    return found


def _names_mended(select: exp.Select, table: SQLTable) -> bool:
    """Gives each table and column its name, or the nearest; False if none is near."""
    for named in select.find_all(exp.Table):
        if not get_close_matches(named.name.casefold(), [table.name], 1, NEAR):
            return False
        named.set("this", exp.to_identifier(table.name))
    aliases = {alias.alias.casefold() for alias in select.find_all(exp.Alias, exp.TableAlias) if alias.alias}
    for column in list(select.find_all(exp.Column)):
        if column.table and column.table.casefold() not in aliases:
            column.set("table", None)
        name = column.name.casefold()
        if isinstance(column.this, exp.Star) or name in table.columns or name in aliases:
            continue
        if column.this.quoted and _listed(column.name, table):  # = "Aspen"
            column.replace(exp.Literal.string(column.name))
            continue
        nearest = _nearest(name, table)
        if nearest is None:
            return False
        column.set("this", exp.to_identifier(nearest))
    return True


def _nearest(name: str, table: SQLTable) -> str | None:
    """The only column that has all words of the name, else the most similar one."""
    parts = set(name.split("_"))
    containing = [other for other in table.columns if parts <= set(other.split("_"))]
    if len(containing) == 1:
        return containing[0]
    return next(iter(get_close_matches(name, table.columns, 1, NEAR)), None)


def _listed(text: str, table: SQLTable) -> list[tuple[str, str]]:
    """(column in SQL, value as in its cells) of each value of text with these words."""
    found = table.table.values.get(text.casefold(), ())
    sql_names = {column.name: name for name, column in table.columns.items()}
    return [(sql_names[name], value) for name, value in found]


def _compared(select: exp.Select) -> Iterator[tuple[exp.Column, exp.Literal | exp.Boolean]]:
    """The columns that must be equal to a value, or must not."""
    for comparison in select.find_all(exp.EQ, exp.NEQ, exp.In, exp.Is):
        column = comparison.this
        others = comparison.expressions if isinstance(comparison, exp.In) else [comparison.expression]
        for other in others:
            if isinstance(column, exp.Column) and isinstance(other, exp.Literal | exp.Boolean):
                yield column, other


def _values_mended(select: exp.Select, question: str, table: SQLTable) -> bool:
    """Gives each value its spelling in the table, in its own column; False for one that no column has."""
    for compared, literal in list(_compared(select)):
        name = compared.name.casefold()
        column = table.columns.get(name)
        if column is None:
            continue
        values = {str(sql_value(value)) for value in column.values.values()}
        if column.kind == "flag":
            text = str(literal.this).casefold()
            if text not in _FLAGS:
                return False
            if isinstance(compared.parent, exp.NEQ):  # not yes is no
                compared.parent.replace(exp.EQ(this=compared, expression=literal))
                text = "no" if _FLAGS[text] == "yes" else "yes"
            literal.replace(exp.Literal.string(_FLAGS[text]))
        elif column.kind == "date" and literal.is_string and literal.this not in values:
            _mend_day(select, compared, question)
        elif column.kind == "text":
            text = str(literal.this)
            listed = _listed(text, table)
            here = [value for other, value in listed if other == name]
            if not here and len(listed) != 1:
                return False
            if not here:
                compared.set("this", exp.to_identifier(listed[0][0]))
            literal.replace(exp.Literal.string(here[0] if here else listed[0][1]))
    return True


def _mend_day(select: exp.Select, compared: exp.Column, question: str) -> None:
    """The last row up to a day that no row has, where the question asks for the state at the end of it."""
    comparison = compared.parent
    where = select.args.get("where")
    if not isinstance(comparison, exp.EQ) or where is None or where.this is not comparison:
        return
    if select_words.UP_TO_DAY.search(question) and _DAY.fullmatch(comparison.expression.name):
        comparison.replace(exp.LTE(this=compared.copy(), expression=comparison.expression.copy()))
        select.order_by(exp.Ordered(this=compared.copy(), desc=True), copy=False)
        select.order_by(exp.Ordered(this=exp.column("rowid"), desc=True), copy=False)
        select.limit(1, copy=False)


def _drop_ranges(select: exp.Select, question: str, table: SQLTable) -> None:
    """Leaves out that a value is in the range of its column, as the description of the table says."""
    asked = _numbers_of(question)
    for comparison in list(select.find_all(exp.GTE, exp.LTE, exp.Between)):
        column = _column_of(comparison, table)
        numbers = {_plain_number(literal.this) for literal in comparison.find_all(exp.Literal)}
        if column is None or column.kind != "number" or not column.values or numbers & asked:
            continue
        values: list[float] = list(column.values.values())  # type: ignore[arg-type]
        ends = {_plain_number(str(min(values))), _plain_number(str(max(values)))}
        if isinstance(comparison.this, exp.Column) and numbers and numbers <= ends:
            comparison.replace(exp.true())


def _mend_comparisons(select: exp.Select, question: str) -> None:
    """ "More than 20" is not 20, and "at least 20" may be."""
    for strict, inclusive, strict_words, inclusive_words in _ORDERS:
        is_strict = strict_words.search(question) is not None
        if is_strict == (inclusive_words.search(question) is not None):
            continue
        right, wrong = (strict, inclusive) if is_strict else (inclusive, strict)
        for comparison in list(select.find_all(wrong)):
            if comparison.find(exp.Literal) and not _is_date(comparison):
                comparison.replace(right(this=comparison.this, expression=comparison.expression))


def _is_date(comparison: exp.Expr) -> bool:
    return any(literal.is_string for literal in comparison.find_all(exp.Literal))


def _mend_sign(select: exp.Select, question: str, table: SQLTable) -> None:
    """What was spent is not the sum of all amounts."""
    asked = [name for name in table.derived if select_words.DERIVED[name].search(question)]
    if len(asked) == 1:
        for part in list(select.find_all(exp.AggFunc, exp.Ordered)):
            if isinstance(part.this, exp.Column) and part.this.name.casefold() == table.signed:
                part.this.set("this", exp.to_identifier(asked[0]))


def _mend_kind(select: exp.Select, question: str, table: SQLTable) -> None:
    """Counts rows where a column is summed that the question does not name, sums the column that it counts,
    and lists rows where they are counted that the question wants to see."""
    for key in select.find_all(exp.Group):
        numbers = [part for part in key.expressions if part.is_int]  # GROUP BY 1
        for number in [part for part in numbers if int(part.name) <= len(select.selects)]:
            number.replace(select.selects[int(number.name) - 1].unalias().copy())
    result = select.selects[-1].unalias()
    counts = select_words.COUNTS.search(question)
    if counts and isinstance(result, exp.Sum):
        summed = _column_of(result, table)
        counted = set(words(question[counts.end() :])[:3])
        if summed is not None and not _is_flag(summed) and not counted & set(words(summed.name)):
            result = result.replace(exp.Count(this=exp.Star()))
    elif counts and isinstance(result, exp.Column) and not select.args.get("limit"):
        summed = _column_of(result, table)
        counted = set(words(question[counts.end() :])[:3])
        if summed is not None and summed.kind == "number" and counted & set(words(summed.name)):
            result.replace(exp.Sum(this=result.copy()))
    if counts and isinstance(result, exp.Count) and isinstance(result.this, exp.Star):
        _count_names(result, words(question[counts.end() :])[:2], table)
    counts_rows = isinstance(result, exp.Count) and isinstance(result.this, exp.Star)
    asks_amount = counts or select_words.SUMS.search(question) or select.args.get("group")
    if counts_rows and not asks_amount:
        result.replace(exp.Star())


def _count_names(count: exp.Count, counted: Sequence[str], table: SQLTable) -> None:
    """Counts the different values of the column whose name is counted, if several rows have the same one."""
    for name, column in table.columns.items():
        values = list(column.values.values())
        if column.kind == "text" and _terms(name) <= set(counted) and len(set(values)) < len(values):
            count.set("this", exp.Distinct(expressions=[exp.column(name)]))


def _column_of(expression: exp.Expr, table: SQLTable) -> Column | None:
    column = expression.find(exp.Column)
    return None if column is None else table.columns.get(column.name.casefold())


def _is_flag(column: Column) -> bool:
    return column.kind == "flag" or set(column.values.values()) <= {0.0, 1.0}


class _Check:
    """Whether a SELECT says what the words of a question say."""

    def __init__(self, select: exp.Select, question: str, table: SQLTable) -> None:
        self._select = select
        self._table = table
        self._question = question
        self._words = words(question)
        used = {column.name.casefold() for column in select.find_all(exp.Column)}
        self._used = {name: column for name, column in table.columns.items() if name in used}
        # What is in the name of a column that is used says nothing about what is computed: "average rent".
        self._rest = question
        for column in self._used.values():
            name = re.escape(column.head).replace("_", "[_ ]")
            self._rest = re.sub(rf"\b{name}\b", " ", self._rest, flags=re.IGNORECASE)
        conditions = list(select.find_all(exp.Where, exp.Having))
        self._literals = [literal for part in conditions for literal in part.find_all(exp.Literal)]

    def agrees(self) -> bool:
        return (
            self._everything_named_is_used()
            and self._everything_used_is_named()
            and self._columns_can_be_computed()
            and self._numbers_agree()
            and self._comparisons_agree()
            and self._operation_agrees()
            and self._order_agrees()
        )

    def _says(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self._rest) is not None

    def _has_word(self, term: str) -> bool:
        """Also "Sun" for "Sunday"."""
        is_long = len(term) >= MIN_PREFIX
        return term in self._words or (is_long and any(word.startswith(term) for word in self._words))

    def _everything_named_is_used(self) -> bool:
        """Whether the query has each column and value that the question names. The first column is the name
        of the rows, and the name of the table names no column."""
        table_words = _terms(self._table.name)
        used = [_terms(name) for name in self._used]
        for name in list(self._table.columns)[1:]:
            terms = _terms(name)
            is_named = terms <= set(self._words) or self._has_part_of(name)
            phrase = name.replace("_", " ")
            is_phrase = " " in phrase and phrase in self._question.casefold()
            exempt = used if is_phrase else [table_words, *used]
            if is_named and not any(terms <= others for others in exempt) and name not in ("total", "number"):
                return False
        stated = "\n".join(str(literal.this).casefold() for literal in self._literals)
        named = named_values(self._rest, self._table.table)
        for column in self._table.columns.values():
            values = {str(value) for value in column.values.values()} if column.kind == "text" else set()
            if len(values) <= LISTED:
                named |= {value.casefold() for value in values if self._has_all(value)}
        names = table_words.union(*map(_terms, self._table.columns))
        if not self._literals and not self._select.find(exp.Group):
            in_table = {*names, *(word for value in named for word in words(value))}
            foreign = [word for word in _TOKEN.findall(self._rest)[1:] if word[0].isupper()]
            if not set(content_words(" ".join(foreign))) <= in_table:
                return False  # "How many live on Skye?" of a table without Skye
        return all(value in stated or set(content_words(value)) <= names for value in named)

    def _has_all(self, value: str) -> bool:
        terms = words(value)
        return len(value) >= MIN_PREFIX and bool(terms) and all(map(self._has_word, terms))

    def _has_part_of(self, name: str) -> bool:
        """Whether a word of the question is in a name without spaces between its words."""
        return "_" not in name and any(
            len(word) >= MIN_PART and word in name for word in content_words(self._question)
        )

    def _everything_used_is_named(self) -> bool:
        """Whether the question names each value, and each column of numbers or flags that the query compares,
        sorts, groups or computes: no guessed category. One column of numbers may be meant without a name if
        no other is left."""
        for compared, literal in _compared(self._select):
            column = self._table.columns.get(compared.name.casefold())
            terms = words(str(literal.this)) if column is not None and column.kind == "text" else []
            if 2 * sum(map(self._has_word, terms)) < len(terms):
                return False
        shown = [result for result in self._select.selects if isinstance(result, exp.Column)]
        parts = [*shown, *self._select.find_all(exp.AggFunc, exp.Ordered, exp.Group, exp.Binary, exp.Between)]
        used = {column.name.casefold() for part in parts for column in part.find_all(exp.Column)}
        unnamed = [
            name
            for name in used & self._table.columns.keys()
            if self._table.columns[name].kind in ("number", "flag") and not self._names(name)
        ]
        left = [
            name
            for name, column in self._table.columns.items()
            if column.kind == "number"
            and not self._names(name)
            and name not in self._table.derived
            and not RANKED.fullmatch(column.name)
        ]
        grouped = [
            key.name.casefold()
            for group in self._select.find_all(exp.Group)
            for key in group.find_all(exp.Column)
        ]
        return unnamed in ([], left) and all(map(self._names, grouped))

    def _names(self, name: str) -> bool:
        """By a word of its name, or by a word such as "heaviest" that is about such names."""
        column = self._table.columns[name]
        if name in self._table.derived:
            return select_words.DERIVED[name].search(self._question) is not None
        if ORDERED_BY_TIME.fullmatch(column.name) and select_words.TIMES.search(self._question):
            return True
        for words_about, names in _ABOUT:
            if names.fullmatch(column.head) and words_about.search(self._question):
                return True
        return self._has_part_of(name) or any(map(self._has_word, _terms(name)))

    def _columns_can_be_computed(self) -> bool:
        """Whether numbers or dates are compared and sorted, only amounts are added up, and what a group shows
        is the same in all its rows."""
        for part in self._select.find_all(exp.Sum, exp.Avg, exp.Max, exp.Min, exp.Ordered, *_COMPARISONS):
            column = _column_of(part, self._table)
            if column is None or part.find(exp.AggFunc) not in (None, part):
                continue
            is_time = ORDERED_BY_TIME.fullmatch(column.name) or RANKED.fullmatch(column.name)
            if column.kind == "text" or (isinstance(part, exp.Sum) and is_time):
                return False
        group = self._select.args.get("group")
        shown = {result.name for result in self._select.selects if isinstance(result, exp.Column)}
        grouped = {key.name for key in group.find_all(exp.Column)} if group else set()
        return not grouped or shown <= grouped

    def _numbers_agree(self) -> bool:
        """Whether the numbers and months of the question are in the query, and no others."""
        names = [column.name for column in self._select.find_all(exp.Column)]
        stated = [str(literal.this) for literal in self._select.find_all(exp.Literal)]
        in_sql = {_plain_number(digits) for text in [*names, *stated] for digits in _NUMBER.findall(text)}
        asked = _numbers_of(self._rest)
        if any(number not in in_sql and _plain_number(number[-2:]) not in in_sql for number in asked):
            return False
        allowed = {"0", "1", *asked, *_numbers_of(self._question)}
        allowed |= {str(number) for word, number in select_words.NUMBERS.items() if word in self._words}
        limit = self._select.args.get("limit")
        for literal in [*self._literals, *([limit.expression] if limit else [])]:
            in_date = literal.find_ancestor(exp.Month, exp.Day, exp.Anonymous) is not None
            if not literal.is_string and not in_date and _plain_number(literal.name) not in allowed:
                return False
        months = [
            str(number)
            for month, number in select_words.MONTHS.items()
            if re.search(rf"\b{month}\b", self._question, re.IGNORECASE)
        ]
        return set(months) <= in_sql

    def _comparisons_agree(self) -> bool:
        """Whether more, less and not are in both or in none."""
        denials = [
            denial
            for denial in self._select.find_all(exp.NEQ, exp.Not)
            if not (isinstance(denial, exp.Not) and isinstance(denial.this, exp.Is))
        ]
        texts = [str(literal.this).casefold() for literal in self._literals]
        denies = self._says(select_words.NEGATIONS)
        if (denials or "no" in texts) and not denies:
            return False
        if denies and not (denials or "no" in texts or "0" in texts):
            return False
        for strict, inclusive, strict_words, inclusive_words in _ORDERS:
            compared = [
                comparison
                for comparison in self._select.find_all(strict, inclusive)
                if not _is_date(comparison) and not _is_zero(comparison)
            ]
            if compared and not (self._says(strict_words) or self._says(inclusive_words)):
                return False
            if self._says(strict_words) and not self._select.find(strict, inclusive, exp.Between, exp.Sub):
                return False
        return True

    def _operation_agrees(self) -> bool:
        select = self._select
        if self._says(select_words.AVERAGES) != (select.find(exp.Avg) is not None):
            return False
        if self._says(select_words.DIFFERENCES) and not select.find(exp.Sub):
            return False
        is_grouped = select.find(exp.Group) is not None
        if select.find(exp.Sum) and not is_grouped and not self._says(select_words.SUMS):
            return False
        if self._says(select_words.SUMS_SURELY) and not select.find(exp.Sum, exp.Count):
            return False
        if self._says(select_words.COUNTS) and isinstance(select.selects[0], exp.Star):
            return False
        is_extreme = self._says(select_words.HIGHEST) or self._says(select_words.LOWEST)
        return not is_grouped or is_extreme or self._says(select_words.GROUPS)

    def _order_agrees(self) -> bool:
        """Whether it takes the end that the question names. The oldest has the first year, or the highest
        age."""
        rest = select_words.LIMITS.sub(" ", self._rest)
        high, low = select_words.HIGHEST.search(rest), select_words.LOWEST.search(rest)
        limited = self._select.args.get("limit") is not None
        ordered = self._select.find(exp.Ordered) if limited else None
        if limited and self._select.find(exp.Count) and not self._select.find(exp.Group):
            return False
        part = ordered or self._select.find(exp.Max, exp.Min)
        if select_words.UP_TO_DAY.search(self._question):
            return True
        oldest = select_words.OLDEST.search(rest)
        if part is None or not (high or low or oldest):
            return part is None and not (high or low or oldest)
        is_high = part.args.get("desc") is True if ordered else isinstance(part, exp.Max)
        if oldest:
            column = _column_of(part, self._table)
            is_time = column is not None and (column.kind == "date" or ORDERED_BY_TIME.fullmatch(column.name))
            return is_high != bool(is_time)
        return bool(high) if is_high else bool(low)


def _terms(name: str) -> set[str]:
    """The words of a name, without numbers."""
    return {term for term in content_words(name.replace("_", " ")) if not term.isdigit()}


def _numbers_of(text: str) -> set[str]:
    return {_plain_number(number.replace(",", "")) for number in _DIGITS.findall(text)}


def _is_zero(comparison: exp.Expr) -> bool:
    return any(not literal.is_string and literal.this == "0" for literal in comparison.find_all(exp.Literal))


def _plain_number(text: str) -> str:
    """Without zeros that say nothing: 1.50 is 1.5, 02 is 2."""
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text
