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


_ACCORDING_TO = re.compile(
    r"\b(?:according to|based on|in|from) (?:the|this|these|my|our|your) (?:given |provided |uploaded )?"
    r"(?:documents?|texts?|passages?|articles?|papers?|essays?|files?)\b(?! (?:of|on|about|by|from)\b),?"
    r"|\baccording to (?:the|this) (?:authors?|writer|narrator)\b,?"
    r"|\b(?:laut|gemäß|nach) (?:dem|diesem|den) (?:dokument(?:en)?|text(?:en)?|artikeln?|autor|verfasser)\b,?"
    r"|\b(?:im|in diesem) (?:dokument|text|artikel)\b(?! (?:über|von|zu)\b),?"
    r"|\b(?:selon|d['’]après|dans) (?:le |ce |cet |l['’])(?:document|texte|article)\b,?"
    r"|\bselon l['’]auteur\b,?"
    r"|\b(?:según|en) (?:el|este) (?:documento|texto|artículo)\b,?"
    r"|\bsegún el autor\b,?"
    r"|(?:根据|在)?(?:本|该|这(?:篇|份|个)?)(?:文档|文件|文章|文本|文)(?:中|里)?[，,]?",
    re.IGNORECASE,
)
_ASKED_OF = re.compile(
    r"\b(do|does|did|has|have|had|would|could|can|will|should) (?:the|this) "
    r"(?:authors?|writer|narrator|documents?|text|passage|article|paper|essay)(?= \w)(?! (?:of|on|about|by|from)\b)",
    re.IGNORECASE,
)
