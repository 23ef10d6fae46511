"""Answers without a language model: quotes the sentences that answer, with citations, and adds nothing.

It ignores the wording of a prompt and answers by its task and its variables. It needs no server, gives the
same answer every time, and cannot state anything that is not in the documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any, TypeVar

from ragcore.embeddings.base import Embedder
from ragcore.extractive import choices, fixed_replies
from ragcore.extractive.conversation_summary import summarize_turns
from ragcore.extractive.fixed_replies import (
    best_replies,
    closest_passages,
    in_language_of,
    is_closest,
    is_refusal,
    nothing_about,
    without_heading,
)
from ragcore.extractive.follow_up import add_topic, remove_topic
from ragcore.extractive.judge import Judge
from ragcore.extractive.languages.source_mentions import remove_source_mentions
from ragcore.extractive.question_generation import questions_in
from ragcore.extractive.reader import MAX_QUOTED, Reader, Reading, candidates
from ragcore.extractive.summary import summarize
from ragcore.extractive.summary_requests import is_summary_request
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.prompts import wording
from ragcore.prompts.prompt import (
    Choice,
    Passage,
    RenderedMessage,
    Task,
    ToolCard,
    Variable,
    Variables,
    as_text,
)
from ragcore.schema import ChatMessage, MessageRole, Outcome
from ragcore.text.key_phrases import keywords, rephrase, title
from ragcore.text.quotable_sentences import Quote, distinct, join_quotes, quotes_in
from ragcore.text.quotable_units import LISTED
from ragcore.text.salience import centrality

Kind = TypeVar("Kind", Choice, ToolCard, Passage, ChatMessage)

NO_MODEL = fixed_replies.NO_MODEL["en"]

CANDIDATES_PER_QUESTION = 4  # candidates for each requested question
MAX_KEYWORDS = 10  # by default

_PIECE = re.compile(r"\s*(?:\S+\s*){1,3}|\s+")


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` with its citations. `outcome` is None if no passages were searched."""

    text: str
    outcome: Outcome | None


