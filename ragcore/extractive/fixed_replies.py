"""The replies without an answer, in the language of the question. Recognises them in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragcore.schema import Outcome
from ragcore.text.keywords import content_words, words
from ragcore.text.language import SMALL_WORDS, language_of

Wordings = Mapping[str, str]  # by ISO 639-1 code

MAX_PLACES = 3  # of closest passages

CLOSEST: Wordings = {
    "en": "Closest passages:",
    "de": "Ähnlichste Passagen:",
    "es": "Pasajes más cercanos:",
    "fr": "Passages les plus proches :",
    "zh": "最接近的段落：",
}
NOTHING_FOUND: Wordings = {
    "en": "I found nothing about this in your documents.",
    "de": "Ich habe in Ihren Dokumenten nichts dazu gefunden.",
    "es": "No he encontrado nada sobre esto en sus documentos.",
    "fr": "Je n’ai rien trouvé à ce sujet dans vos documents.",
    "zh": "我在您的文档中没有找到任何相关内容。",
}
LOOKED_FOR: Wordings = {
    "en": "I looked for: {words}.",
    "de": "Gesucht habe ich nach: {words}.",
    "es": "He buscado: {words}.",
    "fr": "J’ai cherché : {words}.",
    "zh": "我查找的内容：{words}。",
}
NO_MODEL: Wordings = {
    "en": "Without a language model I can only quote your documents, and this mode reads none: choose a "
    "mode that uses your documents, or connect a language model in the settings.",
    "de": "Ohne Sprachmodell kann ich nur Ihre Dokumente zitieren, und diese Art zu antworten liest "
    "keine: Wählen Sie eine, "
    "die Ihre Dokumente nutzt, oder verbinden Sie in den Einstellungen ein Sprachmodell.",
    "es": "Sin un modelo de lenguaje solo puedo citar sus documentos, y este modo no lee ninguno: elija "
    "un modo que use sus documentos o conecte un modelo de lenguaje en los ajustes.",
    "fr": "Sans modèle de langage, je ne peux que citer vos documents, et ce mode n’en lit aucun : "
    "choisissez un mode qui utilise vos documents, ou connectez un modèle de langage dans les paramètres.",
    "zh": "没有语言模型时，我只能引用您的文档，而此模式不读取任何文档：请选择使用文档的模式，"
    "或在设置中连接语言模型。",
}
NO_TOOL: Wordings = {
    "en": "None of the tools can be called with this question as it is, and without a language model I "
    "cannot put it otherwise.",
    "de": "Keines der Werkzeuge lässt sich mit dieser Frage, wie sie ist, aufrufen, und ohne Sprachmodell "
    "kann ich sie nicht anders stellen.",
    "es": "Ninguna de las herramientas puede llamarse con esta pregunta tal como está, y sin un modelo de "
    "lenguaje no puedo formularla de otro modo.",
    "fr": "Aucun des outils ne peut être appelé avec cette question telle quelle, et sans modèle de "
    "langage je ne peux pas la formuler autrement.",
    "zh": "没有任何工具能按原样使用这个问题，而没有语言模型时我无法换一种说法。",
}
NOT_LOOKED_UP: Wordings = {
    "en": "I did not look in your documents for this answer.",
    "de": "Für diese Antwort habe ich nicht in Ihren Dokumenten nachgesehen.",
    "es": "Para esta respuesta no he consultado sus documentos.",
    "fr": "Je n’ai pas consulté vos documents pour cette réponse.",
    "zh": "此回答未查阅您的文档。",
}
GREETED: Wordings = {
    "en": "I am glad to help: ask me what your documents say, and I quote the sentences that answer, or "
    "ask for a summary of them.",
    "de": "Ich helfe gern: Fragen Sie mich, was in Ihren Dokumenten steht, und ich zitiere die Sätze, die "
    "es beantworten, oder bitten Sie mich um eine Zusammenfassung.",
    "es": "Con mucho gusto le ayudo: pregúnteme qué dicen sus documentos y citaré las frases que lo "
    "responden, o pídame un resumen de ellos.",
    "fr": "Je vous aide volontiers : demandez-moi ce que disent vos documents, et je cite les phrases qui "
    "y répondent, ou demandez-moi un résumé.",
    "zh": "很高兴为您服务：您可以询问文档中的内容，我会引用能回答问题的句子，也可以为您总结文档。",
}
THANKED: Wordings = {
    "en": (
        "You are welcome: ask me whenever there is something else that you want to know from your documents."
    ),
    "de": (
        "Gern geschehen: Fragen Sie mich jederzeit, wenn Sie noch etwas aus Ihren Dokumenten wissen möchten."
    ),
    "es": "De nada: pregúnteme cuando quiera saber algo más de lo que dicen sus documentos.",
    "fr": "Je vous en prie : demandez-moi ce que vous voulez encore savoir de vos documents.",
    "zh": "不客气：如果您还想了解文档中的其他内容，请随时提问。",
}

_ALL = frozenset(
    text
    for wordings in (CLOSEST, NOTHING_FOUND, NO_MODEL, NO_TOOL, GREETED, THANKED)
    for text in wordings.values()
)
_BEFORE_WORDS = tuple(text.partition("{words}")[0] for text in LOOKED_FOR.values())
_WORD = re.compile(r"[\w'’-]+")


def in_language_of(question: str, wordings: Wordings) -> str:
    """The wording in the question's language, or in English."""
    return wordings.get(language_of(question), wordings["en"])


