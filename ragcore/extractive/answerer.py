"""The answerer that needs no language model: it quotes the sentences that answer, each with its citation, and adds nothing.

It ignores a prompt's wording and answers by its task from the typed variables. It works without a server, says the same
thing every time, and can say nothing that the documents do not say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.embeddings.spelling_correction import as_meant
from ragcore.extractive import choices
from ragcore.extractive.answer_selection import MAX_SENTENCES, below_heading, choose
from ragcore.extractive.conversation_summary import recalled
from ragcore.extractive.evidence import Evidence, Weighed
from ragcore.extractive.judge import Judge
from ragcore.extractive.question_generation import questions_in
from ragcore.extractive.summary import summarize
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.prompts.prompt import Choice, Passage, RenderedMessage, Task, ToolCard, Variable, Variables, as_text
from ragcore.prompts.wording import (
    AGENT,
    CONTEXT_RELEVANCY,
    CORRECTNESS,
    DECOMPOSE,
    FAITHFULNESS,
    GUIDELINE,
    PAIRWISE,
    RELEVANCY,
    STRUCTURED,
    TITLE_OF_DOCUMENT,
)
from ragcore.questions import fixed_replies
from ragcore.questions.acronyms import spelt_out
from ragcore.questions.answer_types import MUST_HOLD, asks_only_why, expected_kind, fits_kind, words_for_it
from ragcore.questions.fixed_replies import in_language_of, is_refusal
from ragcore.questions.follow_up import stand_alone, without_topic
from ragcore.questions.summary_requests import is_question, is_summary_request
from ragcore.questions.topic import about, apart_from_name
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.key_phrases import keywords, rephrased, title
from ragcore.text.quotable_sentences import Quote, distinct, joined, quotes_in, with_lists
from ragcore.text.salience import centrality

Kind = TypeVar("Kind", Choice, ToolCard, Passage, ChatMessage)

NOT_FOUND, NO_MODEL = fixed_replies.NOT_FOUND["en"], fixed_replies.NO_MODEL["en"]

THRESHOLD = -1.2
"""The log odds that the best sentence must reach where the embedder tells nothing about single words, or the question is not
in English; below it nothing was found. See `answer_ranking.margin` for the others."""

NEAREST = -3.0  # the margin from which what is no answer is still worth telling

TRIED = 4  # questions tried for each one wanted
MOST_KEYWORDS = 10  # where a call does not say

_PIECE = re.compile(r"\s*(?:\S+\s*){1,3}|\s+")


class ExtractiveLLM(LLM):
    """Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._evidence = Evidence(embedder)
        self._judge = Judge(self._evidence, THRESHOLD)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata("extractive", context_window=32_000, num_output=512, is_extractive=True)

    def weighed(self, query: str, passages: Sequence[Passage]) -> list[str]:
        """All sentences that an answer is chosen from, the likeliest first."""
        quotes = _quotes(passages)
        odds = self._evidence.answering(query, quotes).odds()
        return [quotes[row].text for row in np.argsort(-odds, kind="stable")]

    def margin(self, query: str, passages: Sequence[Passage]) -> float:
        """How surely the passages hold an answer: below 0 none was found, and -inf where they say nothing at all."""
        return self._weighed(about(query), _quotes(passages)).margin(THRESHOLD)

    def nearest(self, query: str, passages: Sequence[Passage]) -> str:
        """What comes nearest to an answer where there is none, quoted as one; "" where nothing comes near."""
        answer = self._answer(query, _quotes(passages), least=NEAREST)
        return "" if is_refusal(answer) else answer

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        tool_calls: tuple[dict[str, Any], ...] = ()
        if call.tools or call.prompt.name == AGENT.name:
            text, tool_calls = self._act(call)
        else:
            text = self._reply(call)
        return Generation(text, self.usage(messages, text, call.tools, tool_calls), tool_calls)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._generate(call, messages)
        yield from _PIECE.findall(generation.text)
        return generation

    def _reply(self, call: LLMCall) -> str:
        told = call.variables
        query = as_text(told.get("query_str", ""))
        passages = _passages(told.get("context_str", ()))
        match call.prompt.task:
            case Task.ANSWER:
                return _in_form(call, self._respond(query, _quotes(passages)))
            case Task.REFINE:
                return _in_form(call, self._refine(query, as_text(told["existing_answer"]), passages))
            case Task.SUMMARIZE:
                return _in_form(call, self._combine(query, passages))
            case Task.CONDENSE:
                return stand_alone(as_text(told["question"]), _of(ChatMessage, told["chat_history"]))
            case Task.CHAT:
                reads = "context_str" in told
                return self._respond(query, _quotes(passages)) if reads else in_language_of(query, fixed_replies.NO_MODEL)
            case Task.GENERATE:
                return in_language_of(query, fixed_replies.NO_MODEL)
            case Task.JUDGE:
                return self._verdict(call.prompt.name, query, told, passages)
            case Task.ACT:
                return self._react(query, told)
            case _:
                return self._prepare(call, query, passages)

    def _prepare(self, call: LLMCall, query: str, passages: Sequence[Passage]) -> str:
        """What indexes, retrievers and memory ask a model for: choices, keywords, titles and questions."""
        told = call.variables
        match call.prompt.task:
            case Task.SELECT:
                listed = _of(Choice, told["choices"])
                most = _number(told, "max_outputs", len(listed)) if "max_outputs" in call.prompt.variables else 1
                return choices.select(self._evidence, query, listed, most)
            case Task.DIVIDE:
                return choices.divide(self._evidence, query, _of(Choice, told["choices"]))
            case Task.RANK:
                return choices.rank(self._evidence, query, passages)
            case Task.DIRECTION:
                return choices.direction(query, "\n\n".join(passage.text for passage in passages))
            case Task.KEYWORDS:
                most = _number(told, "max_keywords", MOST_KEYWORDS)
                return f"KEYWORDS: {', '.join(keywords(as_text(told['text']), most))}"
            case Task.TITLE:
                return self._title(passages, of_parts=call.prompt.name == TITLE_OF_DOCUMENT.name)
            case Task.QUESTIONS:
                return self._questions(passages, _number(told, "num_questions", 5))
            case Task.REPHRASE if call.prompt.name == DECOMPOSE.name:
                return "None" if as_text(told.get("existing_answer", "")).strip() else query
            case Task.REPHRASE:
                return "\n".join(rephrased(query, _number(told, "num_queries", 1)))
            case Task.IMAGINE:
                return query  # a passage that was not read anywhere would be made up
            case _:  # Task.REMEMBER
                return recalled(_of(ChatMessage, told["chat_history"]))

    def _respond(self, query: str, quotes: Sequence[Quote]) -> str:
        return summarize(self._evidence, query, quotes) if is_summary_request(query) else self._answer(query, quotes)

    def _combine(self, query: str, passages: Sequence[Passage]) -> str:
        quotes = _quotes(passages)
        # Citations in passages without numbers: these are answers to parts, which were found good already.
        earlier = all(passage.number is None for passage in passages) and any(quote.marks for quote in quotes)
        if is_question(query):
            return self._answer(query, quotes, least=-math.inf if earlier else 0.0)
        # A summary has a paragraph for each document.
        parts = chain.from_iterable(passage.text.split("\n\n") for passage in passages)
        return summarize(
            self._evidence,
            query,
            _quotes([Passage(part, source=str(at)) for at, part in enumerate(parts)]) if earlier else quotes,
            again=earlier,
        )

    def _refine(self, query: str, existing: str, passages: Sequence[Passage]) -> str:
        found = _quotes(passages)
        if not existing.strip() or is_refusal(existing):
            return self._respond(query, found)
        said = quotes_in(existing, number=None, passage=-1)
        if is_summary_request(query):
            new = quotes_in(summarize(self._evidence, query, found), number=None)
            answer = summarize(self._evidence, query, distinct([*said, *_worth_quoting(new)]), again=True)
        else:
            answer = self._answer(query, distinct([*said, *found]))
        kept = {quote.text for quote in quotes_in(answer, number=None)}
        nothing_new = kept <= {quote.text for quote in said}
        return existing if is_refusal(answer) or nothing_new else answer

    def _answer(self, query: str, quotes: Sequence[Quote], *, least: float = 0.0) -> str:
        """`least`: the margin that is needed, see `answer_ranking.margin`."""
        read = [quote.read_with_lead for quote in quotes]
        query = spelt_out(as_meant(about(query), read, self._evidence.embedder), read)
        weighed = self._weighed(query, quotes)
        if weighed.margin(THRESHOLD) < least:
            alone = without_topic(query)
            if alone != query and not is_refusal(answer := self._answer(alone, quotes, least=least)):
                return answer
            return self._of_what_is_named(query, quotes) or in_language_of(query, fixed_replies.NOT_FOUND)
        chosen = with_lists(choose(query, weighed.odds(), quotes, surely=least >= 0), quotes)
        return joined(distinct(chain.from_iterable(below_heading(query, quote) for quote in chosen)))

    def _weighed(self, query: str, quotes: Sequence[Quote]) -> Weighed:
        """Where a telephone number or an address is asked for, what holds one is read as if its heading called it so, and where
        it is asked for by name, nothing else is an answer; nor is anything but a reason where just "why?" is asked."""
        if asks_only_why(query):
            return self._evidence.weighed(query, quotes, [fits_kind("reason", quote.text, query) for quote in quotes])
        called = words_for_it(query)
        if not called:
            return self._evidence.answering(query, quotes)
        kind = expected_kind(query)
        holds = [fits_kind(kind, quote.text, query) for quote in quotes]
        headed = (replace(quote, lead=f"{quote.lead} {called}") for quote in quotes)
        read = [under if held else quote for held, under, quote in zip(holds, headed, quotes, strict=True)]
        return self._evidence.weighed(query, read, holds) if kind in MUST_HOLD else self._evidence.answering(query, read)

    def _of_what_is_named(self, query: str, quotes: Sequence[Quote]) -> str:
        """An answer by a document that is named in the question, and does not say its own name: whose it is, in its own words,
        is known by its name alone. "" where there is none."""
        of_documents: dict[str, list[Quote]] = {}
        for quote in quotes:
            of_documents.setdefault(quote.document, []).append(quote)
        for document, own in of_documents.items():
            rest = apart_from_name(query, document, "\n".join(quote.text for quote in own))
            if rest and not is_refusal(answer := self._answer(rest, own)):
                return answer
        return ""

    def _title(self, passages: Sequence[Passage], *, of_parts: bool) -> str:
        """A passage's own heading or its keywords; of several passages, or titles of parts, that most like the others."""
        texts = [passage.text for passage in passages]
        titles = [line for text in texts for line in text.splitlines() if line.strip()] if of_parts else list(map(title, texts))
        titles = [found for found in titles if found]
        if not titles:
            return ""
        return titles[int(centrality(self._evidence.embed(titles)).argmax())]

    def _questions(self, passages: Sequence[Passage], most: int) -> str:
        quotes = _quotes(passages)
        asked: list[str] = []
        for question in islice(questions_in("\n\n".join(passage.text for passage in passages)), TRIED * most):
            if len(asked) < most and not is_refusal(self._answer(question, quotes)):
                asked.append(question)
        return "\n".join(asked)

    def _verdict(self, kind: str, query: str, told: Variables, passages: Sequence[Passage]) -> str:
        response, reference = as_text(told.get("response", "")), as_text(told.get("reference", ""))
        match kind:
            case FAITHFULNESS.name:
                return self._judge.faithful(response, passages)
            case RELEVANCY.name:
                return self._judge.relevant(query, response, passages)
            case CONTEXT_RELEVANCY.name:
                return self._judge.context_holds_the_answer(query, passages)
            case CORRECTNESS.name:
                return self._judge.grade(query, response, reference)
            case PAIRWISE.name:
                return self._judge.better(query, response, as_text(told["second_response"]), reference)
            case GUIDELINE.name:
                return self._judge.keeps_to(as_text(told["guidelines"]), query, response)
            case _:
                return self._judge.answers_the_question(query, response)

    def _react(self, query: str, told: Variables) -> str:
        observed = _passages(told.get("observations", ()))
        if observed:
            return f"Thought: I can answer now.\nAnswer: {self._conclude(query, observed)}"
        use = choices.choose_tool(self._evidence, query, _of(ToolCard, told.get("tools", ())))
        if use is None:
            return f"Thought: The tools cannot help.\nAnswer: {in_language_of(query, fixed_replies.NO_TOOL)}"
        arguments = json.dumps(dict(use.arguments), ensure_ascii=False)
        return f"Thought: I need to ask {use.name}.\nAction: {use.name}\nAction Input: {arguments}"

    def _act(self, call: LLMCall) -> tuple[str, tuple[dict[str, Any], ...]]:
        """What the tools said since the person spoke, as an answer; where they said nothing yet, a call of one of them."""
        last = max((at for at, message in enumerate(call.history) if message.role is MessageRole.USER), default=-1)
        query = as_text(call.variables.get("query_str", "")) or (call.history[last].content if last >= 0 else "")
        since = call.history[last + 1 :]
        observed = [Passage(message.content) for message in since if message.role in (MessageRole.TOOL, MessageRole.FUNCTION)]
        if observed:
            return self._conclude(query, observed), ()
        if not call.tools or call.tool_choice == "none":
            return in_language_of(query, fixed_replies.NO_MODEL), ()
        cards = [choices.card_of(tool) for tool in call.tools]
        wanted = [card for card in cards if call.tool_choice in ("auto", "required", card.name)]
        use = choices.choose_tool(self._evidence, query, wanted)
        if use is None:
            return in_language_of(query, fixed_replies.NO_TOOL), ()
        function = {"name": use.name, "arguments": json.dumps(dict(use.arguments), ensure_ascii=False)}
        return "", ({"id": f"call_{len(call.history)}", "type": "function", "function": function},)

    def _conclude(self, query: str, observed: Sequence[Passage]) -> str:
        """An answer from what tools gave: all of it where it is short; as they said it where they found nothing."""
        quotes = _quotes(observed)
        if not quotes and (refused := [passage.text for passage in observed if is_refusal(passage.text)]):
            return refused[0]
        return self._combine(query, observed) if len(quotes) > MAX_SENTENCES or not quotes else joined(quotes)


