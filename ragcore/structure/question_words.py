"""Which questions are over the rows of a table, by their words, in five languages."""

from __future__ import annotations

import re

_COMPARES_ALL = (
    r"average|mean|median|most|least|fewest|maximum|minimum|max|min|top \d+|first|last|latest|best|worst"
    r"|(?:high|low|larg|bigg|small|heavi|light|old|young|new|earli|cheap|long|short|tall|fast|slow|near"
    r"|strong|weak|wid|deep|great|busi|clos|dear)est"
    r"|(?:more|less|fewer|other|rather|larger|bigger|smaller|higher|lower|older|newer|younger|longer"
    r"|shorter|cheaper|heavier|lighter|earlier|later|better) than|(?:which|who|what)(?: one)? is \w+er"
    r"|at (?:least|most)|over \W?\d|under \W?\d|above|below|exceed\w*|between|before|after|since"
    r"|difference|compared?|more(?=\W*$)|how (?:much|many) (?:more|less|fewer)|^sort|sorted|ordered by"
    r"|without|no|not|never|none|neither|\w+n['’]t|except|but|other|all|every|each|list|any|both",
    r"durchschnitt\w*|mittelwert|meisten?|wenigsten|höchstens|mindestens|maxim\w+|minim\w+|erste\w*"
    r"|letzte\w*|am \w+sten|(?:höch|größ|klein|niedrig|teuer|billig|schwer|leicht|ält|neue|früh|jüng|läng"
    r"|kürz|schnell|günstig)s?te[mnrs]?|(?:mehr|weniger|größer|kleiner|höher|niedriger|älter|neuer|länger"
    r"|kürzer|teurer|billiger|schwerer|leichter|früher|später|anders?) als|über \W?\d|unter \W?\d"
    r"|zwischen|vor|nach|seit|unterschied|ohne|kein\w*|nicht|nie|außer|alle[mnrs]?|jede[mnrs]?|sämtliche"
    r"|liste|sortier\w*|kontostand ende \w+",
    r"moyen(?:ne)?s?|médiane?|(?:le|la|les) (?:plus|moins)|maxim\w+|minim\w+|premi\w+|derni\w+"
    r"|(?:plus|moins) \w+ que|(?:plus|moins) de|au (?:plus|moins)|entre|avant|après|depuis|différence"
    r"|sans|pas|jamais|aucun\w*|sauf|tou(?:s|te|tes)|chaque|liste\w*|tri(?:e|ez|er|ées?|és?)",
    r"promedio|media|mediana|medio por|(?:más|menos)(?: \w+)?|ordena\w*"
    r"|máxim\w+|mínim\w+|mayor|menor|primer\w*|últim\w+|al menos|como (?:máximo|mínimo)|entre|antes"
    r"|después|desde|diferencia|sin|no|nunca|ningun[oa]s?|ningún|salvo|excepto|tod[oa]s?|cada|lista\w*",
)
_COMPUTES_OF_SEVERAL = (
    r"percent(?:age)? (?:change|increase|decrease|growth|constitution)|(?:percentage|share|proportion) of"
    r"|(?:change|increase|decrease|growth|decline)\b.*\b(?:from|between)|ratio|sum of",
    r"prozentuale\w*|verhältnis|anteil|summe"
    r"|(?:veränderung|zunahme|abnahme|anstieg|rückgang|wachstum)\b.*\b(?:von|zwischen)",
    r"(?:pourcentage|proportion|part) (?:de|du|des)|ratio|somme"
    r"|(?:variation|évolution|hausse|baisse)\b.*\b(?:de|du|entre)",
    r"(?:porcentaje|proporción) de|ratio|suma"
    r"|(?:variación|cambio|aumento|disminución)\b.*\b(?:de|entre)",
)
_COUNTS_OR_CHOOSES = (
    r"how (?:many|much)|number of|count of|total|in all(?=\W*$)|altogether|sum of|add(?:s|ed)? up|which"
    r"|what \w+s",
    r"wie ?viele?|anzahl|insgesamt|summe|gesamt\w*|welche[mnrs]?",
    r"combien|nombre (?:de|d['’])|total|en tout(?=\W*$)|somme|quel(?:le)?s?|lesquel(?:le)?s",
    r"cuánt[oa]s?|(?:el )?número de|total|suma|cu[aá]l(?:es)?|qué \w+s",
)


