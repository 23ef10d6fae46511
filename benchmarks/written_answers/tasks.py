"""Work for agents, selectors and question dividers, about the invented documents of
benchmarks/everyday_documents.

A task of an agent is done when its answer has all that is expected, every tool that it needs was called and
answered, and no call appears as text.
"""

from __future__ import annotations

import ast
import operator
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.written_answers.answers import Row
from ragcore import Document, VectorStoreIndex
from ragcore.agent import FunctionCallingAgent, ReActAgent
from ragcore.embeddings.base import Embedder
from ragcore.errors import RagError
from ragcore.llamaindex.query_engine.sub_question_query_engine import SubQuestionQueryEngine
from ragcore.llms.base import LLM
from ragcore.node_parser import SentenceSplitter
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import QueryBundle, Response
from ragcore.selectors import get_selector_from_llm
from ragcore.tools import FunctionTool, QueryEngineTool, RetrieverTool, Tool, ToolMetadata

DOCUMENTS = Path(__file__).parents[1] / "everyday_documents"
ABOUT = {
    "gym_prices": "Prices, opening hours and courses of the gym Ironbridge Fitness.",
    "hotel_information": "What guests of the Hotel Seeblick need to know: breakfast, Wi-Fi, pool, "
    "parking, pets.",
    "garden_invoice": "The invoice of Greenfinch Garden Services for work in Mrs Vartan's garden.",
    "rental_agreement": "The contract for renting a flat: rent, deposit, notice, repairs.",
    "bus_timetable_47": "The timetable of bus 47.",
    "lentil_soup": "A recipe for lentil soup.",
}
PASSAGE_TOKENS = 200


@dataclass(frozen=True)
class Task:
    """`expected`: groups of strings, of each of which the answer has one."""

    question: str
    tools: tuple[str, str]
    expected: tuple[tuple[str, ...], ...]


WITH_CALCULATOR, TWO_DOCUMENTS = ("gym_prices", "calculate"), ("gym_prices", "hotel_information")
TASKS = (
    Task("What do twelve months of the Standard membership of the gym cost, without the joining fee?",
         WITH_CALCULATOR,
         (("442.8",),)),
    Task("What is the phone number of the gym, and what is the Wi-Fi password of the hotel?", TWO_DOCUMENTS,
         (("0555 734 210",), ("lakeswan58",))),
    Task("What do 13 day passes of the gym cost together?", WITH_CALCULATOR, (("182",),)),
    Task("What does a dog cost per night in the hotel, and who teaches yoga in the gym?", TWO_DOCUMENTS,
         (("12",), ("Noemi",))),
    Task("How much more does the Premium membership of the gym cost per month than the Student membership?",
         WITH_CALCULATOR,
         (("22.0", "22 ", "22."),)),
    Task("When does breakfast begin in the hotel at weekends, and when does the gym open on Saturdays?",
         TWO_DOCUMENTS,
         (("7:30",), ("8:00", "8 am", "8 a.m."))),
    Task("What do 17 hours with a personal trainer of the gym cost?", WITH_CALCULATOR, (("935",),)),
    Task("What does smoking in a room of the hotel cost, and what does the gym charge for a lost chip card?",
         TWO_DOCUMENTS,
         (("150",), ("12",))),
    Task("What does one visit cost with the ten-visit card of the gym?", WITH_CALCULATOR,
         (("11.0", "11 ", "11."),)),
    Task("Who opens a locked safe in the hotel, and for how long may a membership of the gym be paused?",
         TWO_DOCUMENTS,
         (("Brandl",), ("three months", "3 months"))),
)  # fmt: skip

# Which documents serve a question.
SELECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("What does the sauna cost in the hotel, and in the gym?", ("gym_prices", "hotel_information")),
    ("Which of my papers say something about a deposit or an amount that I must pay each month?",
     ("rental_agreement", "gym_prices")),
    ("Until when do I have to pay for the hedge?", ("garden_invoice",)),
    ("When does the last bus leave, and until when is the hotel's reception open?",
     ("bus_timetable_47", "hotel_information")),
    ("How long do the lentils have to cook?", ("lentil_soup",)),
    ("May I keep a dog in the flat, and may I bring it to the hotel?",
     ("rental_agreement", "hotel_information")),
    ("What did the gardener charge for the apple tree, and what does a personal trainer cost?",
     ("garden_invoice", "gym_prices")),
    ("Does the bus run on Sundays, and is the gym open then?", ("bus_timetable_47", "gym_prices")),
    ("What do I need for the soup, and where can I have breakfast?", ("lentil_soup", "hotel_information")),
    ("Who pays for repairs in the flat, and how much was the work in the garden?",
     ("rental_agreement", "garden_invoice")),
)  # fmt: skip


