"""The answerer that needs no language model: it quotes the sentences that answer, each with its citation, and adds nothing.

It ignores a prompt's wording and answers by its task from the typed variables. It works without a server, says the same
thing every time, and can say nothing that the documents do not say.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.prompts import Passage, RenderedMessage, Task, Variable
from ragcore.schema import ChatMessage
from ragcore.text.follow_up import stand_alone
from ragcore.text.keywords import content_words
from ragcore.text.quotes import Quote, distinct, joined, quotes_in
from ragcore.text.relevance import UNRELATED, expected_kind, idf_shares, log_odds, measure, unrelated_cosine
from ragcore.text.salience import centrality, diverse, shares, stretches
from ragcore.text.summary_request import is_question, is_summary_request, topic_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vectors

NOT_FOUND = "I could not find this in your documents."
NO_MODEL = (
    "Without a language model I can only quote your documents, and this mode reads none: choose a mode that uses your "
    "documents, or connect a language model in the settings."
)

THRESHOLD = -1.06
"""The log odds that the best sentence must reach; below it the answer is NOT_FOUND. Set so that one in twelve questions
that can be answered is refused; `python -m benchmarks.extractive --fit` finds it."""

MAX_SENTENCES = 3
BEHIND_FACT = 1.0  # log odds that a further sentence may lie behind the best: little when a name, date or number is asked for,
BEHIND = 2.2  # more when something is to be explained
TOGETHER = 1.0  # log odds that a sentence gains by standing next to one that is quoted
BRINGS = 2.0  # log odds that it gains by holding what the quoted ones lack of the question's words
MAX_EMBEDDED = 48  # sentences per answer; of more, those with the most words of the question
LEAST, MOST = 3, 10  # sentences of a summary
SHORT, LONG = 50, 260  # characters, of a sentence that suits a summary
NAMED, EARLY = 0.3, 0.2  # what holding a name, and standing first in its document, count where the commonest words count 1
ASIDE = 0.15  # what being central counts in a summary about a topic, where closeness to the topic counts 1
MAX_WEIGHED = 200  # sentences per summary; of more, those with the commonest words
CACHED_VECTORS = 4096  # sentences; about 6 MB at 384 numbers each

_LEANS = re.compile(
    r"^(?:he|she|it|they|this|these|that|those|his|her|its|their|such|er|sie|es|dies\w*|il|elle|ils|elles|cel\w+"
    r"|él|ella|ellos|esto|est[ae]s?|它|他|她|这)\b",
    re.IGNORECASE,
)
_LEANING = re.compile(
    _LEANS.pattern + r"|^(?:but|and|so|or|then|thus|therefore|however|instead|also|for example|for instance|yes|no|not|now|once"
    r"|later|meanwhile|when|after|before|what|there|here|both|others?|another|the (?:same|following|next|other|former|latter)"
    r"|aber|und|also|dann|danach|mais|donc|ensuite|puis|pero|luego)\b"
    r"|^[\d\W]|[\w\d]$|: .*; .*: |[?？؟“”\"«»|:]",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,] )[^\W\d_a-zà-ÿ][\w'’-]+")
_PIECE = re.compile(r"\s*(?:\S+\s*){1,3}|\s+")


class ExtractiveLLM(LLM):
    """Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata("extractive", context_window=32_000, num_output=512, is_extractive=True)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        text = self._reply(call)
        return Generation(text, self.usage(messages, text))

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._generate(call, messages)
        yield from _PIECE.findall(generation.text)
        return generation

    def _reply(self, call: LLMCall) -> str:
        told = call.variables
        query = _text(told.get("query_str", ""))
        passages = _passages(told.get("context_str", ()))
        match call.prompt.task:
            case Task.CONDENSE:
                return stand_alone(_text(told["question"]), _messages(told["chat_history"]))
            case Task.GENERATE:
                return NO_MODEL
            case Task.CHAT if "context_str" not in told:
                return NO_MODEL
            case Task.REFINE:
                return self._refine(query, _text(told["existing_answer"]), passages)
            case Task.SUMMARIZE:
                return self._combine(query, passages)
            case _:
                return self._respond(query, _quotes(passages))

    def _respond(self, query: str, quotes: Sequence[Quote]) -> str:
        return self._summary(query, quotes) if is_summary_request(query) else self._answer(query, quotes)

    def _combine(self, query: str, passages: Sequence[Passage]) -> str:
        quotes = _quotes(passages)
        # Citations in passages without numbers: these are answers to parts, which were found good already.
        earlier = all(passage.number is None for passage in passages) and any(quote.marks for quote in quotes)
        return self._answer(query, quotes, sure=earlier) if is_question(query) else self._summary(query, quotes, again=earlier)

    def _refine(self, query: str, existing: str, passages: Sequence[Passage]) -> str:
        found = _quotes(passages)
        if not existing.strip() or existing.strip() == NOT_FOUND:
            return self._respond(query, found)
        said = quotes_in(existing, number=None, passage=-1)
        if is_summary_request(query):
            new = quotes_in(self._summary(query, found), number=None)
            answer = self._summary(query, distinct([*said, *_worth_quoting(new)]), again=True)
        else:
            answer = self._answer(query, distinct([*said, *found]))
        kept = {quote.text for quote in quotes_in(answer, number=None)}
        nothing_new = kept <= {quote.text for quote in said}
        return existing if answer == NOT_FOUND or nothing_new else answer

    def _answer(self, query: str, quotes: Sequence[Quote], *, sure: bool = False) -> str:
        """`sure`: the answer is among the quotes, whatever its odds."""
        quotes = _likely(query, quotes)
        odds = self._odds(query, quotes)
        if not quotes or (odds.max() < THRESHOLD and not sure):
            return NOT_FOUND
        return joined([quotes[row] for row in choose(query, odds, quotes)])

    def _odds(self, query: str, quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
        if not quotes:
            return np.zeros(0)
        asked = self._embedder.embed_query(query)
        vectors = self._embed([quote.read_with_lead for quote in quotes])
        return log_odds(measure(query, asked, quotes, vectors, floor=self._floor))

    @cached_property
    def _floor(self) -> float:
        return unrelated_cosine(self._embedder.embed_passages(UNRELATED))

    def _summary(self, query: str, quotes: Sequence[Quote], *, again: bool = False) -> str:
        """`again`: the quotes are summaries already, of which more is kept."""
        quotes = _common(quotes)
        if not quotes:
            return NOT_FOUND
        vectors = self._embed([quote.text for quote in quotes])
        scores = centrality(vectors) + _stands_well(quotes)
        documents = list(dict.fromkeys(quote.document for quote in quotes))
        groups = [documents.index(quote.document) for quote in quotes]
        wanted = len(quotes) / 2 if again else max(np.log2(len(quotes)), len(documents))
        places = shares(Counter(groups), min(MOST, max(LEAST, int(wanted))))
        if topic := topic_of(query):
            scores = ASIDE * scores + vectors @ self._embedder.embed_query(topic)
        else:
            groups = stretches(groups, places)
            places = dict.fromkeys((group for group in groups if group >= 0), 1)
        return joined([quotes[row] for row in sorted(diverse(scores, vectors, groups, places))])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known.update(zip(fresh, self._embedder.embed_passages(fresh), strict=True))
        with self._lock:
            for text in texts:
                self._vectors[text] = known[text]
                self._vectors.move_to_end(text)
            while len(self._vectors) > CACHED_VECTORS:
                self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts])


