"""What the reader without a model answers to calls that are no questions about passages: in the form that
parsers read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import NO_MODEL, ExtractiveLLM
from ragcore.extractive.fixed_replies import NO_TOOL, is_refusal, nothing_about
from ragcore.llms.base import Generation, LLMCall
from ragcore.prompts import wording
from ragcore.prompts.prompt import Choice, Passage, Prompt, Task, ToolCard, Variable
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.schema import ChatMessage, MessageRole

HANDBOOK = Passage(
    "# Lisbon\n\nThe office in Lisbon opened in March 1998. Employees get 25 days of vacation each year. "
    "Parking is free for visitors because the town pays.",
    1,
    "handbook.pdf, page 3",
)
MINUTES = Passage("The board met on Monday. Maria Silva was elected chair of the board.", 2, "minutes.docx")
BOTH = (HANDBOOK, MINUTES)
TOOLS = (
    Choice(1, "Recipes of cakes and bread", "cook_book"),
    Choice(2, "Rules for employees: vacation, parking, sick leave", "handbook"),
    Choice(3, "What the board decided: chair, budget", "minutes"),
)


def generate(
    prompt: Prompt, history: Sequence[ChatMessage] = (), functions: Sequence[Any] = (), **told: Variable
) -> Generation:
    return ExtractiveLLM(HashEmbedding()).generate(LLMCall(prompt, told, tuple(history), tuple(functions)))


def ask(prompt: Prompt, **told: Variable) -> str:
    return generate(prompt, **told).text


def chosen(prompt: Prompt, query: str, **told: Variable) -> list[int]:
    reply = json.loads(ask(prompt, query_str=query, choices=TOOLS, **told))
    assert all(entry["reason"] for entry in reply)
    return [entry["choice"] for entry in reply]


def test_every_task_has_an_answer_in_a_prompt_of_ours() -> None:
    values: dict[str, Variable] = {
        **dict.fromkeys(
            ("query_str", "question", "response", "second_response", "reference", "guidelines"),
            "Who is chair?",
        ),
        **dict.fromkeys(
            ("existing_answer", "existing_facts", "info_str", "system_prompt", "tool_names", "text"),
            "The board chose a chair.",
        ),
        **dict.fromkeys(("max_outputs", "max_keywords", "max_facts", "num_questions", "num_queries"), "2"),
        "context_str": BOTH,
        "chat_history": (ChatMessage(MessageRole.USER, "Hello"),),
        "choices": TOOLS,
        "tools": (ToolCard("minutes", "", "{}"),),
    }
    ours = [prompt for prompt in vars(wording).values() if isinstance(prompt, Prompt)]
    assert {prompt.task for prompt in ours} == set(Task)
    for prompt in ours:
        reply = ask(prompt, **{name: values[name] for name in prompt.variables})
        assert reply, prompt.name
        assert reply == ask(prompt, **{name: values[name] for name in prompt.variables})


def test_the_choice_nearest_to_the_question_is_selected() -> None:
    assert chosen(wording.SELECT_SINGLE, "How many days of vacation do employees get?") == [2]
    assert chosen(wording.SELECT_SINGLE, "Who is chair of the board?") == [3]


def test_further_choices_need_a_near_score_and_the_limit() -> None:
    both = "vacation parking chair budget"
    assert sorted(chosen(wording.SELECT_MULTI, both, max_outputs="3")) == [2, 3]
    assert len(chosen(wording.SELECT_MULTI, both, max_outputs="1")) == 1
    assert chosen(wording.SELECT_MULTI, "cakes and bread", max_outputs="3") == [1]


def test_only_passages_that_help_are_ranked_the_best_first() -> None:
    question = "Who was elected chair of the board?"
    assert re.fullmatch(
        r"Doc: 2, Relevance: \d+", ask(wording.CHOICE_SELECT, query_str=question, context_str=BOTH)
    )
    third = Passage("Some people on the board think that the chair matters.", 3)
    lines = ask(wording.CHOICE_SELECT, query_str=question, context_str=(third, *BOTH)).splitlines()
    found = [tuple(map(int, re.findall(r"\d+", line))) for line in lines]
    assert found[0][0] == 2
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert all(1 <= score <= 10 for _, score in found)
    assert ask(wording.CHOICE_SELECT, query_str="How is bread baked?", context_str=BOTH) == ""


def keywords(text: str, most: str) -> list[str]:
    reply = ask(wording.KEYWORD_EXTRACT, text=text, max_keywords=most)
    assert reply.startswith("KEYWORDS: ")
    return [word for word in reply.removeprefix("KEYWORDS: ").split(", ") if word]


def test_keywords_are_names_and_frequent_words_as_spelt() -> None:
    text = "In old mills, the Grand Canal drives the wheels. The wheels of mills turn, and mills make flour."
    assert keywords(text, "3") == ["mills", "wheels", "Grand Canal"]
    assert keywords("the of and", "3") == []
    assert keywords("People made things: people worked at looms.", "2") == ["looms", "People"]
    assert keywords("埃菲尔铁塔是铁塔", "1") == ["铁塔"]


@given(
    st.lists(
        st.sampled_from(["the", "mill", "mills", "Paris", "7", ",", ".", "\n", "-", "l'été", "水火山"])
    ).map(" ".join),
    st.integers(0, 5),
)
def test_keywords_stand_in_the_text_and_none_comes_twice(text: str, most: int) -> None:
    found = keywords(text, str(most))
    assert len(found) == len(set(found)) <= most
    assert all(word.lower() in text.lower() for word in found)


def test_passage_title_is_its_heading_or_else_its_words() -> None:
    assert ask(wording.TITLE_OF_PASSAGE, context_str=(HANDBOOK,)) == "Lisbon"
    assert ask(wording.TITLE_OF_PASSAGE, context_str="mills turn. old mills") == "mills, turn, old"
    titles = "Mills in Flanders\n\nWater mills in Flanders and Brabant\n\nAppendix"
    assert "Flanders" in ask(wording.TITLE_OF_DOCUMENT, context_str=titles)


@pytest.mark.parametrize("text", ["---", "?!", "😀"])
def test_a_passage_without_words_has_no_title(text: str) -> None:
    assert ask(wording.TITLE_OF_PASSAGE, context_str=text) == ""


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The office in Lisbon opened in March 1998.", "When did the office in Lisbon open?"),
        ("The Eiffel Tower was completed in 1889.", "When was the Eiffel Tower completed?"),
        ("The old mill is closed because the river is dry.", "Why is the old mill closed?"),
        ("The building has 25 rooms.", "How many rooms does the building have?"),
        ("Northwind Health is a health insurer.", "What is Northwind Health?"),
        ("Maria Silva was the chair of the board.", "Who was Maria Silva?"),
        ("Der Eiffelturm ist ein Turm in Paris.", "Was ist der Eiffelturm?"),
        ("La tour Eiffel est une tour de fer.", "Qu'est-ce que la tour Eiffel ?"),
        ("El Prado es un museo de Madrid.", "¿Qué es el Prado?"),
        ("埃菲尔铁塔是一座铁塔。", "埃菲尔铁塔是什么？"),
        ("May I bring my dog?\nYes, it rides free.", "May I bring my dog?"),
    ],
)
def test_a_sentence_becomes_the_question_that_it_answers(sentence: str, question: str) -> None:
    asked = ask(wording.QUESTIONS, context_str=sentence, num_questions="5").splitlines()
    assert asked[0] == question


def test_generated_question_is_answered_and_self_contained() -> None:
    passage = Passage(f"{HANDBOOK.text} It was painted in 1999. He is a king.", 1)
    asked = ask(wording.QUESTIONS, context_str=(passage,), num_questions="6").splitlines()
    assert len(asked) == len(set(asked)) >= 3
    assert not any(
        is_refusal(ask(wording.TEXT_QA, query_str=question, context_str=(passage,))) for question in asked
    )
    assert not any(re.search(r"\b(?:it|he) (?:painted)?\?$", question, re.IGNORECASE) for question in asked)


def test_question_that_leans_on_earlier_text_is_skipped() -> None:
    text = "The loom is old.\nWho made it?\nNobody knows who made it.\nWho made the loom?\nAnn Lee made it."
    asked = ask(wording.QUESTIONS, context_str=text, num_questions="9").splitlines()
    assert "Who made it?" not in asked
    assert "Who made the loom?" in asked


def test_question_without_answer_in_the_passage_is_skipped() -> None:
    passage = Passage("埃菲尔铁塔是一座铁塔。它位于巴黎。巴黎的铁塔很高。", 1)
    asked = ask(wording.QUESTIONS, context_str=(passage,), num_questions="5").splitlines()
    assert asked
    assert not any(
        is_refusal(ask(wording.TEXT_QA, query_str=question, context_str=(passage,))) for question in asked
    )


def test_a_question_is_rephrased_in_its_own_words() -> None:
    question = "How many days of vacation do employees get in Lisbon?"
    ways = ask(wording.REPHRASE, query_str=question, num_queries="3").splitlines()
    assert ways[:2] == ["days vacation employees get Lisbon", "days of vacation do employees get in Lisbon"]
    assert len(ways) == len(set(ways)) == 3
    assert question not in ways
    assert ask(wording.REPHRASE, query_str="who", num_queries="3") == "who"


def test_a_chain_of_questions_asks_the_question_once() -> None:
    assert (
        ask(wording.DECOMPOSE, query_str="Who is chair?", context_str="minutes", existing_answer="")
        == "Who is chair?"
    )
    assert (
        ask(wording.DECOMPOSE, query_str="Who is chair?", context_str="minutes", existing_answer="Maria.")
        == "None"
    )


def test_nothing_is_imagined() -> None:
    assert ask(wording.HYDE, query_str="Who is chair?") == "Who is chair?"


def divided(query: str) -> list[tuple[str, str]]:
    reply = json.loads(ask(wording.SUB_QUESTIONS, query_str=query, choices=TOOLS))
    return [(entry["sub_question"], entry["tool_name"]) for entry in reply]


def test_question_splits_at_and_with_a_tool_for_each_part() -> None:
    assert divided("How many days of vacation are there and who is chair of the board?") == [
        ("How many days of vacation are there", "handbook"),
        ("who is chair of the board?", "minutes"),
    ]
    assert [part for part, _ in divided("Compare the budget of Lisbon with Porto.")] == [
        "Compare the budget of Lisbon.",
        "Compare the budget of Porto.",
    ]


def test_question_naming_tools_goes_to_them_else_to_the_best() -> None:
    both = "What do the handbook and the minutes say?"
    assert divided(both) == [(both, "handbook"), (both, "minutes")]
    assert divided("Which cakes are there?") == [("Which cakes are there?", "cook_book")]
    assert json.loads(ask(wording.SUB_QUESTIONS, query_str="Why?", choices=())) == []


def card(name: str, description: str, **kinds: str) -> ToolCard:
    return ToolCard(name, description, json.dumps(schema(**kinds)))


def schema(**kinds: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(kinds),
    }


CARDS = (
    card("multiply", "Multiply two numbers", a="integer", b="number"),
    card("search_minutes", "Finds what the board decided", input="string"),
    card("delete", "Deletes a folder", path="string"),
)


def react(query: str, cards: tuple[ToolCard, ...] = CARDS, **told: Variable) -> str:
    return ask(wording.REACT, system_prompt="", tool_names="", query_str=query, tools=cards, **told)


def action(text: str) -> tuple[str, Any]:
    found = re.fullmatch(r"Thought: .+\nAction: (\w+)\nAction Input: (\{.*\})", text)
    assert found is not None, text
    return found[1], json.loads(found[2])


def test_the_tool_nearest_to_the_question_is_called_with_it() -> None:
    assert action(react("Who is chair of the board?")) == (
        "search_minutes",
        {"input": "Who is chair of the board?"},
    )
    assert action(react("What is 12 times 3.5?")) == ("multiply", {"a": 12, "b": 3.5})


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("What is 1,234 times 5?", (1234, 5)),
        ("What is -1,234,567.25 times 0.5?", (-1234567.25, 0.5)),
        ("Multiply 1.5 and 1.", (1.5, 1)),
        ("Multiply 12, 345", (12, 345)),
    ],
)
def test_a_number_is_read_with_its_thousands_and_decimals(query: str, numbers: tuple[float, float]) -> None:
    assert action(react(query, CARDS[:1])) == ("multiply", dict(zip("ab", numbers, strict=True)))


@pytest.mark.parametrize(
    "query", ["Multiply 1,5 please", "Multiply 1,5 by 2", "Multiply 0,125 by 8", "Multiply 3.5km by 2"]
)
def test_an_ambiguous_number_is_passed_to_no_tool(query: str) -> None:
    assert react(query, CARDS[:1]).endswith(f"Answer: {NO_TOOL['en']}")


def test_tool_with_non_question_input_is_not_called_by_chance() -> None:
    search = card("search", "Finds things", input="string")
    assert action(react("What is 12 by 34?", (search, CARDS[0])))[0] == "multiply"
    assert react("Who is chair?", CARDS[2:]).endswith(f"Answer: {NO_TOOL['en']}")
    assert react("Who is chair?", CARDS[:1]).endswith(f"Answer: {NO_TOOL['en']}")


def test_what_tools_gave_becomes_the_answer_short_results_whole() -> None:
    assert (
        react("What is 12 times 34?", observations=(Passage("408"),))
        == "Thought: I can answer now.\nAnswer: 408"
    )
    long = Passage(f"{HANDBOOK.text} {MINUTES.text}")
    assert react("Who was elected chair?", observations=(long,)).endswith(
        "Answer: Maria Silva was elected chair of the board."
    )
    assert react("Who?", observations=(Passage(NOTHING_FOUND),)).endswith(f"Answer: {NOTHING_FOUND}")


SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Finds what the board decided",
        "parameters": schema(query="string"),
    },
}
USER = ChatMessage(MessageRole.USER, "Who is chair of the board?")


@pytest.mark.parametrize("prompt", [wording.AGENT, wording.MESSAGES])
def test_a_call_with_tools_gives_a_tool_call_and_then_the_answer(prompt: Prompt) -> None:
    told = dict.fromkeys(prompt.variables, "")
    first = generate(prompt, [USER], [SEARCH], **told)
    assert first.text == ""
    (call,) = first.tool_calls
    assert call["type"] == "function"
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "search",
        {"query": USER.content},
    )
    told_so = ChatMessage(MessageRole.TOOL, MINUTES.text, additional_kwargs={"tool_call_id": call["id"]})
    second = generate(prompt, [USER, first.message, told_so], [SEARCH], **told)
    assert second.tool_calls == ()
    assert "Maria Silva was elected chair of the board." in second.text
    third = generate(prompt, [USER, first.message, told_so, second.message, USER], [SEARCH], **told)
    assert third.tool_calls[0]["id"] != call["id"]


def test_without_a_fitting_tool_there_is_no_call() -> None:
    odd = {
        "type": "function",
        "function": {"name": "delete", "parameters": schema(path="string", force="boolean")},
    }
    assert generate(wording.AGENT, [USER], [odd], system_prompt="").text == NO_TOOL["en"]
    assert generate(wording.AGENT, [USER], system_prompt="").text == NO_MODEL
    call = LLMCall(wording.AGENT, {"system_prompt": ""}, (USER,), (SEARCH,), "none")
    assert ExtractiveLLM(HashEmbedding()).generate(call).tool_calls == ()


OPENED = "When did the Lisbon office open?"


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("The office in Lisbon opened in March 1998. [1]", "YES"),
        ("The Lisbon office opened in 1998.", "YES"),
        ("The Lisbon office opened in 1999.", "NO"),
        ("The office in Lisbon did not open in March 1998.", "NO"),
        ("The office in Lisbon opened in March 1998. It has a garden.", "NO"),
        (NOTHING_FOUND, "NO"),
        ("", "NO"),
    ],
)
def test_faithful_is_what_the_passages_say(statement: str, verdict: str) -> None:
    assert ask(wording.FAITHFULNESS, response=statement, context_str=BOTH).split()[0] == verdict
    both = ask(wording.RELEVANCY, response=statement, context_str=BOTH, query_str=OPENED)
    assert both.split()[0] == verdict
    assert len(both.split()) > 3


@pytest.mark.parametrize(
    ("statement", "passage", "verdict"),
    [
        ("A ticket costs $20.", "A ticket costs €20.", "NO"),
        ("Keep it at 5 °C.", "Keep it at −5 °C.", "NO"),
        ("Dogs are allowed in the tower.", "Nobody may claim that dogs are allowed in the tower.", "NO"),
        ("1 234 Euro is what the hall costs.", "The hall costs 1.234 Euro.", "YES"),
        ("On most days room ٣ is open.", "Room 3 is open on most days.", "YES"),
    ],
)
def test_equal_numbers_in_any_notation_and_sign_are_faithful(
    statement: str, passage: str, verdict: str
) -> None:
    assert (
        ask(wording.FAITHFULNESS, response=statement, context_str=(Passage(passage, 1),)).split()[0]
        == verdict
    )


def test_relevant_is_what_also_answers_the_question() -> None:
    off = "Employees get 25 days of vacation each year."
    assert ask(wording.FAITHFULNESS, response=off, context_str=BOTH).startswith("YES")
    assert ask(wording.RELEVANCY, response=off, context_str=BOTH, query_str=OPENED).startswith("NO")
    assert ask(wording.ANSWER_RELEVANCY, response=off, query_str=OPENED).startswith("NO")
    assert ask(wording.ANSWER_RELEVANCY, response="In March 1998.", query_str=OPENED).startswith("YES")
    assert ask(wording.CONTEXT_RELEVANCY, context_str=BOTH, query_str=OPENED).startswith("YES")
    assert ask(wording.CONTEXT_RELEVANCY, context_str=BOTH, query_str="How is bread baked?").startswith("NO")
    assert ask(wording.CONTEXT_RELEVANCY, context_str=(), query_str=OPENED).startswith("NO")


def grade(response: str) -> float:
    first, reason = ask(
        wording.CORRECTNESS, query_str=OPENED, response=response, reference="It opened in March 1998."
    ).split("\n")
    assert reason
    return float(first)


def test_correctness_falls_with_what_is_missing_or_wrong() -> None:
    assert grade("It opened in March 1998. [1]") == 5
    assert grade("The office opened in March 1998.") >= 4
    assert grade("It opened in March 1999.") <= 2
    assert grade("It opened in 1998.") > grade("It opened in March 1999.")
    assert grade("Cakes are nice.") == grade(NOTHING_FOUND) == 1


def test_the_better_of_two_answers_wins_in_either_order() -> None:
    right, wrong = "It opened in March 1998.", "Cakes are nice."

    def better(one: str, two: str, reference: str) -> str:
        told = {"query_str": OPENED, "response": one, "second_response": two, "reference": reference}
        return ask(wording.PAIRWISE, **told).split()[0]

    for reference in (right, ""):
        assert [better(right, wrong, reference), better(wrong, right, reference)] == ["A", "B"]
        assert better(right, right, reference) == "TIE"


def test_guidelines_are_checked_where_they_can_be_seen() -> None:
    def keeps(response: str, guidelines: str) -> bool:
        return ask(wording.GUIDELINE, query_str=OPENED, response=response, guidelines=guidelines).startswith(
            "YES"
        )

    assert keeps("It opened in March 1998. [1]", "Be brief, use numbers, cite sources.")
    assert not keeps("It opened in March 1998.", "Cite your sources.")
    assert not keeps("The office in Lisbon opened in spring. [1]", "Use statistics.")
    assert not keeps("It opened in March 1998. " + "Indeed it did so. " * 20, "Be concise.")


def test_a_structured_answer_states_whether_it_exists() -> None:
    found = json.loads(
        ask(
            wording.ask_for_verdict(wording.TEXT_QA),
            query_str="Who was elected chair of the board?",
            context_str=BOTH,
        )
    )
    assert found == {"answer": "Maria Silva was elected chair of the board. [2]", "query_satisfied": True}
    missing = json.loads(
        ask(
            wording.ask_for_verdict(wording.REFINE),
            query_str="How is bread baked?",
            context_str=BOTH,
            existing_answer="",
        )
    )
    assert missing == {"answer": nothing_about("How is bread baked?"), "query_satisfied": False}


def test_a_passage_is_summed_up_without_a_question() -> None:
    assert "[2]" in ask(wording.SUMMARY, context_str=BOTH)


def test_a_conversation_is_remembered_in_quotations() -> None:
    talk = (
        ChatMessage(MessageRole.SYSTEM, "Earlier: vacation."),
        ChatMessage(MessageRole.USER, "Who is chair?"),
        ChatMessage(MessageRole.ASSISTANT, "Maria Silva. She was elected."),
        ChatMessage(MessageRole.TOOL, "noise"),
        ChatMessage(MessageRole.USER, "Since when?"),
    )
    expected = "Earlier: vacation.\nAsked: “Who is chair?” Answered: “Maria Silva.”\nAsked: “Since when?”"
    assert ask(wording.REMEMBER, chat_history=talk) == expected
    many = tuple(ChatMessage(MessageRole.USER, f"question {n} " + "word " * 100) for n in range(50))
    remembered = ask(wording.REMEMBER, chat_history=many).splitlines()
    assert len(remembered) == 8
    assert all(len(line) < 220 for line in remembered)


@pytest.mark.parametrize(
    ("question", "passage", "way"),
    [
        ("What happened after the vote?", "The board voted.", "next"),
        ("What led to the vote?", "The board voted.", "previous"),
        ("Who voted?", "She voted with the board.", "previous"),
        ("Who voted?", "The voters were:", "next"),
        ("Who voted?", "The board voted.", "none"),
    ],
)
def test_reading_direction_follows_the_question_and_the_cut(question: str, passage: str, way: str) -> None:
    assert ask(wording.NEIGHBOUR, query_str=question, context_str=(Passage(passage, 1),)) == way


def test_closest_passages_of_a_tool_are_no_agent_answer() -> None:
    def concluded(observed: str) -> Generation:
        values = {"query_str": "May I keep a cat?", "tools": (), "tool_names": "", "system_prompt": ""}
        call = LLMCall(wording.REACT, {**values, "observations": (Passage(observed),)})
        return ExtractiveLLM(HashEmbedding()).generate(call)

    found = "Closest passages:\n\nDogs need consent. [1]"
    assert (concluded(found).outcome, concluded(found).text.partition("Answer: ")[2]) == ("closest", found)
    assert concluded(NOTHING_FOUND).outcome == "nothing"
    assert concluded("Dogs need consent. [1]").outcome == "answer"