def _in_form(call: LLMCall, answer: str) -> str:
    """As JSON where the call wants that; of a schema with one needed text, that text is the answer."""
    if call.prompt.name.startswith(STRUCTURED):
        return json.dumps({"answer": answer, "query_satisfied": not is_refusal(answer)}, ensure_ascii=False)
    schema = json.loads(as_text(call.variables.get("output_schema", "{}")))
    match [name for name in schema.get("required", ()) if schema["properties"][name].get("type") == "string"]:
        case [name] if schema["required"] == [name]:
            return json.dumps({name: answer}, ensure_ascii=False)
    return answer


def _number(told: Variables, name: str, default: int) -> int:
    said = as_text(told.get(name, ""))
    return int(said) if said.strip().isdecimal() else default


def _of(kind: type[Kind], value: Variable) -> list[Kind]:
    return [item for item in value if isinstance(item, kind)]


def _passages(value: Variable) -> list[Passage]:
    if isinstance(value, str):
        return [Passage(value)] if value else []
    return _of(Passage, value)


def _quotes(passages: Sequence[Passage]) -> list[Quote]:
    return distinct(
        quote
        for at, passage in enumerate(passages)
        for quote in _worth_quoting(quotes_in(passage.text, number=passage.number, source=passage.source, passage=at))
    )


def _worth_quoting(quotes: Sequence[Quote]) -> list[Quote]:
    return [quote for quote in quotes if not is_refusal(quote.text)]
