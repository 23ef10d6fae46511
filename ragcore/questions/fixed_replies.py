"""What is said where there is no answer, in the language of the question, and how such words are known again."""

from __future__ import annotations

from collections.abc import Mapping

from ragcore.text.language import language_of

Wordings = Mapping[str, str]  # by ISO 639-1 code

NOT_FOUND: Wordings = {
    "en": "I could not find this in your documents.",
    "de": "Ich konnte das in Ihren Dokumenten nicht finden.",
    "es": "No he encontrado esto en sus documentos.",
    "fr": "Je n’ai pas trouvé cela dans vos documents.",
    "zh": "我在您的文档中没有找到这方面的内容。",
}
NEAREST: Wordings = {
    "en": "The nearest that they say:",
    "de": "Am nächsten kommt dem:",
    "es": "Lo más cercano que dicen:",
    "fr": "Ce qu’ils disent de plus proche :",
    "zh": "其中最接近的内容是：",
}
NOTHING_FOUND: Wordings = {
    "en": "I found nothing about this in your documents.",
    "de": "Ich habe in Ihren Dokumenten nichts dazu gefunden.",
    "es": "No he encontrado nada sobre esto en sus documentos.",
    "fr": "Je n’ai rien trouvé à ce sujet dans vos documents.",
    "zh": "我在您的文档中没有找到任何相关内容。",
}
NO_MODEL: Wordings = {
    "en": "Without a language model I can only quote your documents, and this mode reads none: choose a mode that uses your "
    "documents, or connect a language model in the settings.",
    "de": "Ohne Sprachmodell kann ich nur Ihre Dokumente zitieren, und diese Art zu antworten liest keine: Wählen Sie eine, "
    "die Ihre Dokumente nutzt, oder verbinden Sie in den Einstellungen ein Sprachmodell.",
    "es": "Sin un modelo de lenguaje solo puedo citar sus documentos, y este modo no lee ninguno: elija un modo que use sus "
    "documentos o conecte un modelo de lenguaje en los ajustes.",
    "fr": "Sans modèle de langage, je ne peux que citer vos documents, et ce mode n’en lit aucun : choisissez un mode qui "
    "utilise vos documents, ou connectez un modèle de langage dans les paramètres.",
    "zh": "没有语言模型时，我只能引用您的文档，而此模式不读取任何文档：请选择使用文档的模式，或在设置中连接语言模型。",
}
NO_TOOL: Wordings = {
    "en": "None of the tools can be called with this question as it is, and without a language model I cannot put it "
    "otherwise.",
    "de": "Keines der Werkzeuge lässt sich mit dieser Frage, wie sie ist, aufrufen, und ohne Sprachmodell kann ich sie "
    "nicht anders stellen.",
    "es": "Ninguna de las herramientas puede llamarse con esta pregunta tal como está, y sin un modelo de lenguaje no puedo "
    "formularla de otro modo.",
    "fr": "Aucun des outils ne peut être appelé avec cette question telle quelle, et sans modèle de langage je ne peux pas la "
    "formuler autrement.",
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
    "en": "I am glad to help: ask me what your documents say, and I quote the sentences that answer, or ask for a summary of "
    "them.",
    "de": "Ich helfe gern: Fragen Sie mich, was in Ihren Dokumenten steht, und ich zitiere die Sätze, die es beantworten, oder "
    "bitten Sie mich um eine Zusammenfassung.",
    "es": "Con mucho gusto le ayudo: pregúnteme qué dicen sus documentos y citaré las frases que lo responden, o pídame un "
    "resumen de ellos.",
    "fr": "Je vous aide volontiers : demandez-moi ce que disent vos documents, et je cite les phrases qui y répondent, ou "
    "demandez-moi un résumé.",
    "zh": "很高兴为您服务：您可以询问文档中的内容，我会引用能回答问题的句子，也可以为您总结文档。",
}
THANKED: Wordings = {
    "en": "You are welcome: ask me whenever there is something else that you want to know from your documents.",
    "de": "Gern geschehen: Fragen Sie mich jederzeit, wenn Sie noch etwas aus Ihren Dokumenten wissen möchten.",
    "es": "De nada: pregúnteme cuando quiera saber algo más de lo que dicen sus documentos.",
    "fr": "Je vous en prie : demandez-moi ce que vous voulez encore savoir de vos documents.",
    "zh": "不客气：如果您还想了解文档中的其他内容，请随时提问。",
}

_WITHOUT_ANSWER = (NOT_FOUND, NOTHING_FOUND, NO_MODEL, NO_TOOL, GREETED, THANKED)
_ALL = frozenset(text for wordings in _WITHOUT_ANSWER for text in wordings.values())
_BEFORE_NEAREST = tuple(f"{said} {NEAREST[language]}\n" for language, said in NOT_FOUND.items())


def in_language_of(question: str, wordings: Wordings) -> str:
    """The wording in the question's language; in English where there is none, or nothing tells the language."""
    return wordings.get(language_of(question), wordings["en"])


def is_refusal(text: str) -> bool:
    """Whether this is one of these texts, in any language, and nothing else but what comes nearest to an answer."""
    return text.strip() in _ALL or text.lstrip().startswith(_BEFORE_NEAREST)


def needs_model(text: str) -> bool:
    """Whether this was said where a language model might have answered: sentences were found and none answers, or the mode
    needs a model."""
    return text in NOT_FOUND.values() or text.startswith(_BEFORE_NEAREST) or text in NO_MODEL.values()


def with_nearest(refusal: str, nearest: str) -> str:
    """One of NOT_FOUND, and below it what comes nearest to an answer."""
    language = next(language for language, said in NOT_FOUND.items() if said == refusal)
    return f"{refusal} {NEAREST[language]}\n\n{nearest}"