class ExtractiveLLM(LLM):
    """An LLM that only quotes. Safe to share between threads.

    >>> from ragcore.embeddings.hashing import HashEmbedding
    >>> llm = ExtractiveLLM(HashEmbedding())
    >>> reading = llm.read("When did the office open?", [Passage("It is red. The office opened in 1998.", 1)])
    >>> reading.outcome, [str(quote) for quote in reading.quotes]
    ('answer', ['The office opened in 1998. [1]'])
    """

    def __init__(self, embedder: Embedder) -> None:
        self._reader = Reader(embedder)
        self._judge = Judge(self._reader)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata("extractive", context_window=32_000, num_output=512, is_extractive=True)

    def read(self, query: str, passages: Sequence[Passage]) -> Reading:
        """Reads the passages for the question. If a follow-up has no answer, it is read again without the
        words in brackets: "What about the boat? (lead marketing)" as "What about the boat?"."""
        question = remove_source_mentions(query)
        reading = self._reader.read(question, passages)
        alone = remove_topic(question)
        if reading.outcome == "answer" or alone == question:
            return reading
        read_alone = self._reader.read(alone, passages)
        return read_alone if read_alone.outcome == "answer" or reading.outcome == "nothing" else reading

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        tool_calls: tuple[dict[str, Any], ...] = ()
        if call.tools or call.prompt.name == wording.AGENT.name:
            reply, tool_calls = self._act(call)
        else:
            reply = self._reply(call)
        if isinstance(reply, str):
            reply = Answer(reply, None)
        usage = self.usage(messages, reply.text, call.tools, tool_calls)
        return Generation(reply.text, usage, tool_calls, outcome=reply.outcome)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._generate(call, messages)
        yield from _PIECE.findall(generation.text)
        return generation

    def _reply(self, call: LLMCall) -> Answer | str:
        variables = call.variables
        query = as_text(variables.get("query_str", ""))
        passages = _passages(variables.get("context_str", ()))
        match call.prompt.task:
            case Task.ANSWER:
                return _in_form(call, self._respond(query, passages))
            case Task.REFINE:
                return _in_form(call, self._refine(query, as_text(variables["existing_answer"]), passages))
            case Task.SUMMARIZE:
                return _in_form(call, self._combine(query, passages))
            case Task.CONDENSE:
                return add_topic(as_text(variables["question"]), _of(ChatMessage, variables["chat_history"]))
            case Task.CHAT:
                reads = "context_str" in variables
                return (
                    self._respond(query, passages) if reads else in_language_of(query, fixed_replies.NO_MODEL)
                )
            case Task.GENERATE:
                return in_language_of(query, fixed_replies.NO_MODEL)
            case Task.JUDGE:
                return self._verdict(call.prompt.name, query, variables, passages)
            case Task.ACT:
                return self._react(query, variables)
            case _:
                return self._prepare(call, query, passages)

    def _prepare(self, call: LLMCall, query: str, passages: Sequence[Passage]) -> str:
        """The tasks of indexes, retrievers and memory: choices, keywords, titles and questions."""
        variables = call.variables
        match call.prompt.task:
            case Task.SELECT:
                options = _of(Choice, variables["choices"])
                most = (
                    _number(variables, "max_outputs", len(options))
                    if "max_outputs" in call.prompt.variables
                    else 1
                )
                return choices.select(self._reader, query, options, most)
            case Task.DIVIDE:
                return choices.divide(self._reader, query, _of(Choice, variables["choices"]))
            case Task.RANK:
                return choices.rank(self._reader, query, passages)
            case Task.DIRECTION:
                return choices.direction(query, "\n\n".join(passage.text for passage in passages))
            case Task.KEYWORDS:
                most = _number(variables, "max_keywords", MAX_KEYWORDS)
                return f"KEYWORDS: {', '.join(keywords(as_text(variables['text']), most))}"
            case Task.TITLE:
                return self._title(passages, of_parts=call.prompt.name == wording.TITLE_OF_DOCUMENT.name)
            case Task.QUESTIONS:
                return self._questions(passages, _number(variables, "num_questions", 5))
            case Task.REPHRASE if call.prompt.name == wording.DECOMPOSE.name:
                return "None" if as_text(variables.get("existing_answer", "")).strip() else query
            case Task.REPHRASE:
                return "\n".join(rephrase(query, _number(variables, "num_queries", 1)))
            case Task.IMAGINE:
                return query  # a hypothetical passage would not be a quotation
            case _:  # Task.REMEMBER
                return summarize_turns(_of(ChatMessage, variables["chat_history"]))

    def _respond(self, query: str, passages: Sequence[Passage]) -> Answer:
        if is_summary_request(query):
            return _summary(summarize(self._reader.vectors, query, passages))
        return _answer(query, self.read(query, passages))

    def _combine(self, query: str, passages: Sequence[Passage]) -> Answer:
        # Passages without numbers, but with citations, are partial answers.
        earlier = all(passage.number is None for passage in passages) and any(
            quote.marks for quote in candidates(passages)
        )
        if query.strip() and not is_summary_request(query):
            answers = [passage for passage in passages if not is_refusal(passage.text)] if earlier else []
            if answers:
                reading = self.read(query, answers)
                return Answer(join_quotes(reading.quotes or reading.best_first[:MAX_QUOTED]), "answer")
            quoted = [replace(passage, text=without_heading(passage.text)) for passage in passages]
            return _answer(query, self.read(query, quoted))
        return _summary(summarize(self._reader.vectors, query, passages, again=earlier))

    def _refine(self, query: str, existing: str, passages: Sequence[Passage]) -> Answer:
        quotes = quotes_in(without_heading(existing), number=None, passage=len(passages))
        if not existing.strip() or (is_refusal(existing) and not is_closest(existing)):
            return self._respond(query, passages)
        before = Answer(existing, "closest" if is_refusal(existing) else "answer")
        if is_summary_request(query):
            new = summarize(self._reader.vectors, query, passages)
            answer = _summary(
                summarize(self._reader.vectors, query, [Passage(existing), Passage(new)], again=True)
            )
        else:
            everything = distinct([*quotes, *candidates(passages)])
            reading = self._reader.read_quotes(
                remove_source_mentions(query), everything, [*(passage.relevance for passage in passages), 1.0]
            )
            if (reading.outcome, before.outcome) == ("answer", "closest") and reading.best_first[0] in quotes:
                return before  # a closest passage is no answer only because another passage was read with it
            answer = _answer(query, reading)
        new_texts = {quote.text for quote in quotes_in(without_heading(answer.text), number=None)}
        worse = answer.outcome == "nothing" or (answer.outcome, before.outcome) == ("closest", "answer")
        nothing_new = new_texts <= {quote.text for quote in quotes} and answer.outcome == before.outcome
        return before if worse or nothing_new else answer

    def _title(self, passages: Sequence[Passage], *, of_parts: bool) -> str:
        """The heading or keywords of a passage. Of several passages or titles, the most central."""
        texts = [passage.text for passage in passages]
        titles = (
            [line for text in texts for line in text.splitlines() if line.strip()]
            if of_parts
            else map(title, texts)
        )
        titles = list(filter(None, titles))
        return titles[int(centrality(self._reader.vectors.embed(titles)).argmax())] if titles else ""

    def _questions(self, passages: Sequence[Passage], most: int) -> str:
        tried = islice(
            questions_in("\n\n".join(passage.text for passage in passages)), CANDIDATES_PER_QUESTION * most
        )
        answered = (question for question in tried if self.read(question, passages).outcome == "answer")
        return "\n".join(islice(answered, most))

    def _verdict(self, kind: str, query: str, variables: Variables, passages: Sequence[Passage]) -> str:
        response, reference = as_text(variables.get("response", "")), as_text(variables.get("reference", ""))
        match kind:
            case wording.FAITHFULNESS.name:
                return self._judge.judge_faithfulness(response, passages)
            case wording.RELEVANCY.name:
                return self._judge.judge_relevancy(query, response, passages)
            case wording.CONTEXT_RELEVANCY.name:
                return self._judge.judge_context(query, passages)
            case wording.CORRECTNESS.name:
                return self._judge.grade_answer(query, response, reference)
            case wording.PAIRWISE.name:
                return self._judge.compare(query, response, as_text(variables["second_response"]), reference)
            case wording.GUIDELINE.name:
                return self._judge.judge_guidelines(as_text(variables["guidelines"]), query, response)
            case _:
                return self._judge.judge_answer(query, response)

    def _react(self, query: str, variables: Variables) -> Answer | str:
        observed = _passages(variables.get("observations", ()))
        if observed:
            answer = self._conclude(query, observed)
            return replace(answer, text=f"Thought: I can answer now.\nAnswer: {answer.text}")
        call = choices.choose_tool(self._reader, query, _of(ToolCard, variables.get("tools", ())))
        if call is None:
            return f"Thought: The tools cannot help.\nAnswer: {in_language_of(query, fixed_replies.NO_TOOL)}"
        name, arguments = call
        return f"Thought: I need to ask {name}.\nAction: {name}\nAction Input: {arguments}"

    def _act(self, call: LLMCall) -> tuple[Answer | str, tuple[dict[str, Any], ...]]:
        """An answer from the tool results since the last user message, or else a tool call."""
        last = max(
            (at for at, message in enumerate(call.history) if message.role is MessageRole.USER), default=-1
        )
        query = as_text(call.variables.get("query_str", "")) or (
            call.history[last].content if last >= 0 else ""
        )
        since = call.history[last + 1 :]
        observed = [
            Passage(message.content)
            for message in since
            if message.role in (MessageRole.TOOL, MessageRole.FUNCTION)
        ]
        if observed:
            return self._conclude(query, observed), ()
        if not call.tools or call.tool_choice == "none":
            return in_language_of(query, fixed_replies.NO_MODEL), ()
        cards = [choices.card_of(tool) for tool in call.tools]
        allowed = [card for card in cards if call.tool_choice in ("auto", "required", card.name)]
        chosen = choices.choose_tool(self._reader, query, allowed)
        if chosen is None:
            return in_language_of(query, fixed_replies.NO_TOOL), ()
        function = dict(zip(("name", "arguments"), chosen, strict=True))
        return "", ({"id": f"call_{len(call.history)}", "type": "function", "function": function},)

    def _conclude(self, query: str, observed: Sequence[Passage]) -> Answer:
        """An answer from the results of tools: all sentences if they are few, and refusals unchanged."""
        answers = [passage for passage in observed if not is_refusal(passage.text)]
        if not answers and observed:
            best = best_replies([passage.text for passage in observed], query)
            return Answer("\n\n".join(best), "closest" if is_closest(best[0]) else "nothing")
        quotes = candidates(answers)
        return (
            Answer(join_quotes(quotes), "answer")
            if 0 < len(quotes) <= MAX_QUOTED
            else self._combine(query, answers)
        )