class Tools:
    """Those that tasks name: a retriever for each document, and a calculator."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Tool] = {"calculate": FunctionTool.from_defaults(calculate)}

    def by_name(self, names: Sequence[str]) -> list[Tool]:
        return [self._known.setdefault(name, self._retriever(name)) for name in names]

    def _retriever(self, name: str) -> Tool:
        if name in self._known:
            return self._known[name]
        path = next(DOCUMENTS.glob(f"{name}.*"))
        splitter = SentenceSplitter(chunk_size=PASSAGE_TOKENS, chunk_overlap=0)
        nodes = splitter.get_nodes_from_documents(
            [Document(path.read_text("utf-8"), metadata={"file_name": path.name})]
        )
        retriever = VectorStoreIndex(nodes, embed_model=self._embedder).as_retriever(similarity_top_k=3)
        return RetrieverTool.from_defaults(retriever, name=name, description=f"Looks up: {ABOUT[name]}")


def calculate(expression: str) -> float:
    """Works out an arithmetic expression, such as 3 * (4.5 + 2)."""
    return _value(ast.parse(expression, mode="eval").body)


_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return round(_OPERATORS[type(sign)](_value(left), _value(right)), 9)
    raise ValueError("only numbers, + - * / and brackets are understood")


def work_on(task: Task, agent: str, llm: LLM, tools: Tools) -> Row:
    """`agent` is "function calling" or "ReAct"."""
    kind = FunctionCallingAgent if agent == "function calling" else ReActAgent
    began = time.perf_counter()
    row: Row = {"agent": agent, "question": task.question, "expected": task.expected, "tools": task.tools}
    try:
        reply = kind.from_tools(tools.by_name(task.tools), llm=llm).chat(task.question)
    except RagError as error:
        return {
            **row,
            "answer": "",
            "problem": error.what,
            "called": [],
            "replies": [],
            "seconds": time.perf_counter() - began,
        }
    replies = [step.facts.get("reply", "") for step in (reply.trace.spans("llm") if reply.trace else ())]
    called = [output.tool_name for output in reply.sources if not output.is_error]
    seconds = time.perf_counter() - began
    return {
        **row,
        "answer": reply.response,
        "problem": "",
        "called": called,
        "replies": replies,
        "seconds": seconds,
    }


def is_done(row: Mapping[str, Any]) -> bool:
    answer = re.sub(r"(?<=\d),(?=\d{3}\b)", "", row["answer"]) + " "
    return (
        all(any(each in answer for each in group) for group in row["expected"])
        and set(row["tools"]) <= set(row["called"])
        and not _CALL_AS_TEXT.search(answer)
    )


_CALL_AS_TEXT = re.compile(
    r'"(?:name|arguments|parameters)"\s*:|</?tool_call>|^Action(?: Input)?:', re.MULTILINE
)


def select(question: str, gold: Sequence[str], llm: LLM) -> Row:
    names = list(ABOUT)
    choices = [ToolMetadata(description, name) for name, description in ABOUT.items()]
    began = time.perf_counter()
    result = get_selector_from_llm(llm, is_multi=True).select(choices, question)
    chosen = [names[index] for index in result.inds]
    return {
        "kind": "selection",
        "question": question,
        "gold": gold,
        "chosen": chosen,
        "seconds": time.perf_counter() - began,
    }


class _Silent:
    """Replaces the engines, because only their selection is measured."""

    def query(self, query: str | QueryBundle) -> Response:
        return Response("")


def divide(question: str, gold: Sequence[str], llm: LLM) -> Row:
    tools = [
        QueryEngineTool.from_defaults(_Silent(), name, description) for name, description in ABOUT.items()
    ]
    engine = SubQuestionQueryEngine.from_defaults(tools, llm, Synthesizer(llm, "no_text"))
    began = time.perf_counter()
    answer = engine.query(question)
    step = next(iter(answer.trace.spans("divide"))) if answer.trace else None
    parts: list[dict[str, Any]] = step.facts["parts"] if step else []
    chosen = list(dict.fromkeys(part["tool_name"] for part in parts))
    row = {"kind": "sub-questions", "question": question, "gold": gold, "chosen": chosen, "parts": parts}
    return {**row, "seconds": time.perf_counter() - began}
