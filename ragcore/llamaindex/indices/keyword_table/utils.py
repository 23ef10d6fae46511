"""Keywords by frequency and by RAKE, and the terms by which keywords are compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from ragcore.text.keyword_replies import keywords_in
from ragcore.text.keywords import STOP_WORDS, content_words, words


def frequent_keywords(text: str, most: int) -> list[str]:
    """The stems of the commonest content words of `text`; ties in reading order."""
    return [word for word, _ in Counter(content_words(text)).most_common(most)]


def rake_keywords(text: str, most: int) -> list[str]:
    """The best phrases of `text` by RAKE (Rose et al. 2010), in small letters; ties in reading order.

    A phrase is a run of words between stop words and punctuation. The score of a word is its degree (the
    number of words in all its phrases) divided by its frequency; that of a phrase is the sum of its words.
    """
    phrases = [
        tuple(run)
        for part in _BREAKS.split(text.casefold())
        for is_stop_word, run in groupby(part.split(), key=STOP_WORDS.__contains__)
        if not is_stop_word
    ]
    frequency = Counter(word for phrase in phrases for word in phrase)
    degree: Counter[str] = Counter()
    for phrase in phrases:
        for word in phrase:
            degree[word] += len(phrase)
    scores = {" ".join(phrase): sum(degree[word] / frequency[word] for word in phrase) for phrase in phrases}
    return sorted(scores, key=lambda phrase: -scores[phrase])[:most]


def terms_of(keywords: Iterable[str]) -> list[str]:
    """Every keyword as a whole, and its content words, each once: keywords are compared by them."""
    terms: dict[str, None] = {}
    for keyword in keywords:
        terms[" ".join(words(keyword))] = None
        terms.update(dict.fromkeys(content_words(keyword)))
    return [term for term in terms if term]


def expand_tokens_with_subtokens(tokens: Iterable[str]) -> set[str]:
    """The keywords, and the words of those that have several, without stop words."""
    tokens = set(tokens)
    return tokens | {
        word for token in tokens if " " in token for word in words(token) if word not in STOP_WORDS
    }


def extract_keywords_given_response(response: str, lowercase: bool = True, start_token: str = "") -> set[str]:
    """The keywords of a model's reply, with the words of each, behind `start_token`.

    >>> sorted(extract_keywords_given_response("KEYWORDS: red boat, sail", start_token="KEYWORDS:"))
    ['boat', 'red', 'red boat', 'sail']
    """
    listed = keywords_in(response.strip().removeprefix(start_token))
    return expand_tokens_with_subtokens(keyword.lower() if lowercase else keyword for keyword in listed)


_BREAKS = re.compile(r"[^\w\s'’-]+|\n+|(?<!\w)['’-]+|['’-]+(?!\w)")
