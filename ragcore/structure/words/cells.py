"""Words of questions about a few cells of a two-way table, and of their answers, in five languages.

The patterns of `operations` are tried in order, and what one fits is taken from the question. Those of
`pairs` have the names of two rows as `a` and `b`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

CellOperation: TypeAlias = Literal["percent", "change", "difference", "average", "sum", "share", "ratio"]


@dataclass(frozen=True, slots=True)
class CellWords:
    """`ignored`: words that name no row and no column. `sentences`: by operation; those of two rows have
    "of rows" behind it."""

    operations: tuple[tuple[CellOperation, str], ...]
    pairs: tuple[tuple[CellOperation, str], ...]
    ignored: str
    sentences: Mapping[str, str]

    def without_ignored(self, text: str) -> str:
        return re.sub(self.ignored, " ", text, flags=re.IGNORECASE)


_CHANGE = (
    r"(?:change|increase|decrease|growth|grow|decline|rise|drop|fall)[sd]?(?:\s*/\s*\(?\s*decrease\s*\)?)?"
)
ENGLISH = CellWords(
    operations=(
        (
            "percent",
            rf"(?:\bpercentage|\bpercent|%) (?:{_CHANGE}|difference)|\b{_CHANGE} (?:in|by) percent\b"
            r"|\bby (?:how many|what) (?:percent|percentage)\b",
        ),
        ("average", r"\b(?:average|mean)(?: of)?\b"),
        ("change", rf"\b(?:nominal |net )?{_CHANGE}"),
        ("difference", r"\b(?:nominal |net )?difference"),
        ("sum", r"\b(?:sum of|total(?: of)?|combined|altogether|in total)\b"),
    ),
    pairs=(
        (
            "share",
            r"(?:what|which) (?:percentage|percent|proportion|share) of (?P<b>.+?) (?:is|are|was|were"
            r"|com(?:es?|ing) from|came from|did|does) (?P<a>.+)",
        ),
        (
            "share",
            r".*(?:percentage|percent|proportion|share) (?:constitution )?of (?P<a>.+?) (?:in|out of"
            r"|over|among|to|on|as a (?:percentage|proportion|share) of) (?P<b>.+)",
        ),
        ("share", r"(?P<a>.+) as a (?:percentage|percent|proportion|share) of (?P<b>.+)"),
        ("ratio", r".*\bratio of (?P<a>.+) to (?P<b>.+)"),
        ("difference", r".*\bdifference (?:in .+ )?between (?P<a>.+?) and (?P<b>.+)"),
        ("sum", r".*\b(?:sum|total) of (?P<a>.+?) and (?P<b>.+)"),
    ),
    ignored=r"\b(?:amounts?|values?|numbers?|figures?|compan(?:y|ies)(?:['’]s)?|groups?['’]s|fiscal"
    r"|financial years?|years?|periods?|ended|ending"
    r"|end|total|(?:31|30|1) (?:december|march|june|september)|(?:december|march|june|september) (?:31"
    r"|30|29|28|1)\b,?|recorded|reported|annual|as compared|compared"
    r"|respective(?:ly)?|both|across|all|much|many|did|does|over|during|from|between|the)\b",
    sentences={
        "percent": "**{result}** is the percentage change in {row} from {first} to {last}.",
        "change": "**{result}** is the change in {row} from {first} to {last}.",
        "difference": "**{result}** is the difference in {row} between {first} and {last}.",
        "average": "**{result}** is the average of {row} for {columns}.",
        "sum": "**{result}** is the sum of {row} for {columns}.",
        "share of rows": "**{result}** is {first} as a percentage of {last}.",
        "ratio of rows": "**{result}** is the ratio of {first} to {last}.",
        "difference of rows": "**{result}** is the difference between {first} and {last}.",
        "sum of rows": "**{result}** is the sum of {first} and {last}.",
    },
)
_VERÄNDERUNG = r"(?:veränderung|änderung|zunahme|abnahme|anstieg|rückgang|wachstum)"
GERMAN = CellWords(
    operations=(
        (
            "percent",
            rf"\b(?:prozentualer? |prozentuales |relative[rs]? ){_VERÄNDERUNG}"
            rf"|\b{_VERÄNDERUNG} in prozent|\bum wie ?viel prozent\b",
        ),
        ("average", r"\b(?:(?:im )?durchschnitt(?:lich\w*)?|mittelwert)\b"),
        ("change", rf"\b{_VERÄNDERUNG}"),
        ("difference", r"\b(?:differenz|unterschied)"),
        ("sum", r"\b(?:summe|insgesamt|zusammen)\b"),
    ),
    pairs=(
        ("share", r".*(?:prozentsatz|anteil) (?P<a>.+?) (?:an|am|in) (?P<b>.+)"),
        ("ratio", r".*verhältnis (?:zwischen )?(?P<a>.+) (?:zu|zur|zum|und) (?P<b>.+)"),
        ("difference", r".*(?:differenz|unterschied) zwischen (?P<a>.+?) und (?P<b>.+)"),
        ("sum", r".*summe (?:aus |von )(?P<a>.+?) und (?P<b>.+)"),
    ),
    ignored=r"\b(?:beträge?|betrags?|werte?s?|anzahl|zahl|geschäftsjahr\w*|jahr\w*|zeitraum\w*|ende"
    r"|gesamt|31\. dezember|30\. juni|gestiegen"
    r"|gesunken|gewachsen|der|die|das|des|dem|den|ist|war|waren|wie|groß|hoch|viel|prozent)\b",
    sentences={
        "percent": "**{result}** ist die prozentuale Veränderung von {row} von {first} auf {last}.",
        "change": "**{result}** ist die Veränderung von {row} von {first} auf {last}.",
        "difference": "**{result}** ist der Unterschied bei {row} zwischen {first} und {last}.",
        "average": "**{result}** ist der Durchschnitt von {row} für {columns}.",
        "sum": "**{result}** ist die Summe von {row} für {columns}.",
        "share of rows": "**{result}** ist der Anteil von {first} an {last}.",
        "ratio of rows": "**{result}** ist das Verhältnis von {first} zu {last}.",
        "difference of rows": "**{result}** ist der Unterschied zwischen {first} und {last}.",
        "sum of rows": "**{result}** ist die Summe von {first} und {last}.",
    },
)
_ÉVOLUTION = r"(?:variation|évolution|hausse|baisse|augmentation|diminution|croissance)"
FRENCH = CellWords(
    operations=(
        (
            "percent",
            rf"\b{_ÉVOLUTION} (?:en pourcentage|en %|relative)|\bpourcentage (?:de |d['’]){_ÉVOLUTION}"
            rf"|\bde quel pourcentage\b",
        ),
        ("average", r"\b(?:la )?(?:moyenne|en moyenne|valeur moyenne)\b"),
        ("change", rf"\b{_ÉVOLUTION}"),
        ("difference", r"\b(?:différence|écart)"),
        ("sum", r"\b(?:somme|total(?:e|es)?|au total)\b"),
    ),
    pairs=(
        (
            "share",
            r".*(?:pourcentage|part|proportion) (?:de |du |des |d['’])(?P<a>.+?) (?:dans|sur"
            r"|par rapport à) (?P<b>.+)",
        ),
        ("ratio", r".*(?:rapport|ratio) (?:de |du |des |entre )(?P<a>.+?) (?:à|aux?|et|sur) (?P<b>.+)"),
        ("difference", r".*(?:différence|écart) entre (?P<a>.+?) et (?P<b>.+)"),
        ("sum", r".*somme (?:de |du |des )(?P<a>.+?) et (?P<b>.+)"),
    ),
    ignored=r"\b(?:montants?|valeurs?|nombres?|exercices?|années?|périodes?|fin|31 décembre|30 juin"
    r"|quelle?s?|est|était|ont?|été)\b"
    r"|\b[ldnsq]['’]",
    sentences={
        "percent": "**{result}** : variation en pourcentage de {row}, de {first} à {last}.",
        "change": "**{result}** : variation de {row}, de {first} à {last}.",
        "difference": "**{result}** : différence de {row} entre {first} et {last}.",
        "average": "**{result}** : moyenne de {row} pour {columns}.",
        "sum": "**{result}** : somme de {row} pour {columns}.",
        "share of rows": "**{result}** : part de {first} dans {last}.",
        "ratio of rows": "**{result}** : rapport de {first} à {last}.",
        "difference of rows": "**{result}** : différence entre {first} et {last}.",
        "sum of rows": "**{result}** : somme de {first} et de {last}.",
    },
)
_VARIACIÓN = r"(?:variación|cambio|aumento|incremento|disminución|descenso|crecimiento)"
SPANISH = CellWords(
    operations=(
        (
            "percent",
            rf"\b{_VARIACIÓN} (?:porcentual|en porcentaje|relativ[ao])|\bporcentaje de {_VARIACIÓN}"
            rf"|\ben qué porcentaje\b",
        ),
        ("average", r"\b(?:promedio|media|valor medio)\b"),
        ("change", rf"\b{_VARIACIÓN}"),
        ("difference", r"\bdiferencia"),
        ("sum", r"\b(?:suma|total(?:es)?|en total)\b"),
    ),
    pairs=(
        ("share", r".*(?:porcentaje|proporción) (?:de |del )(?P<a>.+?) (?:en|sobre|respecto al?) (?P<b>.+)"),
        ("ratio", r".*(?:relación|ratio|razón) (?:de |del |entre )(?P<a>.+?) (?:a|y|sobre) (?P<b>.+)"),
        ("difference", r".*diferencia entre (?P<a>.+?) y (?P<b>.+)"),
        ("sum", r".*suma (?:de |del )(?P<a>.+?) y (?P<b>.+)"),
    ),
    ignored=r"\b(?:importes?|valor(?:es)?|números?|ejercicios?|años?|periodos?|períodos?|finales"
    r"|31 de diciembre|30 de junio|cuál|cuánto|fue|es)\b",
    sentences={
        "percent": "**{result}** es la variación porcentual de {row}, de {first} a {last}.",
        "change": "**{result}** es la variación de {row}, de {first} a {last}.",
        "difference": "**{result}** es la diferencia de {row} entre {first} y {last}.",
        "average": "**{result}** es la media de {row} para {columns}.",
        "sum": "**{result}** es la suma de {row} para {columns}.",
        "share of rows": "**{result}** es el porcentaje que {first} representa de {last}.",
        "ratio of rows": "**{result}** es la relación entre {first} y {last}.",
        "difference of rows": "**{result}** es la diferencia entre {first} y {last}.",
        "sum of rows": "**{result}** es la suma de {first} y {last}.",
    },
)
_变化 = "(?:变化|变动|增长|增加|减少|下降|上升)"
CHINESE = CellWords(
    operations=(
        ("percent", rf"{_变化}(?:的)?(?:百分比|百分之几|率|幅度)|(?:百分比|百分之多少的?){_变化}"),
        ("average", "平均(?:值|数)?"),
        ("change", rf"{_变化}(?:额|量|值)?"),
        ("difference", "差额|差异|差值|相差"),
        ("sum", "总和|合计|总计|一共"),
    ),
    pairs=(
        ("share", r"(?P<a>.+)占(?P<b>.+?)的(?:百分比|比例|比重|百分之几|多少).*"),
        ("ratio", r"(?P<a>.+)[与和](?P<b>.+?)的(?:比率|比例|比值|比).*"),
        ("difference", r"(?P<a>.+)[与和](?P<b>.+?)(?:的差额|的差异|的差值|的差|相差).*"),
        ("sum", r"(?P<a>.+)[与和](?P<b>.+?)的(?:总和|合计).*"),
    ),
    ignored=r"多少|什么|期间|之间|年度|财年|数额|年|[从到至的是在了中为和与，?？]",
    sentences={
        "percent": "**{result}** 是 {row} 从 {first} 到 {last} 的变化百分比。",
        "change": "**{result}** 是 {row} 从 {first} 到 {last} 的变化。",
        "difference": "**{result}** 是 {row} 在 {first} 与 {last} 之间的差额。",
        "average": "**{result}** 是 {row} 在 {columns} 的平均值。",
        "sum": "**{result}** 是 {row} 在 {columns} 的合计。",
        "share of rows": "**{result}** 是 {first} 占 {last} 的百分比。",
        "ratio of rows": "**{result}** 是 {first} 与 {last} 的比率。",
        "difference of rows": "**{result}** 是 {first} 与 {last} 的差额。",
        "sum of rows": "**{result}** 是 {first} 与 {last} 的合计。",
    },
)
CELL_WORDS = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH, "zh": CHINESE}
