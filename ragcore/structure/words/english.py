"""English words of questions over rows."""

from __future__ import annotations

from ragcore.structure.words.vocabulary import Vocabulary

ENGLISH = Vocabulary(
    language="en",
    keywords={
        "H": "how many",
        "M": "how much, how much money",
        "W": "which, what",
        "L": "list, show, show me, name, give me",
        "n": "number of",
        "T": "in total, in all, altogether, together, total, total of, sum of, sum",
        "A": "average, average of, on average",
        "B": "between",
        "<": "less than, fewer than, lower than, under, below",
        ">": "more than, greater than, higher than, over, above",
        "l": "at most, up to",
        "g": "at least",
        "e": "before",
        "y": "after",
        "z": "since",
        "!": "not, no, without, except, other than",
        "&": "and",
        "|": "or",
        "b": "is, are, was, were",
        "w": "have, has, had, having, with",
        "d": "do, does, did",
        "i": "i, we, you",
        "t": "are there",
        "r": "that, whose, where, whose name",
        "j": "per, by, for each, of each, in each, on each, by each, grouped by",
        "o": "sort, sorted, order, ordered",
        "k": "than",
        "f": "difference, difference in, difference of",
        "Y": "how much more, how many more",
        "a": "at the end of",
        "c": "contain, contains, containing",
        "u": "euro, euros, dollar, dollars, pound, pounds, €, $, £, ¥, percent, %, kg, kilo, kilos, g, gram, "
        "grams, t, km, m, metre, metres, meter, meters, cm, mm, l, litre, litres, liter, liters, h, hour, "
        "hours, min, minute, minutes, day, days, night, month, year, years, per day, per night, per hour",
        "": "a, an, the, all, any, please, my, our",
    },
    prepositions={"in": "in, on, at", "from": "from", "of": "of, for"},
    largest="most, highest, largest, biggest, maximum, top",
    smallest="fewest, least, lowest, smallest, minimum",
    last="last",
    first="first",
    superlatives={
        "money": ("most expensive", "cheapest, least expensive"),
        "weight": ("heaviest", "lightest"),
        "length": ("longest", "shortest"),
        "height": ("tallest", ""),
        "dated": ("newest, latest, most recent", "oldest, earliest"),
    },
    comparatives={
        "money": ("more expensive, dearer, how much more expensive", "cheaper, less expensive"),
        "weight": ("heavier", "lighter"),
        "length": ("longer", "shorter"),
        "height": ("taller, higher", ""),
    },
    verbs={"money": "cost, costs", "weight": "weigh, weighs"},
    spent="spend, spent, pay, paid",
    received="receive, received, earn, earned",
    expenses="expense, expenses",
    incomes="income, incomes, receipts",
    payments="payment, payments, transaction, transactions",
    sized="largest, biggest, smallest",
    periods={
        "month": "per month, a month, each month, every month, by month, for each month, in each month, "
        "monthly",
        "quarter": "per quarter, a quarter, each quarter, every quarter, by quarter, for each quarter, "
        "quarterly",
        "year": "per year, a year, each year, every year, by year, for each year, in each year, yearly",
    },
    descending="descending, in descending order, highest first, largest first, most expensive first",
    ascending="ascending, in ascending order, lowest first, smallest first, cheapest first",
    numbers="two three four five six seven eight nine ten",
    relative="which",
    no_values="other others next last first top best same new old more less any all max min mean will may "
    "can must",
    stems=(
        (r"(?<=..)ies$", "y"),
        (r"(?<=x)es$|(?<=sh)es$|(?<=ch)es$|(?<=ss)es$|(?<!s)s$", ""),
    ),
)