def choose(query: str, odds: npt.NDArray[np.float64], quotes: Sequence[Quote]) -> list[int]:
    """The rows to quote: the best by its log odds, what is nearly as good, and what the best leans on.

    The passage with the best comes first; within a passage they stay in reading order.
    """
    best = int(odds.argmax())
    lowest = odds[best] - (BEHIND_FACT if expected_kind(query) in ("name", "date", "number") else BEHIND)
    shares = idf_shares(query, [quote.read_with_lead for quote in quotes])
    taken: list[int] = [best]
    while len(taken) < min(MAX_SENTENCES, len(quotes)):
        lacking = np.where(shares[taken].any(axis=0), 0.0, shares)  # (n, words)
        beside = [any(_neighbours(quotes, row, other) for other in taken) for row in range(len(quotes))]
        weighed = odds + TOGETHER * np.array(beside) + BRINGS * lacking.sum(axis=1)
        weighed[taken] = -np.inf
        if weighed.max() < lowest:
            break
        taken.append(int(weighed.argmax()))
    if best and _neighbours(quotes, best - 1, best) and best - 1 not in taken and _LEANS.match(quotes[best].text):
        taken = [*taken[: MAX_SENTENCES - 1], best - 1]
    passages = list(dict.fromkeys(quotes[row].passage for row in taken))  # taken from the best down
    return sorted(taken, key=lambda row: (passages.index(quotes[row].passage), row))


