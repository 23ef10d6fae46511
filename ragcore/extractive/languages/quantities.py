"""Questions for a number, a date or a time, and texts that have one, in five languages."""

from __future__ import annotations

import re

_ASKING = (
    r"how (?:many|much|old|long|high|tall|far|often|large|big|deep|heavy|wide|fast|late|early|soon)|when|costs?|price"
    r"|(?:what|which) (?:time|year|date|days?|month|number|amount|age|percent\w*)",
    r"wann|wie ?viele?|wie (?:hoch|lange?|oft|alt|weit|groß|schwer|teuer|spät|breit|tief|schnell)|kostet"
    r"|welche[mnrs]? (?:jahr|tage?|datum|uhrzeit|monat)",
    r"quand|combien|quel(?:le)?s? (?:jours?|heures?|date|année|mois|âge|prix|montant)",
    r"cuándo|cuánt[oa]s?|qué (?:días?|hora|fecha|año|mes|precio)",
)
_NUMBERS = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|million|twice|half|daily|weekly"
    r"|monthly|yearly|always|never|\w{3,6}day|january|february|march|april|may|june|july|august|september|october|november"
    r"|december",
    r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|täglich|immer|nie|\w{3,7}tags?|mittwochs?"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember",
    r"deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|vingt|cent|mille|toujours|jamais|lundi|mardi|mercredi|jeudi"
    r"|vendredi|samedi|dimanche|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre",
    r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|veinte|cien|mil|siempre|nunca|lunes|martes|miércoles|jueves"
    r"|viernes|sábado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre",
)
_ASKS = re.compile(rf"\b(?:{'|'.join(_ASKING)})\b|多少|几|多(?:长|久|大|高|远|重)|何时|什么时候|哪(?:一?[天年])", re.IGNORECASE)
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_NUMBERS)})\b|[一二两三四五六七八九十百千万]", re.IGNORECASE)


def lacks_number(question: str, text: str) -> bool:
    """Whether the question asks for a number, a date or a time, and the text has only those of the question.

    >>> lacks_number("How many rooms are there in 27 Wharf Lane?", "The flat at 27 Wharf Lane has a terrace.")
    True
    """
    return _ASKS.search(question) is not None and _numbers(text) <= _numbers(question)


def _numbers(text: str) -> set[str]:
    return {number.lower() for number in _NUMBER.findall(text)}
