"""What a question is about, without what it says of the text that it is put to: "according to the document", "the author".

Every sentence is the document's and the author's, and hardly one says so: words that none can hold would count against all.
"""

from __future__ import annotations

import re

from ragcore.text.keywords import content_words


def about(question: str) -> str:
    """The question without such words; as it is where nothing else is left of it."""
    rest = _ASKED_OF.sub(r"\1", _ACCORDING_TO.sub(" ", question))
    rest = " ".join(rest.split()).strip(" ,;，")
    return rest if content_words(rest) else question


# What follows such words, so that they do not belong to more: "in the paper industry", "in the article on Rome".
_THEN = (
    r"(?:(?=\W*$)|,|(?= (?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will"
    r"|would|should|must|may|wer|wen|wem|wessen|was|wann|wo|welche[rsmn]?|warum|wie|den|die|das|der"
    r"|qui|que|quel(?:le)?s?|quand|où|pourquoi|comment|quién|qué|cuál|cuándo|dónde|cómo)\b))"
)
_ACCORDING_TO = re.compile(
    r"\b(?:according to|based on|in|from) (?:the|this|these|my|our|your) (?:given |provided |uploaded )?"
    rf"(?:documents?|texts?|passages?|articles?|papers?|essays?|files?)\b{_THEN}"
    rf"|\baccording to (?:the|this) (?:authors?|writer|narrator)\b{_THEN}"
    rf"|\b(?:laut|gemäß|nach) (?:dem|diesem|den) (?:dokument(?:en)?|text(?:en)?|artikeln?|autor|verfasser)\b{_THEN}"
    rf"|\b(?:im|in diesem) (?:dokument|text|artikel)\b{_THEN}"
    rf"|\b(?:selon|d['’]après|dans) (?:le |ce |cet |l['’])(?:document|texte|article)\b{_THEN}"
    rf"|\bselon l['’]auteur\b{_THEN}"
    rf"|\b(?:según|en) (?:el|este) (?:documento|texto|artículo)\b{_THEN}"
    rf"|\bsegún el autor\b{_THEN}"
    r"|(?:根据|依据|按照|在)(?:本|该|这(?:篇|份|个)?)(?:文档|文件|文章|文本|文)(?:中|里)?[，,]?",
    re.IGNORECASE,
)
_ASKED_OF = re.compile(
    r"\b(do|does|did|has|have|had|would|could|can|will|should) (?:the|this) "
    r"(?:(?:authors?|writer|narrator)(?= \w)(?! (?:of|on|about|by|from)\b)"
    r"|(?:documents?|text|passage|article|paper|essay)(?= (?:ever |not |also )?(?:say|tell|state|mention|describe|explain"
    r"|define|give|list|name|call|claim|argue|suggest|recommend|conclude|note|report|discuss|compare|refer|contain|include)\b))",
    re.IGNORECASE,
)