def nothing_about(question: str) -> str:
    """The reply that no passage is about the question, with its content words.

    >>> nothing_about("Who is the mayor of Lisbon?")
    'I found nothing about this in your documents. I looked for: mayor, Lisbon.'
    """
    nothing = in_language_of(question, NOTHING_FOUND)
    small = SMALL_WORDS.get(language_of(question), ())
    words = dict.fromkeys(
        word for word in _WORD.findall(question) if word.lower() not in small and content_words(word)
    )
    if not words:
        return nothing
    between = "" if nothing.endswith("。") else " "
    return nothing + between + in_language_of(question, LOOKED_FOR).format(words=", ".join(words))


def closest_passages(question: str, quotes: str) -> str:
    """The quotes below the heading "Closest passages:"."""
    return f"{in_language_of(question, CLOSEST)}\n\n{quotes}"


def without_heading(text: str) -> str:
    """The quotes of closest passages without their heading; any other text unchanged.

    >>> without_heading(closest_passages("May I keep a dog?", "Dogs need consent. [1]"))
    'Dogs need consent. [1]'
    """
    whole = text.lstrip()
    heading = next((heading for heading in CLOSEST.values() if whole.startswith(heading + "\n\n")), "")
    return whole.removeprefix(heading).lstrip() if heading else text


def is_closest(text: str) -> bool:
    """Whether this is a reply of closest passages."""
    return without_heading(text) != text


def best_replies(replies: Sequence[tuple[str, Outcome]], question: str = "") -> list[str]:
    """The texts of the replies that answer; if none does, the closest passages below one heading, or else the
    first reply.

    Of the places of several replies with closest passages, those with most words of the question are taken.

    >>> best_replies([("I found nothing.", "nothing"), ("The rent is 900 euros. [2]", "answer")])
    ['The rent is 900 euros. [2]']
    """
    if answers := [text for text, outcome in replies if outcome == "answer"]:
        return answers
    closest = [text for text, outcome in replies if outcome == "closest"]
    if len(closest) < 2:
        return closest or [text for text, _outcome in replies[:1]]
    heading, first, *others = merge_closest(closest, question).split("\n\n")
    return [f"{heading}\n\n{first}", *others]


def merge_closest(replies: Sequence[str], question: str) -> str:
    """Several replies of `closest_passages` as one: the places with most words of the question, below one
    heading. "" for none.

    >>> merge_closest(["Closest passages:\\n\\nThe roof. [1]", "Closest passages:\\n\\nDogs. [2]"], "Dogs?")
    'Closest passages:\\n\\nDogs. [2]\\n\\nThe roof. [1]'
    """
    if len(replies) < 2:
        return "".join(replies)
    places: dict[str, None] = {}
    for reply in replies:
        heading, _, quotes = reply.lstrip().partition("\n\n")
        places.update(dict.fromkeys(quotes.split("\n\n")))
    nearest = sorted(places, key=lambda place: -shared_words(question, place))[:MAX_PLACES]
    return "\n\n".join([heading, *nearest])


def shared_words(question: str, text: str) -> int:
    """How many of the question's content words are in the text."""
    return len({*content_words(question)} & {*words(text)})


def is_refusal(text: str) -> bool:
    """Whether this is one of these replies, in any language, and no answer."""
    text = text.strip()
    nothing = next((each for each in NOTHING_FOUND.values() if text.startswith(each)), "")
    says_nothing_about = "\n" not in text and text.removeprefix(nothing).lstrip().startswith(_BEFORE_WORDS)
    return text in _ALL or is_closest(text) or says_nothing_about
