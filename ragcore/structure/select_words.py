"""The words by which a question says what is computed, in five languages, for the check of a SELECT."""

from __future__ import annotations

import re

from ragcore.structure.words.languages import VOCABULARIES


def _pattern(words: str, chinese: str = "(?!)") -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b|{chinese}", re.IGNORECASE)


COUNTS = _pattern(
    r"how many|number of|count of|wie ?viele|anzahl|combien d\S+|nombre de|cu[aá]nt[oa]s|número de", "多少|几"
)
SUMS = _pattern(
    r"total|sum|together|altogether|in all|overall|combined|how much|how many|insgesamt|gesamt\w*|zusammen"
    r"|summe|wie ?viel\w*|en tout|somme|combien|suma|en total|cuánt[oa]s?",
    "总|共|合计|一共|多少|几",
)
SUMS_SURELY = _pattern(
    r"in total|total of|sum of|altogether|in all|together|insgesamt|zusammen|summe|en tout|somme|suma",
    "总共|合计|一共",
)
AVERAGES = _pattern(r"averages?|mean|durchschnitt\w*|mittelwert|moyennes?|promedio|media|on average", "平均")
DIFFERENCES = _pattern(
    r"difference|by how (?:much|many)|how (?:much|many) (?:more|less|fewer)|how (?:much|many)\b.*"
    r"\b(?:rise|rose|fall|fell|increase|decrease|grow|grew|change)d?|unterschied|differenz"
    r"|wie ?viel\w* mehr|différence"
    r"|combien de plus|diferencia|cuánt[oa]s? más",
    "相差|差多少|多多少",
)
GROUPS = _pattern(
    r"each|every|per|by (?:month|year|quarter|week|day|\w+ and \w+)|for all|pro|jede[mnrs]?|je|chaque|par"
    r"|cada|por",
    "每|各",
)
NEGATIONS = _pattern(
    r"no|not|without|except|never|none|neither|nor|other than|excluding|\w+n['’]t|nicht|ohne|kein\w*"
    r"|außer|nie|sans|pas|aucun\w*|sauf|jamais|sin|nunca|ningún|ninguna?|excepto|salvo",
    "没|不|无|除",
)
ABOVE = _pattern(
    r"(?:more|greater|higher|larger|longer|heavier|older|later|bigger|taller) (?:\w+ )?than|over|above"
    r"|exceed\w*|after|mehr als|über|größer als|höher als|nach|plus (?:de|que)|après|más de|mayor que"
    r"|después",
    "[多大高]于|超过|以上|之后",
)
FROM = _pattern(
    r"at least|or more|since|from|between|minimum of|mindestens|seit|ab|zwischen|von|au moins|depuis|entre"
    r"|al menos|desde",
    "至少|不少于|之间|自从",
)
BELOW = _pattern(
    r"(?:less|fewer|lower|smaller|cheaper|shorter|lighter|younger|earlier) (?:\w+ )?than|under|below|before"
    r"|weniger als|unter|kleiner als|niedriger als|vor|moins (?:de|que)|avant|menos de|menor que|antes",
    "[少小低]于|以下|之前",
)
UP_TO = _pattern(
    r"at most|up to|or less|or fewer|until|between|to|maximum of|höchstens|bis|zwischen|au plus|jusqu\S+"
    r"|entre|como máximo|hasta",
    "至多|不超过|之间",
)
HIGHEST = _pattern(
    r"most|highest|largest|biggest|greatest|maximum|max|longest|heaviest|tallest|latest|last|newest|top|best"
    r"|meisten|höchste\w*|größte\w*|längste\w*|schwerste\w*|teuerste\w*|letzte\w*|neu\w?este\w*|maximal\w*"
    r"|le plus|la plus|les plus|dernière?s?|plus grande?s?|más|mayor|últim[oa]s?|máxim[oa]s?",
    "最多|最高|最大|最长|最重|最贵|最新|最后|最晚",
)
LOWEST = _pattern(
    r"least|fewest|lowest|smallest|minimum|min|shortest|lightest|cheapest|earliest|first"
    r"|wenigsten|niedrigste\w*|kleinste\w*|kürzeste\w*|leichteste\w*|billigste\w*|günstigste\w*|erste\w*"
    r"|le moins|la moins|les moins|premi\w+|plus petite?s?|menos|menor|primer\w*|mínim[oa]s?",
    "最少|最低|最小|最短|最轻|最便宜|最早|第一",
)
OLDEST = _pattern(r"oldest|älteste\w*|le plus vieux|la plus ancienne|más antigu[oa]s?", "最老|最古老")
LIMITS = re.compile(rf"{'|'.join(pattern.pattern for pattern in (UP_TO, FROM))}", re.IGNORECASE)
DERIVED = {
    "spent": _pattern(
        r"spen[dt]\w*|pay|pays|paid|payments?|costs?|expenses?|expensive|ausg\w+|bezahl\w*|gezahlt|kost\w+"
        r"|dépens\w+|pay[eé]\w*|coût\w*|gast\w+|pag\w+|cuest\w+",
        "花|付|支出",
    ),
    "received": _pattern(
        r"receiv\w+|income|earn\w*|einnahm\w+|verdien\w+|bekommen|reç\w+|gagn\w+|recib\w+|ingres\w+",
        "收入|收到|赚",
    ),
}
"""By the name of a column of `SQLTable`."""
OF_MONEY = _pattern(
    r"costs?|pay|paid|expensive|cheap\w*|kost\w+|teuer\w*|billig\w*|günstig\w*|coût\w*|ch[eè]re?s?|cuest\w+"
    r"|car[oa]s?|barat[oa]s?",
    "贵|便宜|花费",
)
OF_WEIGHT = _pattern(
    r"weighs?|heav\w+|light\w*|wieg\w+|schwer\w*|leicht\w*|p[eè]se\w*|lourde?s?|légère?s?|pesa\w*", "重|轻"
)
OF_LENGTH = _pattern(r"long\w*|short\w*|l[aä]ng\w*|kurz\w*|kürz\w*|courte?s?|larg[oa]s?|cort[oa]s?", "长|短")
OF_HEIGHT = _pattern(r"high\w*|tall\w*|hoch|höch\w*|haute?s?|alt[oa]s?", "高")
TIMES = _pattern(
    r"(?:19|20)\d\d|oldest|newest|earliest|latest|most recent|first|last|when|älteste\w*|neu\w?este\w*"
    r"|erste\w*|letzte\w*|wann|premi\w+|dernière?s?|récent\w*|quand|primer\w*|últim[oa]s?|cuándo",
    r"(?:19|20)\d\d|最早|最新|最后|第一|何时|什么时候",
)
UP_TO_DAY = _pattern(r"end of|as of|by the end|until|ende|fin de|finales de|à la fin", "底|末|截至")
NUMBERS = {
    word: number for vocabulary in VOCABULARIES for number, word in enumerate(vocabulary.numbers.split(), 2)
}
MONTHS = {month: number for vocabulary in VOCABULARIES for month, number in vocabulary.month_numbers.items()}
