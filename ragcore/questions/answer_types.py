"""What kind of thing a question asks for: a name, a date, a number, a reason, a telephone number, an address; and whether a
sentence holds one."""

from __future__ import annotations

import re

from ragcore.questions.definitions import asked_what_it_is, says_what_it_is

MUST_HOLD = frozenset({"telephone", "mail", "web"})
"""Kinds that have one form: a sentence without one is no answer, whatever it says of telephones."""

FACTS = frozenset({"name", "date", "number", "price", "frequency"}) | MUST_HOLD

_KINDS = {
    "advice": r"\bwhat (?:should|shall|must) [^?]{1,40}? do\b"
    r"|\bwhat (?:(?:do|can) (?:i|we|you)|to) do (?:if|when|after|before|in case|about)\b"
    r"|\bwas (?:soll|sollte|muss|kann) [^?]{1,40} (?:tun|machen)\b|\bwas (?:tue|mache) ich\b"
    r"|\bque (?:faire|dois-je faire|faut-il faire)\b|\bqu[eé] (?:debo|tengo que|hay que|puedo) hacer\b|(?:该|应该)怎么办",
    "frequency": r"\bhow (?:often|frequently)\b|\bwie oft\b|quelle fréquence|qué frecuencia|多久.{0,8}一次",
    "reason": r"\bwhy\b|\bwhat (?:caused?|made)\b|reasons?\b|\bwarum\b|\bwieso\b|pourquoi|por qu[eé]|为什么|为何",
    "price": r"\b(?:how much|what) (?:do|does|did|will|would) [^?]*\bcost\b|\bhow (?:much [^?]*\bcharge\b|expensive\b)"
    r"|\bhow much(?:['’]s| is| are| was| were| for) (?!(?:left|over|known|spent|paid|owed|due|lost|made|given|taken|sold|owing"
    r"|worth|more|less|too|there|of|in|at|on|to|\w+ed|\w+ing (?:of|in|for|by))\b)"
    r"(?!.*\b(?:(?:19|20)\d\d\b|percent))[^?]*(?<!ed)\W*$"  # of a year it is an amount
    r"|at what price|\bprice (?:of|for)\b|\b(?:was|wie ?viel) kosten?t?\b|\bwie teuer\b"
    r"|combien co[uû]te|\bprix (?:d|pour\b)|cu[aá]nto (?:cuesta|vale)|\bprecio de|多少钱|价格",
    "number": r"how (?:many|much|long|old|far|tall|large|big|high|fast|deep|wide|heavy)|at what (?:age|speed)"
    r"|wie ?viele?\b(?! uhr)|combien|cu[aá]nt[oa]s?|多少|几[个年次人]",
    "date": r"\bwhen\b|\bwhat times?\b(?! zone)|what (?:year|date|day|month|century|decade)|which (?:year|date|century|decade)"
    r"|\bwann\b|welche[mn]? (?:jahr|datum)|\bquand\b|quelle (?:ann[ée]e|date)|cu[aá]ndo|qu[eé] (?:a[nñ]o|fecha)"
    r"|wie ?viel uhr\b|quelle heure|qu[eé] hora|什么时候|何时|哪一?年|几点",
    "name": r"\bwho(?:m|se)?\b|\bwer\b|\bwe[mn]\b|\bqui\b|qui[eé]n(?:es)?\b|\bwhere\b|\bwo\b|\boù\b|d[oó]nde\b",
}
_ASKS = (
    r"^\W*(?:(?:what|which)(?:['’]s| is| are)?|give me|tell me|show me|find|wie (?:ist|lautet|lauten)|was ist|welche[rs]?"
    r"|quel(?:le)?s? (?:est|sont)|cu[aá]l(?:es)? (?:es|son)) "
)
_WHOSE = (  # a few words; with an article that names none, what such a thing is is asked
    r"(?:(?!(?:an?|about|on|for|of|to|with|when|if|in|do|does|is|are|eine?|über|ist|une?|est|una|es)\b)[^\s?]+ |l['’]){1,5}"
)
_OF_WHOM = r"(?=s? (?:(?:of|for|at|von|für|der|des|de|du|del|para|pour)\b\W*\w|d['’]\w|(?:do|can|should|must|to)\b))"
_MUST_HOLD = {
    "telephone": r"(?:(?:tele)?phone|mobile|cell|hotline|contact|customer service)[- ](?:number|line)|hotline"
    r"|(?:telefon|handy|ruf)nummer|num[ée]ro de t[ée]l[ée]phone|(?:n[úu]mero de )?tel[ée]fono"
    r"|(?<=['’]s )(?:phone|mobile|cell|landline)(?=\W*$)",
    "mail": r"e-?mail(?:[- ]address(?:es)?|-?adresse)?|adresse (?:e-?mail|mail|[ée]lectronique)"
    r"|(?:direcci[óo]n de )?(?:correo(?: electr[óo]nico)?|e-?mail)",
    "web": r"web ?site|web ?page|web address(?:es)?|url|home ?page|web(?:seite|adresse)|internetadresse|site (?:web|internet)"
    r"|(?:sitio|p[áa]gina) web",
}
_SOMEONES = r"(?:(?:the|our|my|your) (?:[^\s?]+ )?)?(?!(?:wh\w+|it|that)['’])[^\s?]+['’]s "
_ALONE = rf"^\W*(?:the |our |{_SOMEONES})?"
_OF_A_THING = (  # "service phone number?", but not "change email": without a question mark it may be told to do so
    r"^\W*(?:(?!(?:an?|my|no|new|lost|without|wh\w+|how|is|are|can|do|does|change|was|wie|qu\w*)\b)[^\s?]+ ){1,2}(?=.*\?)"
)
_MUST_I = r"(?:(?:do|can|could|should|shall|must|would) (?:i|we|you|one|they)|to)"
_SOLL_ICH = r"(?:soll|muss|kann|sollte)\w* (?:ich|wir|man) [^?]*\b"
_NUMBER_TO_CALL = (
    rf"\b(?:what|which) (number) {_MUST_I} (?:call|phone|ring|dial)\b"
    rf"|\bwelche (nummer) (?:rufe ich [^?]*\ban\b|{_SOLL_ICH}(?:anrufen|wählen)\b)"
)
_CALL = (
    rf"\bwhom? {_MUST_I} (call|phone|ring|telephone)\b|\bwen (?:(rufe) ich [^?]*\ban\b|{_SOLL_ICH}(anrufen)\b)"
    r"|\bqui (?:(?:dois-je|faut-il|puis-je|peut-on) )?(appeler)\b|\ba quién (?:(?:debo|puedo|hay que) )?(llam(?:ar|o))\b"
    rf"|(?:{_ASKS}|^\W*)(?:{_SOMEONES}(number)\W*$|(?:the )?(number) for\b)"
)
_CONTACT = (
    r"\bhow (?:do|can|could|should|would) (?:i|we|you|one|someone) (contact|reach|get in touch with|get hold of)\b"
    r"|\bwie (?:kann|könn\w+) (?:ich|wir|man) [^?]*\b(erreichen|kontaktieren)\b"
    r"|\bwie (erreiche|kontaktiere)n? (?:ich|wir|man)\b"
)
_CHINESE = {"telephone": r"(?:电话|手机)号?码?", "mail": r"(?:电子)?(?:邮箱|邮件)(?:地址)?", "web": r"(?:网址|网站)"}
_NUMBER = re.compile(
    r"\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|hundreds?|thousands?|millions?|billions?|half|third|quarter"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w+zehn|\w*(?:zwan|vier|fünf|sech|sieb|acht|neun)zig"
    r"|\w*dreißig|\w*hundert|\w*tausend|millionen|milliarden?|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|treize|quatorze"
    r"|quinze|seize|vingt|trente|quarante|cinquante|soixante|cents?|mille|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|trece"
    r"|catorce|quince|veinti?\w*|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien(?:to)?s?|mil)\b"
    r"|[一二三四五六七八九十百千万亿]",
    re.IGNORECASE,
)
_CODE = r"(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|INR|JPY|CNY|AUD|CAD)"
_PRICE = re.compile(
    rf"[€$£¥₹]\s?\d|\b(?:{_CODE}|kr|Rs)\b\.?\s?\d|\d\s?(?:[€$£¥₹元]|(?:{_CODE}|euros?|dollars?|pounds?|cents?|francs?|franken|kr"
    r"|kronor|kroner|zł(?:oty\w*)?|Kč|rupees?|yen|yuan|pesos?|pence|Rs)\b)|\b\d\d?p\b"
    r"|(?<![\d.,])\d{1,4}[.,]\d\d(?![\d%])|\b(?:(?:free|frei)(?=\W*$)|free of charge|for free|gratis|kostenlos|gratuit)|免费",
    re.IGNORECASE,
)
_SHORT_MONTH = r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Okt|Dez)"
_DATE = re.compile(
    r"\b1\d{3}s?\b|\b20\d\ds?\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre"
    r"|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
    rf"|\b(?:\d\d?(?:st|nd|rd|th)? {_SHORT_MONTH}\b|{_SHORT_MONTH}\.? \d\d?\b)"
    r"|\d+(?:[年月日点點]|[时時](?!間))|\b(?:\d+(?:st|nd|rd|th)|\w+(?:th|first|second|third)) century|century"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|\b(?:Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)s?\b"
    r"|\b\d\d?[:.]\d\d\b|\b\d\d? ?(?:[apAP]\.?[mM]\b|Uhr\b|heures?\b|h \d\d\b)|\b\d\d?h(?:\d\d)?\b"
    r"|\b(?:um|ab|bis) \w+ Uhr\b|o['’]clock\b|\b(?:noon|midnight|daily)\b"
    r"|\b(?:within|after|before|for|every) (?:\w+ ){1,3}(?:minutes|hours|days|weeks|months|years|day|week|month|year)\b"
    r"|\b(?:first|second|third|last|\d+(?:st|nd|rd|th)) (?:\w+ )?(?:day|week|month)\b",
)
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[^\W\d_a-zà-ÿ][\w'’-]+")
_REASON = re.compile(
    r"\b(?:because|since(?! \d)|due to|owing to|caused?|causing|so that|in order to|as a result"
    r"|result(?:s|ed|ing)? (?:of|in|from)|led to|leads? to|on account of|thanks to|reasons?|therefore|thus|for want of"
    r"|weil|wegen|da|damit|parce que|car(?= (?:ils?|elles?|nous|vous|je|ce|les?|la|une?|l['’]|c['’]))|à cause"
    r"|porque|debido)\b|因为|由于|因此|所以",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:should|must|shall|ought to|needs? to|ha(?:s|ve) to|(?:required|encouraged|advised|asked|expected|best) to|please"
    r"|recommend\w*|make sure|be sure|contact|report|call|notify|inform|tell|ask|seek|soll\w*|muss|müssen|bitte|doi(?:s|t|vent)"
    r"|il faut|veuillez|deb(?:e|en|es)|hay que|tiene[ns]? que)\b|应|必须|请",
    re.IGNORECASE,
)
_FREQUENCY = re.compile(
    r"\b(?:(?:bi-?|semi-?)?(?:annual|year|month|week|fortnight|hour|quarter)ly|daily|annual|every|each|once|twice|thrice|times"
    r"|per (?:year|month|week|day|hour|quarter)|always|never|rarely|regularly|jähr\w*|monatlich|wöchentlich|täglich|jede[nrs]?"
    r"|\w+mal|chaque|tou(?:s|tes) les|fois|cada|tod[ao]s l[ao]s|ve(?:z|ces)|diario|anual\w*|mensual\w*)\b|每|次",
    re.IGNORECASE,
)
_TELEPHONE = re.compile(
    r"(?<![\w.,$€£])(?!\d{4}-\d\d-\d\d\b|\d{4} ?[-–/] ?\d{4}\b|\d\d?[./-]\d\d?[./-](?:\d\d){1,2}\b)"  # dates
    r"\+?(?:\(?\d\)?[ ./–-]{0,2}){6,14}\d(?![\w%])"
    r"|\b1-8\d\d-[A-Z\d-]{5,}|\b(?:call|dial|ring|ext(?:ension)?|phone|telephone|tel\.?|durchwahl|telefon)\W{0,2}\d{3,6}\b",
    re.IGNORECASE,
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_WEB = re.compile(
    r"https?://|\bwww\.\w|(?<![@\w.-])(?:[a-z\d-]{2,}\.)+(?:com|org|net|edu|gov|info|eu|uk|de|fr|es|cn|io|at|ch)\b",
    re.IGNORECASE,
)
_CLOCK = r"(?<![\d.,])(?:[01]?\d|2[0-4])\.[0-5]\d(?![\d%])"
_EACH = rf"\s?(?:[€$£¥₹]|(?:{_CODE}|euros?|each|per|pro)\b)"
_RINGS = (
    r"\b(?:t[eé]l[eé](?:ph|f)\w*|phones?|tel|call|ring|dial|mobile|cell|\w*line|ext|fax|text|durchwahl|handy|\w*ruf\w*|appel\w*"
    r"|llam\w*)\b"
)
_NUMBERED = r"account|iban|isbn|issn|order|nhs|invoice|ref(?:erence)?|serial|vat"
_DIGITS = r"\d(?:[ ./–-]{0,2}\d){5,}(?!\w)"
_LONG = re.compile(
    rf"({_RINGS}(?:(?!\b(?:{_NUMBERED})\b)[^\d\n]){{0,25}}{_DIGITS})|\b(?:{_NUMBERED})\b\W{{1,3}}(?!0){_DIGITS}"
    rf"|\b(?:{_NUMBERED}|policy|customer|member(?:ship)?|case|ticket|registration|tracking|patient|article|passport|licen[cs]e"
    rf"|company|charity|tax|compte|commande|facture|cuenta|pedido|factura|konto|rechnungs|bestell|kunden|steuer)"
    rf"\W{{0,3}}(?:numbers?|nummer|no|nr|num[eé]ro|n°|id|code)\b(?:(?!{_RINGS})[^\d+(\n;]){{0,30}}{_DIGITS}"
    r"|\b[A-Z]{2}\d\d(?: ?[A-Z\d]{4}){3,7}(?: ?[A-Z\d]{1,3})?\b|(?<![\d.])\d{1,3}\.\d{4,}(?!\.?\d)"  # IBAN; degrees
    r"|(?<![\d+(./-])(?:[1-9]\d{0,2}(?:[ .]\d{3}){2,}(?= \w)|[1-9]\d?(?:[ .]\d{3}){2,}(?![\d-]))",
    re.IGNORECASE,
)
_OTHER = {  # what has a kind's form and is something else; what stands in a group is of the kind
    **dict.fromkeys(("telephone", "call", "contact"), _LONG),
    "price": re.compile(
        r"\b(?:at|until|till|by|before|after|times?|depart\w*|arriv\w*|leaves?|start\w*|begin\w*|open\w*|close\w*"
        rf"|um|ab|bis|gegen|beginn|abfahrt|ankunft|vers|à|las)\W{{1,2}}{_CLOCK}(?!{_EACH})"
        rf"|{_CLOCK} ?(?:[ap]\.?m\b|uhr\b|hrs?\b|h\b|o['’]clock)|{_CLOCK} ?(?:[-–]|to|bis|until) ?{_CLOCK}(?!{_EACH})",
        re.IGNORECASE,
    ),
}
_WHETHER = re.compile(
    r"^\W*(?!was (?:ist|sind|waren?|wird|werden|kann|darf|muss|soll|hat|haben|gilt|gehört|deckt|zahlt|ich|man|wir)\b)"
    r"(?:(?:is|are|was|were|am|do|does|did|can|could|may|might|must|should|shall|will|would|has|have|had)(?:n['’]t)?"
    r"|ist|sind|war|waren|kann|können|könnt|darf|dürfen|muss|müssen|soll|sollen|wird|werden|hat|haben|habe|gibt es|zahlt|gilt"
    r"|gelten|gehör(?:t|en)|deckt|est-ce que|(?:est|sont|a|peut|peux|puis|dois|doit)-\w+|y a-t-il"
    r"|(?:es|son|está|están|hay|puedo|puede|pueden|debo|debe|tiene|tengo|cubre|paga|incluye))(?= )|吗\W*$",
    re.IGNORECASE,
)
_ONLY_WHY = re.compile(
    r"^\W*(?:(?:and|but|und|aber|et|mais|y|pero) )?(?:why(?: (?:not|so|is (?:that|this|it)))?|how come"
    r"|(?:warum|wieso|weshalb)(?: (?:nicht|das|ist das so))?|pourquoi(?: (?:pas|ça|cela))?|por qué(?: no)?|为什么|为何)"
    r"\W*(?:\(.*\))?$",
    re.IGNORECASE,
)
_SHAPES = {
    "advice": _ADVICE,
    "frequency": _FREQUENCY,
    "reason": _REASON,
    "price": _PRICE,
    "number": _NUMBER,
    "date": _DATE,
    "name": _NAME,
    "telephone": _TELEPHONE,
    "call": _TELEPHONE,
    "mail": _MAIL,
    "web": _WEB,
    "contact": re.compile(f"{_TELEPHONE.pattern}|{_MAIL.pattern}|{_WEB.pattern}", re.IGNORECASE),
}
_ASKED = {
    kind: rf"{_ASKS}{_WHOSE}({said})(?:s?\W*$|{_OF_WHOM})|(?:{_ASKS}|^)({said}){_OF_WHOM}|{_ALONE}({said})s?\W*$"
    rf"|{_OF_A_THING}({said})s?\W*$|({_CHINESE[kind]})是(?:多少|什么)|^\W*({_CHINESE[kind]})\W*$"
    for kind, said in _MUST_HOLD.items()
}
_ASKED["telephone"] += f"|{_NUMBER_TO_CALL}"
_ASKED |= {"call": _CALL, "contact": _CONTACT}
_EXPECTED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in {**_ASKED, **_KINDS}.items()}


def expected_kind(question: str) -> str | None:
    """What an answer has to hold: a "name", "date", "number", "price", "frequency", "reason" or "telephone" number, a "mail" or
    "web" address, or one of the three, "contact", a telephone number or whose it is, "call", or "advice"; None where the
    question does not say."""
    return next((kind for kind, pattern in _EXPECTED.items() if pattern.search(question)), None)


def asks_whether(question: str) -> bool:
    """Whether it is answered by yes or no."""
    return _WHETHER.search(question) is not None


def asks_only_why(question: str) -> bool:
    """Whether it asks for the reason of what was said before, whose words may be in brackets: of that, what states none says
    nothing new."""
    return _ONLY_WHY.search(question) is not None


def words_for_it(question: str) -> str:
    """What the question calls the telephone number or address that it asks for: "phone number", or "reach" of "How do I reach
    the desk?"; "" where it asks for none."""
    found = next(filter(None, (_EXPECTED[kind].search(question) for kind in _ASKED)), None)
    return next(filter(None, found.groups())) if found else ""


def fits_kind(kind: str | None, sentence: str, question: str) -> bool:
    """Whether it holds what `kind` says, and the question does not hold itself."""
    return fitting(kind, sentence, question) > 0


def fitting(kind: str | None, sentence: str, question: str) -> int:
    """1 where it holds what is asked for, or says what the thing is of which that is asked; -1 where it holds none; 0 where
    nothing of a kind is asked for, or what may be told in any words."""
    if kind not in MUST_HOLD and says_what_it_is(asked_what_it_is(question), sentence):
        return 1
    if kind is None or (kind == "name" and sentence.lower() == sentence.upper()):
        return 0
    said = question.lower()
    told = _OTHER[kind].sub(_of_the_kind, sentence) if kind in _OTHER else sentence
    if any(found.lower() not in said for found in _SHAPES[kind].findall(told)):
        return 1
    if kind == "price":  # of which a table may say in another place in what money it is
        return min(fitting("number", sentence, question), 0)
    return 0 if kind in ("advice", "call", "contact") else -1


def _of_the_kind(found: re.Match[str]) -> str:
    return found[1] if found.lastindex else " "
