"""Whether a text is one whole sentence of prose, and no line of a menu, a heading, a caption or a table.

The rules are about form: a sentence begins and ends as one, has a verb and enough small words, and hardly any
codes, numbers or capitals. In doubt a text is no prose. For English, German, French, Spanish and Chinese.
"""

from __future__ import annotations

import re

from ragcore.text.keywords import STOP_WORDS
from ragcore.text.language import SMALL_WORDS, language_of
from ragcore.text.sentences import sentences

MIN_WORDS = 5  # of a statement; a question has at least MIN_QUESTION_WORDS
MIN_QUESTION_WORDS = 3
MAX_WORDS = 60
MIN_SMALL_SHARE = 0.25  # of small words among all words
MAX_ODD_SHARE = 0.2  # of numbers, codes and words in capitals
MAX_CAPITAL_SHARE = {"de": 0.6}  # of words with a capital after the first one; German nouns have one
USUAL_CAPITAL_SHARE = 0.45
MIN_CHINESE = 8  # characters of a statement; a question has at least MIN_CHINESE_QUESTION
MIN_CHINESE_QUESTION = 5

_END = re.compile(r"[.!?。！？][\"'”’»)\]]*$")
_BEGINNING = re.compile(r"[\"'“„«(¿¡]*[A-ZÄÖÜÀ-ÞŒ\d\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
# Marks of menus, buttons, forms and tables of contents, several dots, and text in columns.
_LAYOUT = re.compile(
    r"[|•·<>{}\\\[\]_=→►▶»›©®™…]|\.{2}|\t| {3}|\s[-–—]\s.*\s[-–—]\s.*\s[-–—]\s|[;:/].*[;:/].*[;:/]"
)
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)|tab(?:le|elle|leau|la|\.)|abb(?:ildung|\.)|bild|foto|photo|picture|image|chart|box|map|plate"
    r"|ilustración|gráfico|source|quelle|fuente|图|表|照片)\s*\.?\s*(?:\d|[IVX]+\b|[A-Z]\b|:|：|\()",
    re.IGNORECASE,
)
# A word that begins a sentence or a heading, inside a sentence: two texts were joined.
_JOINED = {
    "en": re.compile(
        r"(?<=[a-z\d] )(?:The(?! [A-Z])|This|These|Those|Our|We|It|There|If|When|Please|You|Your)\b"
    ),
    "de": re.compile(r"(?<=[a-zäöüß\d] )(?:Der|Das|Dies\w*|Wir|Unser\w*|Wenn|Bitte|Es|Ein|Eine)\b"),
    "fr": re.compile(r"(?<=[a-zà-ÿ\d] )(?:Nous|Vous|Notre|Cette|Ces|Il|Elle|Si|Veuillez)\b"),
    "es": re.compile(r"(?<=[a-zà-ÿ\d] )(?:Nosotros|Nuestr[ao]s?|Est[aeo]s?|Si|Cuando|Por)\b"),
}
_VERBS = {
    "en": (
        r"is|are|was|were|be|been|am|isn't|aren't|wasn't|has|have|had|does|do|did|doesn't|don't|didn't|can|cannot"
        r"|can't|could|will|won't|would|shall|should|must|may|might|became?|begins?|began|came|comes?|cost|costs|fell"
        r"|gave|gives?|goes|went|held|holds?|keeps?|kept|leaves?|left|lies|lost|made|makes?|means?|meant|met|needs?"
        r"|paid|pays?|ran|runs?|said|says?|sees?|saw|sells?|sold|sends?|sent|sets?|shows?|stands?|stood|takes?|took"
        r"|tells?|told|thinks?|thought|wants?|won|wins?|wrote|writes?|built|bought|broke|brought|drove|found|got|grew"
        r"|knew|knows?|led|leads?|rose|spent|spoke|covers?|includes?|contains?|offers?|provides?|requires?|protects?"
        r"|consists?|depends?|refers?|causes?|opens?|closes?|starts?|ends?|lasts?|weighs?|uses?|allows?|lives?"
        r"|believes?|burns?|\w{3,}ed"
    ),
    "de": (
        r"ist|sind|war|waren|wird|werden|wurden?|hat|haben|hatten?|kann|können|konnten?|darf|dürfen|muss|müssen"
        r"|musste[nst]?|soll|sollen|sollte[nst]?|will|wollen|wollte[nst]?|mag|möchte[nst]?|gibt|gab|geht|ging|gilt"
        r"|gelten|kommt|kam|kamen|kostet|kosten|liegt|lag|macht|steht|stand|bleibt|blieb|beginnt|begann|endet|heißt"
        r"|umfasst|enthält|bietet|erfordert|zeigt|zahlt|trägt|nimmt|nahm|sagt|sagte[nst]?|findet|fand|braucht|führt"
        r"|führte[nst]?|dient|erhält|besteht|dauert|\w{3,}(?:iert|ierte|ieren|elt|igt|tet|tete)"
    ),
    "fr": (
        r"est|sont|était|étaient|sera|seront|fut|furent|a|ont|avait|avaient|aura|auront|peut|peuvent|pouvait|pourra"
        r"|doit|doivent|devait|devra|devront|faut|fait|font|va|vont|vient|prend|prennent|reste|donne|permet|comprend"
        r"|contient|couvre|coûte|dure|commence|trouve|dit|décide|propose|[a-zà-ÿ]{3,}(?:ait|aient|èrent|era|eront|ent)"
        r"|[a-zà-ÿ]+-(?:t-)?(?:ils?|elles?|on|je|nous|vous|ce)|ai|avons|avez|puis|pouvez|devez|suis|sommes|êtes|(?:d|n|l|s|qu|c|j)['’](?:est|a|ont|était|ai)"
    ),
    "es": (
        r"es|son|era|eran|fue|fueron|será|serán|está|están|estaba|ha|han|había|habían|hay|tiene|tienen|tenía|puede"
        r"|pueden|podrá|debe|deben|deberá|hace|hacen|va|van|viene|cuesta|dura|incluye|contiene|cubre|ofrece|empieza"
        r"|comienza|termina|abre|cierra|dijo|dio|hizo|vive|[a-zà-ÿ]{3,}(?:ó|aron|ieron|aba|aban|ían?|ará|erá|irá"
        r"|arán|erán|irán)|puedo|debo|tengo|soy|estoy"
    ),
}
_HAS_VERB = {
    language: re.compile(rf"(?<![\w'’-])(?:{verbs})(?![\w'’-])", re.IGNORECASE)
    for language, verbs in _VERBS.items()
}
_CHINESE_VERB = re.compile(
    r"[是在有会能应需须将被由为属位含]|可以|不得|必须|包括|提供|建于|成立|举行|规定|要求|位于"
)
_CHINESE_SMALL = re.compile(r"[的了着过和与及或在于对从把被就都也不是其之这那个]")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ASKS = {
    "en": re.compile(
        r"(?:who|whom|whose|what|when|where|why|how|which|in what|in which|can|could|may|must|do|does|did|is"
        r"|are|was|were|will|would|should|has|have|if|at what|for how|to whom|by when)\b",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"(?:w(?:er|en|em|essen|as|ann|o|arum|ie|ieso|eshalb|oher|ohin|elche[rsmn]?|omit|ofür)"
        r"|kann|können|darf|dürfen|muss|müssen|soll|sollen|ist|sind|war|hat|haben|gibt|wird|werden"
        r"|in welche[rmn]|bis wann|ab wann|seit wann)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"(?:qui|que|qu['’]|quoi|quand|où|pourquoi|comment|combien|quel(?:le)?s?|est-ce|peut-on|puis-je|dois-je|faut-il"
        r"|y a-t-il|à qui|à quel|de quoi|dans quel|jusqu['’]à quand)",
        re.IGNORECASE,
    ),
    "es": re.compile(r"¿"),
    "zh": re.compile(r".*(?:什么|谁|何|哪|怎|为什么|多少|几|吗|是否|能否|如何)"),
}
_QUESTION = re.compile(r"[?？؟][\"'”’»)\]]*$")


def is_prose(text: str, language: str = "") -> bool:
    """Whether it is one whole sentence: a statement, or a question that a person would ask. `language`: of
    its document, if it is known.

    >>> is_prose("The tower was built in 1871 by Ada."), is_prose("F1 F2 F3 Reset filter sign?")
    (True, False)
    """
    text = " ".join(text.split())
    if not _END.search(text) or not _BEGINNING.match(text) or _LAYOUT.search(text) or _CAPTION.match(text):
        return False
    if len(sentences(text)) != 1:
        return False
    language = language or language_of(text)
    asks = _QUESTION.search(text) is not None
    if asks and (language not in _ASKS or not _ASKS[language].match(text)):
        return False
    if language == "zh":
        return _is_chinese_prose(text, asks=asks)
    return language in _HAS_VERB and _is_spaced_prose(text, language, asks=asks)


def _is_spaced_prose(text: str, language: str, *, asks: bool) -> bool:
    words = _WORD.findall(text)
    if not (MIN_QUESTION_WORDS if asks else MIN_WORDS) <= len(words) <= MAX_WORDS:
        return False
    if not _HAS_VERB[language].search(text) or _JOINED[language].search(text):
        return False
    small = SMALL_WORDS[language] | STOP_WORDS
    small_share = sum(word.lower() in small for word in words) / len(words)
    odd_share = sum(_is_odd(word) for word in words) / len(words)
    capital_share = sum(word[0].isupper() for word in words[1:]) / len(words)
    return (
        small_share >= MIN_SMALL_SHARE
        and odd_share <= MAX_ODD_SHARE
        and capital_share <= MAX_CAPITAL_SHARE.get(language, USUAL_CAPITAL_SHARE)
    )


def _is_odd(word: str) -> bool:
    """Whether it is a number, a code such as "F1", or a word in capitals."""
    return any(char.isdigit() for char in word) or (len(word) > 1 and word.isupper())


def _is_chinese_prose(text: str, *, asks: bool) -> bool:
    characters = len(_CHINESE.findall(text))
    return (
        characters >= (MIN_CHINESE_QUESTION if asks else MIN_CHINESE)
        and 2 * characters >= len(text)
        and text.count(" ") <= 1  # the items of a menu have spaces between them
        and _CHINESE_SMALL.search(text) is not None
        and (asks or _CHINESE_VERB.search(text) is not None)
    )