_COMPUTATIONS = (  # (what is asked for, what a sentence that states its result says)
    (
        r"\b(?:average|(?:the|arithmetic) mean|durchschnitt\w*|mittelwert|moyennes?|promedio"
        r"|la media)\b|平均",
        r"averag|\bmean\b|durchschnitt|mittel|moyen|promedi|\bmedi[ao]|平均",
    ),
    (
        r"\b(?:percentage|percent) (?:change|increase|decrease|growth)|\bprozentuale\w* \w+ung\b"
        r"|\b(?:variation|évolution) en pourcentage|\bvariación porcentual|变化百分比|[增减]长?率",
        r"[%％]|percent|prozent|pour ?cent|por ciento|百分",
    ),
    (
        r"\b(?:(?:change|increase|decrease|growth|decline)\b.*\b(?:from|between)"
        r"|(?:veränderung|zunahme|abnahme|anstieg|rückgang)\b.*\b(?:von|zwischen)"
        r"|(?:variation|hausse|baisse|variación|aumento|disminución)\b.*\b(?:de|entre))\b.*\b(?:19|20)\d\d",
        r"chang|increas|decreas|grew|grow|declin|\brose|\brise|fell|\bfall|drop|higher|lower|\bup\b|\bdown\b"
        r"|veränder|nahm|nehm|stieg|steig|sank|gesunken|wuchs|wachs|rückgang|vari|augment|diminu|baiss|hauss"
        r"|aument|disminu|crec",
    ),
    (
        r"\b(?:total|combined|altogether|insgesamt|gesamt\w*|total(?:e|es)?)\b.*\b(?:19|20)\d\d\b.*\b(?:19|20)\d\d",
        r"in total|\bsum|combined|altogether|together|insgesamt|zusammen|au total|en total",
    ),
    (r"\b(?:sum of|summe (?:von|der|aus)|somme d|suma de)", r"\bsum|total|summ|zusammen|somm|ensembl|junt"),
)
_RESULT = re.compile(r"(?<![\d.,])(?!(?:19|20)\d\d(?!\d|[.,]\d))\d")  # a number, but no year


def _pattern(phrases: tuple[str, ...], chinese: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b|{chinese}", re.IGNORECASE)


_ALL = _pattern(
    (*_COMPARES_ALL, *_COMPUTES_OF_SEVERAL),
    "最|平均|超过|[少多大小高低]于|之间|至[少多]|没有|不|无|除了|所有|全部|每|列出|排序|[之以][前后上下内]|更|变化|增长|占比|比[例率]|百分比",
)
_ASKED_AND_STATED = [
    (re.compile(asked, re.IGNORECASE), re.compile(stated, re.IGNORECASE)) for asked, stated in _COMPUTATIONS
]
_SOME = _pattern(_COUNTS_OR_CHOOSES, "多少|几|总|共|合计|哪")


def asks_over_rows(question: str) -> bool:
    """Whether only a comparison of all rows can answer, so that no row of them is an answer by itself. In
    five languages.

    >>> asks_over_rows("Which room has the most seats?"), asks_over_rows("When does the office open?")
    (True, False)
    """
    return _ALL.search(question) is not None


def may_ask_over_rows(question: str) -> bool:
    """Whether it asks over all rows unless it names one of them: "How many seats does Cedar have?" names one,
    "How many articles are there?" none. In five languages."""
    return _SOME.search(question) is not None


def lacks_result(question: str, sentence: str) -> bool:
    """Whether the question asks for a number that is computed of several, such as an average, and the
    sentence does not state one. In five languages.

    >>> lacks_result("What was the average rent in 2018 and 2019?", "The rent rose in 2019.")
    True
    >>> lacks_result("What was the average rent?", "The average rent was 900 euros.")
    False
    """
    found = [stated for asked, stated in _ASKED_AND_STATED if asked.search(question)]
    if not found:
        return False
    return not _RESULT.search(sentence) or not all(stated.search(sentence) for stated in found)
