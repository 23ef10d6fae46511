"""An LLM for the small tasks of scripts that have chosen none: it chooses, names, rewrites and judges by the
engine that quotes. Answers to questions need no LLM; see `Quoter`.

It ignores the wording of a prompt, and replies by its task and its variables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from ragcore.embeddings.base import Embedder
from ragcore.extractive import choices, fixed_replies
from ragcore.extractive.conversation_summary import summarize_turns
from ragcore.extractive.fixed_replies import best_replies, in_language_of
from ragcore.extractive.follow_up import add_topic
from ragcore.extractive.judge import Judge
from ragcore.extractive.question_generation import questions_in
from ragcore.extractive.quoter import NAME, Answer, Quoter, in_pieces, outcome_of_reply
from ragcore.extractive.reader import MAX_QUOTED, candidates
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
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.key_phrases import keywords, rephrase, title
from ragcore.text.quotable_sentences import join_quotes
from ragcore.text.salience import centrality

Kind = TypeVar("Kind", Choice, ToolCard, Passage, ChatMessage)

NO_MODEL = fixed_replies.NO_MODEL["en"]

CANDIDATES_PER_QUESTION = 4  # candidates for each requested question
MAX_KEYWORDS = 10  # by default


class ExtractiveLLM(LLM):
    """An LLM that only quotes. Safe to share between threads.

    >>> from ragcore.embeddings.hashing import HashEmbedding
    >>> str(ExtractiveLLM(HashEmbedding()).complete("When did the office open?"))[:30]
    'Without a language model I can'
    """

    def __init__(self, embedder: Embedder, quoter: Quoter | None = None) -> None:
        """`quoter` is the engine, by default a new one with this embedder."""
        self.quoter = quoter or Quoter(embedder)
        self._reader = self.quoter.reader

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self._reader)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(NAME, context_window=32_000, num_output=512)

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
        yield from in_pieces(generation.text)
        return generation

    def _reply(self, call: LLMCall) -> Answer | str:
        variables = call.variables
        query = as_text(variables.get("query_str", ""))
        passages = _passages(variables.get("context_str", ()))
        match call.prompt.task:
            case Task.ANSWER:
                return _in_form(call, self.quoter.answer(query, passages))
            case Task.CHAT if "context_str" in variables:
                return self.quoter.answer(query, passages)
            case Task.CHAT | Task.GENERATE:
                return self.quoter.answer_without_passages(query)
            case Task.REFINE:
                existing = as_text(variables["existing_answer"])
                answer = Answer(existing, outcome_of_reply(existing))
                return _in_form(call, self.quoter.refine(query, answer, passages))
            case Task.SUMMARIZE:
                return _in_form(call, self.quoter.summarize(query, passages))
            case Task.CONDENSE:
                history = _of(ChatMessage, variables["chat_history"])
                return add_topic(as_text(variables["question"]), history)
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
        readings = ((question, self.quoter.quote(question, passages)) for question in tried)
        answered = (question for question, reading in readings if reading.outcome == "answer")
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
        replies = [(passage.text, outcome_of_reply(passage.text)) for passage in observed]
        answers = [Passage(text) for text, outcome in replies if outcome == "answer"]
        if not answers and observed:
            outcomes = {outcome for _text, outcome in replies}
            best = "\n\n".join(best_replies(replies, query))
            return Answer(best, "closest" if "closest" in outcomes else "nothing")
        quotes = candidates(answers)
        return (
            Answer(join_quotes(quotes), "answer")
            if 0 < len(quotes) <= MAX_QUOTED
            else self.quoter.summarize(query, answers)
        )


Writer: TypeAlias = LLM | Quoter
"""What answers a question: a model that writes, or the engine that quotes."""


def writer_of(llm: Writer) -> Writer:
    """The engine itself in the place of an LLM that only quotes."""
    return llm.quoter if isinstance(llm, ExtractiveLLM) else llm


def as_llm(writer: Writer) -> LLM:
    """The model; for the engine, an LLM for small tasks such as judging."""
    return writer if isinstance(writer, LLM) else ExtractiveLLM(writer.reader.vectors.embedder, writer)


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
