"""Greetings, thanks and "what can you do?", which no document answers, in the languages of their replies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.extractive.fixed_replies import GREETED, THANKED
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.language import language_of

_GREETINGS = {  # and questions to the assistant itself
    "en": r"(?:hello|hi|hey)(?: there)?|good (?:morning|afternoon|evening|day)"
    r"|how are you(?: doing)?(?: today)?"
    r"|(?:so )?what can you do(?: for me)?|what can i ask(?: you)?|who are you|(?:how )?can you help(?: me)?",
    "de": r"hallo|hi|hey|moin|servus|guten (?:morgen|tag|abend)|wie geht['’]?(?: e)?s(?: dir| ihnen)?"
    r"|was (?:kannst du|können sie)(?: alles)?(?: für mich)?(?: tun)?|was kann ich (?:dich "
    r"|sie )?(?:hier )?fragen|wer (?:bist du|sind sie)|(?:kannst du|können sie) mir helfen",
    "fr": r"bonjour|bonsoir|salut|(?:comment )?ça va|comment allez-vous"
    r"|que (?:peux-tu|pouvez-vous|sais-tu|savez-vous) faire(?: pour moi)?|que puis-je (?:te |vous )?demander"
    r"|qui (?:es-tu|êtes-vous)|(?:peux-tu|pouvez-vous) m['’]aider",
    "es": r"hola|buen[oa]s (?:días|tardes|noches)|qué tal|cómo est(?:ás|á usted)"
    r"|qué (?:puedes|puede|sabes) hacer(?: por mí)?|qué puedo preguntar(?:te|le)?|quién eres|(?:puedes"
    r"|puede) ayudarme",
    "zh": r"你好|您好|嗨|早上好|下午好|晚上好|[你您](?:能|会|可以)(?:为我|帮我)?[做干](?:些)?什么|[你您]是谁",
}
_THANKS = {
    "en": r"(?:(?:ok(?:ay)?|great|perfect),? |many )?thank(?:s| you)(?: (?:so|very) much| a lot| again)?"
    r"|thx|cheers|th(?:at|is)(?: helped(?: me)?(?: a lot)?| (?:is|was) (?:very |really )?helpful)",
    "de": r"(?:(?:ok(?:ay)?|super),? )?danke(?: schön| sehr| dir| ihnen| vielmals)?|(?:vielen"
    r"|besten) dank|dankeschön|das hat (?:mir )?(?:sehr )?geholfen|das (?:war|ist) (?:sehr )?hilfreich",
    "fr": r"merci(?: beaucoup| bien)?|(?:ça|cela) m['’]a (?:beaucoup |bien )?aidée?",
    "es": r"(?:muchas )?gracias|(?:eso )?me ha ayudado(?: mucho)?",
    "zh": r"(?:非常|十分|多)?(?:谢谢|感谢)[你您]?|多谢",
}
_BETWEEN = r"[\W_]*(?:(?:and|und|et|y)\b[\W_]*)?"


_SMALL_TALK = {
    language: re.compile(
        rf"{_BETWEEN}(?:(?:{greetings}|{_THANKS[language]})(?!\w){_BETWEEN})+", re.IGNORECASE
    )
    for language, greetings in _GREETINGS.items()
}


def reply_to(message: str, history: Sequence[ChatMessage] = ()) -> str:
    """The reply to a message that is only small talk, in its language or in that of the history; "" to any
    other.

    >>> reply_to("Danke!")[:18]
    'Gern geschehen: Fr'
    """
    spoken = [language for language, pattern in _SMALL_TALK.items() if pattern.fullmatch(message)]
    if not spoken:
        return ""
    before = (language_of(each.content) for each in reversed(history) if each.role is MessageRole.USER)
    language = next((each for each in before if each in spoken), spoken[0])
    return (THANKED if re.search(_THANKS[language], message, re.IGNORECASE) else GREETED)[language]


def is_small_talk(message: str) -> bool:
    return bool(reply_to(message))