def _neighbours(quotes: Sequence[Quote], one: int, other: int) -> bool:
    return abs(one - other) == 1 and quotes[one].passage == quotes[other].passage


def _text(value: Variable) -> str:
    assert isinstance(value, str)
    return value


def _passages(value: Variable) -> list[Passage]:
    if isinstance(value, str):
        return [Passage(value)]
    return [item for item in value if isinstance(item, Passage)]


def _messages(value: Variable) -> list[ChatMessage]:
    return [item for item in value if isinstance(item, ChatMessage)]


def _quotes(passages: Sequence[Passage]) -> list[Quote]:
    return distinct(
        quote
        for at, passage in enumerate(passages)
        for quote in _worth_quoting(quotes_in(passage.text, number=passage.number, source=passage.source, passage=at))
    )


def _worth_quoting(quotes: Sequence[Quote]) -> list[Quote]:
    return [quote for quote in quotes if quote.text != NOT_FOUND]


def _likely(query: str, quotes: Sequence[Quote]) -> list[Quote]:
    if len(quotes) <= MAX_EMBEDDED:
        return list(quotes)
    asked = set(content_words(query))
    shared = [len(asked & set(content_words(quote.read_with_lead))) for quote in quotes]
    return _best(quotes, shared, MAX_EMBEDDED)


def _common(quotes: Sequence[Quote]) -> list[Quote]:
    if len(quotes) <= MAX_WEIGHED:
        return list(quotes)
    words = [set(content_words(quote.text)) for quote in quotes]
    common = Counter(chain.from_iterable(words))
    return _best(quotes, [sum(common[word] for word in said) / (len(said) + 5) for said in words], MAX_WEIGHED)


def _best(quotes: Sequence[Quote], scores: Sequence[float], count: int) -> list[Quote]:
    rows = sorted(range(len(quotes)), key=lambda row: -scores[row])[:count]
    return [quotes[row] for row in sorted(rows)]


def _stands_well(quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(n,), -2 to 2: high for the words that the text uses most, for names, and early in a document; low for what cannot be
    understood alone: scraps, rows, questions, speech, what leans on the sentence before."""
    said = [set(content_words(quote.text)) for quote in quotes]
    common = Counter(chain.from_iterable(said))
    weight = np.array([sum(np.log(common[word]) for word in words) / (len(words) + 5) for words in said])
    weight /= max(float(weight.max()), 1e-9)
    sizes = Counter(quote.document for quote in quotes)
    seen: Counter[str] = Counter()
    for row, quote in enumerate(quotes):
        weight[row] += NAMED * (_NAME.search(quote.text) is not None) + EARLY * (
            1 - seen[quote.document] / sizes[quote.document]
        )
        weight[row] -= not SHORT <= len(quote.text) <= LONG or _LEANING.search(quote.text) is not None
        seen[quote.document] += 1
    return weight