def _in_form(call: LLMCall, answer: Answer) -> Answer:
    """Convert the answer to JSON if the call requires it. In a schema with one required string, that string
    is the answer."""
    if call.prompt.name.startswith(wording.STRUCTURED):
        satisfied = answer.outcome == "answer"
        text = json.dumps({"answer": answer.text, "query_satisfied": satisfied}, ensure_ascii=False)
        return Answer(text, "answer" if satisfied else "nothing")
    schema = json.loads(as_text(call.variables.get("output_schema", "{}")))
    match [name for name in schema.get("required", ()) if schema["properties"][name].get("type") == "string"]:
        case [name] if schema["required"] == [name]:
            return replace(answer, text=json.dumps({name: answer.text}, ensure_ascii=False))
    return answer


def _number(variables: Variables, name: str, default: int) -> int:
    text = as_text(variables.get(name, ""))
    return int(text) if text.strip().isdecimal() else default


def _of(kind: type[Kind], value: Variable) -> list[Kind]:
    return [item for item in value if isinstance(item, kind)]


def _passages(value: Variable) -> list[Passage]:
    if isinstance(value, str):
        return [Passage(value)] if value else []
    return _of(Passage, value)


def _answer(query: str, reading: Reading) -> Answer:
    match reading.outcome:
        case "answer":
            return Answer(join_quotes(reading.quotes), "answer")
        case "closest":
            places = groupby(reading.quotes, lambda quote: quote.passage)
            paragraphs = [_paragraph(list(quotes)) for _, quotes in places]
            return Answer(closest_passages(query, "\n\n".join(paragraphs)), "closest")
    return Answer(nothing_about(query), "nothing")


def _paragraph(quotes: Sequence[Quote]) -> str:
    """The quotes of one passage. What stands below another heading is no continuous text, so it begins a
    line."""
    text = ""
    for _, below in groupby(quotes, lambda quote: quote.lead):
        ends_with_list = LISTED.match(text.rpartition("\n")[2]) is not None
        line = "\n\n" if ends_with_list else "  \n"
        text += (line if text else "") + join_quotes(list(below))
    return text


def _summary(text: str) -> Answer:
    return Answer(text, "nothing" if is_refusal(text) else "answer")
