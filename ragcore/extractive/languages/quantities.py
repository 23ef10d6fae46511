"""Questions for a number, a date, a time or a total, and texts that have one, in five languages."""

from __future__ import annotations

import re

_ASKING = (
    r"how (?:many|much|old|long|high|tall|far|often|large|big|deep|heavy|wide|fast|late|early|soon)"
    r"|when|costs?|price|(?:what|which) (?:time|year|date|days?|month|number|amount|age|percent\w*)",
    r"wann|wie ?viele?|wie (?:hoch|lange?|oft|alt|weit|groß|schwer|teuer|spät|breit|tief|schnell)|kostet"
    r"|welche[mnrs]? (?:jahr|tage?|datum|uhrzeit|monat)",
    r"quand|combien|quel(?:le)?s? (?:jours?|heures?|date|année|mois|âge|prix|montant)",
    r"cuándo|cuánt[oa]s?|qué (?:días?|hora|fecha|año|mes|precio)",
)
_NUMBERS = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|million"
    r"|twice|half|daily|weekly"
    r"|monthly|yearly|always|never|\w{3,6}day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december",
    r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|täglich|immer|nie"
    r"|\w{3,7}tags?|mittwochs?|januar|februar|märz|mai|juni|juli|oktober|dezember",
    r"deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|vingt|cent|mille|toujours|jamais|lundi"
    r"|mardi|mercredi|jeudi"
    r"|vendredi|samedi|dimanche|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre"
    r"|décembre",
    r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|veinte|cien|mil|siempre|nunca|lunes"
    r"|martes|miércoles|jueves"
    r"|viernes|sábado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre"
    r"|noviembre|diciembre",
)
_ASKING_TOTAL = (
    r"in total|altogether|in all(?=\W*$)|add(?:s|ed)? up|sum of|(?:the|a|our|my) (?:\w+ )?total"
    r"|total (?:amount|costs?|price|rent|fees?|number|sum)",
    (
        r"insgesamt|zusammen(?=\W*$)|alles in allem|in summe|die \w*summe|gesamt(?:kosten|betrag|preis"
        r"|summe|miete|zahl)\w*"
    ),
    r"au total|en tout(?=\W*$)|somme (?:totale|des)|(?:le|prix|coût|montant|nombre) total",
    r"en total|en conjunto|la suma|(?:el|precio|coste|costo|importe|número) total",
)
_TOTALS = (
    r"totals?|sums?|altogether|in all|insgesamt|\w*summen?|gesamt\w*|zusammen|totale?s?|totaux|somme"
    r"|en tout|suman?"
)
_ASKS_TOTAL = re.compile(
    rf"\b(?:{'|'.join(_ASKING_TOTAL)})\b|[总一]共|合计|总[计额和]|加起来|共(?:多少|几)", re.IGNORECASE
)
_TOTAL = re.compile(rf"\b(?:{_TOTALS})\b|[总一]共|合计|总[计额和]|共计", re.IGNORECASE)
_FIGURE = re.compile(r"(?<!\[)\d+(?:[.,:]\d+)*")  # no citation
_ASKS = re.compile(
    rf"\b(?:{'|'.join(_ASKING)})\b|多少|几|多(?:长|久|大|高|远|重)|何时|什么时候|哪(?:一?[天年])",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_NUMBERS)})\b|[一二两三四五六七八九十百千万]", re.IGNORECASE)


def lacks_number(question: str, text: str) -> bool:
    """Whether the question asks for a number, a date or a time, and the text has only those of the question.

    >>> lacks_number("How many rooms are there in 27 Wharf Lane?", "The flat at 27 Wharf Lane has a terrace.")
    True
    """
    return _ASKS.search(question) is not None and _numbers(text) <= _numbers(question)


def lacks_total(question: str, text: str) -> bool:
    """Whether the question asks for a total, and the text has several numbers but names none of them as the
    total.

    >>> lacks_total("How much do we pay in all?", "The rent is 900 euros. [1] Heating is 85 euros. [1]")
    True
    """
    if _ASKS_TOTAL.search(question) is None or _TOTAL.search(text) is not None:
        return False
    return len({*_FIGURE.findall(text)} - {*_FIGURE.findall(question)}) > 1


def _numbers(text: str) -> set[str]:
    return {number.lower() for number in _NUMBER.findall(text)}
