from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.answerer import NO_MODEL, ExtractiveLLM
from ragcore.extractive.fixed_replies import is_closest, is_refusal, without_heading
from ragcore.llms.base import Generation, LLMCall
from ragcore.prompts.prompt import Passage, Prompt, Variable
from ragcore.prompts.wording import (
    CONDENSE_QUESTION,
    CONTEXT_CHAT,
    GENERATION,
    REFINE,
    SIMPLE_CHAT,
    TEXT_QA,
    TREE_SUMMARIZE,
)
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.quotable_sentences import Quote, quotes_in

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors


class WordVectors:
    """Counts of words, hashed: the cosine is high where words are shared. Notes what it was asked to
    embed."""

    name = "words"
    dimension = 256

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.01
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word[:5].encode()) % self.dimension] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def embed_query(self, text: str) -> Vector:
        row: Vector = self.embed_passages([text])[0]
        return row


HANDBOOK = Passage(
    "Welcome to Northwind Health. The office in Lisbon opened in March 1998. Employees get 25 days of "
    "vacation each year. "
    "Parking is free for visitors.",
    1,
    "handbook.pdf, page 3",
)
MINUTES = Passage(
    "The board met on Monday. Maria Silva was elected chair of the board. She follows John Reed, who "
    "retired.",
    2,
    "minutes.docx",
)


def ask(prompt: Prompt, llm: ExtractiveLLM | None = None, **variables: Variable) -> str:
    return (llm or ExtractiveLLM(WordVectors())).generate(LLMCall(prompt, variables)).text


def answer(question: str, *passages: Passage) -> str:
    return ask(TEXT_QA, query_str=question, context_str=passages)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("How many days of vacation do employees get?", "Employees get 25 days of vacation each year. [1]"),
        ("When did the office in Lisbon open?", "The office in Lisbon opened in March 1998. [1]"),
        ("Who was elected chair of the board?", "Maria Silva was elected chair of the board. [2]"),
    ],
)
def test_quotes_the_sentence_that_answers_with_its_citation(question: str, quoted: str) -> None:
    assert quoted in answer(question, HANDBOOK, MINUTES)


def test_question_words_about_the_text_itself_do_not_count() -> None:
    put = ("According to the document, {}", "Based on the given passages, {}", "{} according to the author?")
    asked = ("When did the office in Lisbon open?", "Who was elected chair of the board?")
    for question in asked:
        alone = answer(question, HANDBOOK, MINUTES)
        assert not is_refusal(alone)
        assert {answer(phrase.format(question), HANDBOOK, MINUTES) for phrase in put} == {alone}


@pytest.mark.parametrize(
    "question", ["What does the handbook say about vacation?", "Does our handbook mention vacation?"]
)
def test_what_a_document_says_of_something_is_quoted(question: str) -> None:
    assert "Employees get 25 days of vacation each year. [1]" in answer(question, HANDBOOK, MINUTES)
    assert is_refusal(answer(question.replace("vacation", "elephants"), HANDBOOK, MINUTES))


def test_a_document_that_does_not_say_its_own_name_answers_by_it() -> None:
    question = "When did Ada Penrose build the first tower in Ossing?"
    memoir = "It rained for a week. I built the first tower in Ossing in 1911. My sister kept the lock."
    other = "It rained for a week. They built the first tower in Ossing in 1905. Nobody kept the lock."
    named, unnamed = Passage(memoir, 1, "ada_penrose.pdf, page 3"), Passage(other, 2, "notes.txt")
    assert answer(question, unnamed, named).startswith("I built the first tower in Ossing in 1911. [1]")
    assert is_refusal(answer("When did Ada Penrose ride an elephant?", unnamed, named))


def test_no_passage_with_an_answer_gives_not_in_documents() -> None:
    assert is_refusal(answer("What is the melting point of tungsten?", HANDBOOK, MINUTES))
    assert is_refusal(answer("Who was elected chair?"))
    assert is_refusal(answer("Who was elected chair?", Passage("", 1)))


LIBRARY = Passage(
    "The phone number of the library is on every card, as is its email address.\n\nFront desk: 0161 496 "
    "0021\n"
    "Reading room: 0161 496 0044, reading@library.example.\nThe account number of the office is "
    "12345678.\nBring a card.",
    number=1,
)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What is the phone number of the front desk?", "Front desk: 0161 496 0021 [1]"),
        (
            "What is the email address of the reading room?",
            "Reading room: 0161 496 0044, reading@library.example. [1]",
        ),
        ("How do I reach the reading room?", "Reading room: 0161 496 0044, reading@library.example. [1]"),
        ("Reading room phone number?", "Reading room: 0161 496 0044, reading@library.example. [1]"),
    ],
)
def test_a_number_or_address_is_quoted_with_whose_it_is(question: str, quoted: str) -> None:
    assert quoted in ask(
        TEXT_QA, ExtractiveLLM(HuggingFaceEmbedding()), query_str=question, context_str=[LIBRARY]
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What does the plan not cover?", "The plan does not cover cosmetic surgery. [4]"),
        ("What does the plan cover?", "The plan covers glasses and visits to the dentist. [4]"),
    ],
)
def test_a_negated_question_gets_the_negated_sentence(question: str, said: str) -> None:
    text = (
        "The plan covers glasses and visits to the dentist. The plan does not cover cosmetic surgery. "
        "It began in May 2021."
    )
    assert answer(question, Passage(text, 4, "plan.pdf")).startswith(said)
    assert is_refusal(answer("Which plan began in June 2021?", Passage(text, 4, "plan.pdf")))


def test_negated_question_has_no_answer_in_affirming_text() -> None:
    assert answer("Who was elected chair of the board?", MINUTES).startswith("Maria Silva was elected chair")
    assert is_refusal(answer("Who was not elected chair of the board?", MINUTES))


PERKS = Passage(
    """## Covered
PerksPlus covers many activities, including:
- Gym memberships
- Horseback riding lessons

## Not covered
Other things are not covered by PerksPlus. These include:
- Travel expenses
- Food and supplements""",
    1,
    "perks.md",
)


@pytest.mark.parametrize(
    ("question", "introduced", "item"),
    [
        (
            "Is horseback riding covered by PerksPlus?",
            "PerksPlus covers many activities, including:\n",
            "- Horseback riding lessons",
        ),
        (
            "Does PerksPlus cover food?",
            "Other things are not covered by PerksPlus. [1] These include:\n",
            "- Food and supplements",
        ),
    ],
)
def test_coverage_of_a_list_item_is_decided_by_its_introduction(
    question: str, introduced: str, item: str
) -> None:
    said = ask(TEXT_QA, ExtractiveLLM(HuggingFaceEmbedding()), query_str=question, context_str=[PERKS])
    assert item in said.partition(introduced)[2].split("\n\n")[0]


MUSEUM = Passage(
    """City Museum

Opening hours
Monday closed
Tuesday to Friday 10 am to 6 pm
Saturday and Sunday 11 am to 5 pm

Tickets
Adults £12.50
Children under 14 free
Family ticket £30

## Version 2.3 of the map (3 May 2023)

A lift was added.

## Second edition

The map got a legend.

## Lost property

- Umbrellas
- Gloves

The museum was founded in 1921. It shows 12 clocks that cost a fortune.
""",
    1,
    "museum.md",
)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What does the family ticket cost?", "Tickets\n- …\n- Family ticket £30 [1]"),
        ("How much do tickets for adults cost?", "Tickets\n- Adults £12.50\n- … [1]"),
        ("What is lost property?", "Lost property\n- Umbrellas\n- Gloves [1]"),
        ("When was the lift added?", "**Version 2.3 of the map (3 May 2023)** [1]\nA lift was added. [1]"),
        ("When was the museum founded?", "The museum was founded in 1921. [1]"),
    ],
)
def test_unmarked_lists_and_headings_are_quoted_as_the_answer(question: str, said: str) -> None:
    answer = ask(TEXT_QA, ExtractiveLLM(HuggingFaceEmbedding()), query_str=question, context_str=[MUSEUM])
    assert said in answer


def test_heading_of_an_answer_is_quoted_with_its_content() -> None:
    question = "In which edition did the map get a legend?"
    said = ask(TEXT_QA, ExtractiveLLM(HuggingFaceEmbedding()), query_str=question, context_str=[MUSEUM])
    assert "**Second edition** [1]\nThe map got a legend. [1]" in said


def test_list_and_its_introduction_are_quoted_together() -> None:
    text = """The club pays for many lessons. Some things are not paid for by the club.

These include but are not limited to:
- Travel
- Food

Lessons are held on Mondays."""
    said = answer("What is not paid for by the club?", Passage(text, 1, "club.md"))
    listed = "These include but are not limited to:\n- Travel\n- Food [1]"
    assert said.startswith(f"Some things are not paid for by the club. [1] {listed}")


def test_a_passage_without_number_is_quoted_without_citation() -> None:
    assert "[" not in answer("When did the office in Lisbon open?", Passage(HANDBOOK.text))


def test_reference_marks_of_a_document_do_not_pass_for_citations() -> None:
    assert answer("When did the Lisbon office open?", Passage("The Lisbon office opened in 1998.[7]", 2)) == (
        "The Lisbon office opened in 1998. [2]"
    )


def test_sentence_shared_by_overlapping_passages_is_quoted_once() -> None:
    text = "The office in Lisbon opened in March 1998."
    said = answer("When did the office in Lisbon open?", Passage(text, 1), Passage(f"Hello there. {text}", 2))
    assert said.count(text) == 1


def test_documents_come_in_paragraphs() -> None:
    said = answer(
        "When did the Lisbon office open?",
        Passage("The Lisbon office opened early in 1998.", 1, "a.pdf, page 1"),
        Passage("The Lisbon office opened in March 1998.", 2, "b.pdf"),
    )
    assert (
        said == "The Lisbon office opened early in 1998. [1]\n\nThe Lisbon office opened in March 1998. [2]"
    )


def test_sentence_before_a_leading_pronoun_is_quoted_too() -> None:
    passage = Passage(
        "Ada Lovelace lived in London. She wrote the first program for the engine in 1843. Rain fell. "
        "Fog came.",
        1,
    )
    said = answer("Who wrote the first program for the engine?", passage)
    assert said == "Ada Lovelace lived in London. [1] She wrote the first program for the engine in 1843. [1]"


def quotes(*passages: Sequence[str]) -> list[Quote]:
    return [Quote(text, (at,), at, "") for at, texts in enumerate(passages) for text in texts]


def refine(existing: str, question: str, *passages: Passage) -> str:
    return ask(REFINE, query_str=question, existing_answer=existing, context_str=passages)


def test_refine_repeats_the_answer_if_nothing_better_comes() -> None:
    existing = "The office in  Lisbon opened in March 1998. [1]\n"
    assert refine(existing, "When did the office in Lisbon open?", MINUTES) == existing


def test_refine_replaces_a_missing_answer_and_merges_citations() -> None:
    question = "When did the Lisbon office open?"
    found = refine(NOTHING_FOUND, question, Passage("The Lisbon office opened in 1998.", 4))
    assert found == "The Lisbon office opened in 1998. [4]"
    both = refine(found, question, Passage("The Lisbon office opened in March.", 9))
    assert "The Lisbon office opened in 1998. [4]" in both
    assert "The Lisbon office opened in March. [9]" in both


def test_closest_passages_stay_no_answer_when_refined() -> None:
    question = "When did the office in Lisbon open?"
    hours = Passage("Offices open at nine in the morning, Lisbon at ten.", 1, relevance=0.8)
    closest = ask(TEXT_QA, query_str=question, context_str=[hours])
    assert is_closest(closest)
    assert is_closest(refine(closest, question, Passage("Parking is free for visitors.", 2, relevance=0.8)))


def test_summary_request_quotes_sentences_of_every_document() -> None:
    for prompt in (TEXT_QA, TREE_SUMMARIZE):
        said = ask(prompt, query_str="Summarise these documents", context_str=(HANDBOOK, MINUTES))
        assert "[1]" in said
        assert "[2]" in said


ESSAY = " ".join(
    f"The painter of year {year} worked for months on canvas number {year} in the studio."
    for year in range(1600, 1900)
)
LEAFLET = (
    "PerksPlus is a programme that pays for the sports of employees. These lessons are given weekly to "
    "whoever wants them."
    " Its classes are held on Mondays in the hall behind the office. They may be cancelled by the "
    "teacher on the day before."
)


def test_document_called_by_name_is_summarised_whole() -> None:
    passages = (
        Passage(
            f"{LEAFLET} The leaflet was printed in May by the leaflet printers of Northwind.",
            1,
            "perks leaflet.pdf",
        ),
    )
    whole = ask(TEXT_QA, query_str="Summarise this", context_str=passages)
    assert ask(TEXT_QA, query_str="Summarise the perks leaflet", context_str=passages) == whole
    printed = ask(TEXT_QA, query_str="Summarise the leaflet printers in one sentence", context_str=passages)
    assert (
        printed
        == "**perks leaflet.pdf**\n\nThe leaflet was printed in May by the leaflet printers of Northwind. [1]"
    )


def test_short_document_has_its_own_words_next_to_a_long_one() -> None:
    passages = (Passage(ESSAY, 1, "essay.txt"), Passage(LEAFLET, 2, "leaflet.pdf"))
    for prompt in (TEXT_QA, TREE_SUMMARIZE):
        assert "PerksPlus is a programme that pays for the sports of employees. [2]" in ask(
            prompt, query_str="Summarise these documents", context_str=passages
        )


def cited(summary: str) -> list[Quote]:
    """Its sentences, without the headings."""
    return [quote for quote in quotes_in(summary, number=None) if quote.marks]


def test_summary_of_many_documents_covers_each_in_every_round() -> None:
    things = [
        f"The keeper of house number {n} sells lamps and oil to travellers. It was built in {1800 + n}."
        for n in range(14)
    ]
    first = ask(
        TREE_SUMMARIZE,
        query_str="Summarise everything",
        context_str=tuple(Passage(text, n, f"{n}.txt") for n, text in enumerate(things, 1)),
    )
    assert [quote.marks for quote in cited(first)] == [(n,) for n in range(1, 15)]
    half = first.index("[7]") + 3
    again = ask(
        TREE_SUMMARIZE,
        query_str="Summarise everything",
        context_str=(Passage(first[:half]), Passage(first[half:].strip())),
    )
    assert [quote.marks for quote in cited(again)] == [(n,) for n in range(1, 15)]


@pytest.mark.parametrize(
    ("wish", "count"), [("in one sentence", 1), ("in three sentences", 3), ("in 14 points", 14)]
)
def test_a_summary_has_the_requested_number_of_sentences(wish: str, count: int) -> None:
    passages = (Passage(ESSAY, 1, "essay.txt"), Passage(LEAFLET, 2, "leaflet.pdf"))
    said = ask(TREE_SUMMARIZE, query_str=f"Summarise these documents {wish}", context_str=passages)
    assert len(cited(said)) == count


def test_items_of_a_list_are_counted_in_a_summary_of_a_length() -> None:
    items = "".join(
        f"- Every guest of Ada's hall brings lamp number {n} to the table.\n" for n in range(1, 9)
    )
    passages = (Passage(f"The hall asks for the following:\n{items}", 1, "hall.txt"),)
    said = ask(TREE_SUMMARIZE, query_str="Summarise this document in three sentences", context_str=passages)
    assert len(cited(said)) == 3
    said = ask(TREE_SUMMARIZE, query_str="Summarise this document", context_str=passages)
    assert said.startswith("**hall.txt**\n\nThe hall asks for the following:\n- Every guest")


def test_summary_keeps_its_word_limit_and_covers_each_first() -> None:
    passages = (Passage(ESSAY, 1, "essay.txt"), Passage(LEAFLET, 2, "leaflet.pdf"))
    said = ask(
        TREE_SUMMARIZE, query_str="Summarise these documents in at most 30 words", context_str=passages
    )
    quoted = cited(said)
    assert sum(len(quote.text.split()) for quote in quoted) <= 30
    assert [quote.marks for quote in quoted] == [(1,), (2,)]


def test_a_summary_leaves_out_what_cannot_be_understood_alone() -> None:
    leaning = (
        "The following spring the mill of the valley ground barley and oats for every farm.",
        "Why does the mill of the valley grind barley and oats for every farm?",
        "“The mill of the valley grinds barley and oats for every farm,” said Ann Lee.",
    )
    alone = (
        "The mill of the valley belongs to Ann Lee and stands beside a river.",
        "Farms of the valley grow barley and oats, as they did in the days of Ann Lee.",
        "Barley is dear, and oats are sold at a fair in the valley by Ann Lee.",
    )
    text = " ".join(f"{one} {other}" for one, other in zip(leaning, alone, strict=True))
    assert ask(TEXT_QA, query_str="Summarise", context_str=(Passage(text, 1),)) == " ".join(
        f"{said} [1]" for said in alone
    )


def test_summary_of_summaries_keeps_citations_without_repeats() -> None:
    parts = (
        Passage("Whales sing. [3] Whales sleep in the sea. [4][5]"),
        Passage("Ships sail far. [6]"),
        Passage(NOTHING_FOUND),
    )
    said = ask(TREE_SUMMARIZE, query_str="Summarise", context_str=parts)
    assert said == "Whales sing. [3] Whales sleep in the sea. [4][5]\n\nShips sail far. [6]"


def test_question_over_many_summaries_is_answered() -> None:
    said = ask(
        TREE_SUMMARIZE, query_str="Who was elected chair of the board?", context_str=(HANDBOOK, MINUTES)
    )
    assert "Maria Silva was elected chair of the board. [2]" in said
    assert "Parking" not in said


def test_a_refusal_is_never_quoted_as_an_answer() -> None:
    question = "What could I find in your documents?"
    said = refine(NOTHING_FOUND, question, Passage("You could find old maps in your documents.", 1))
    assert said == "You could find old maps in your documents. [1]"
    assert refine("", question, Passage("You could find old maps in your documents.", 1)) == said


def test_answer_of_a_part_is_trusted_when_combined() -> None:
    parts = (Passage("The chair earns a silver medal. [2]"), Passage(NOTHING_FOUND))
    assert (
        ask(TREE_SUMMARIZE, query_str="What is the melting point of tungsten?", context_str=parts)
        == parts[0].text
    )
    nothing = (Passage(NOTHING_FOUND), Passage(NOTHING_FOUND))
    assert is_refusal(
        ask(TREE_SUMMARIZE, query_str="What is the melting point of tungsten?", context_str=nothing)
    )


def test_answer_of_a_part_is_quoted_even_if_a_denial_is_sought() -> None:
    answers = [Passage("Glasses are covered. [1]"), Passage("Visits to the dentist are covered. [2]")]
    said = ask(TREE_SUMMARIZE, query_str="What is not covered?", context_str=answers)
    assert "Glasses are covered. [1]" in said


def test_refined_summary_adds_new_documents_and_keeps_old() -> None:
    existing = "Whales sing at night. [3] Whales sleep in the deep sea. [4]"
    said = refine(
        existing,
        "Summarise everything",
        Passage("Ships carry grain and coal. Captains write letters home.", 8),
    )
    assert "[8]" in said
    assert "[3]" in said or "[4]" in said


def test_a_follow_up_is_condensed_by_task() -> None:
    history = (
        ChatMessage(MessageRole.USER, "Who owns Northwind Health?"),
        ChatMessage(MessageRole.ASSISTANT, "Contoso. [1]"),
    )
    said = ask(CONDENSE_QUESTION, chat_history=history, question="When was it founded?")
    assert said == "When was it founded? (Northwind Health)"


def test_follow_up_without_answer_by_topic_is_read_alone() -> None:
    team = Passage(
        "Marketing is led by Priya Shah. Sales is led by Tom Berg. The marketing team sits on the third "
        "floor.",
        1,
    )
    notes = Passage("The dentist is on Friday at 10:30. The boat is in the harbour of Kiel until May.", 2)
    question = "What about the boat? (leads marketing)"
    said = ask(TEXT_QA, ExtractiveLLM(HuggingFaceEmbedding()), query_str=question, context_str=[team, notes])
    assert said == "The boat is in the harbour of Kiel until May. [2]"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (
            "Why is that? (days vacation employees get)",
            "Employees get vacation in March because the books are closed then.",
        ),
        ("Wieso? (Haustiere erlaubt)", "Haustiere sind nicht erlaubt, weil der Vermieter allergisch ist."),
    ],
)
def test_why_alone_refers_to_the_previous_question(question: str, reason: str) -> None:
    facts = (
        "Employees get 25 days of vacation each year since 1998. The company car is red. Haustiere sind "
        "nicht erlaubt."
    )
    passage = Passage(f"{facts} {reason}", 1)
    assert f"{reason} [1]" in ask(
        TEXT_QA, ExtractiveLLM(HuggingFaceEmbedding()), query_str=question, context_str=[passage]
    )


def test_chat_with_passages_answers_and_without_explains_limits() -> None:
    question = "When did the office in Lisbon open?"
    assert "March 1998. [1]" in ask(
        CONTEXT_CHAT, system_prompt="", query_str=question, context_str=(HANDBOOK,)
    )
    assert ask(SIMPLE_CHAT, system_prompt="", query_str=question) == NO_MODEL
    assert ask(GENERATION, query_str="Write a poem.") == NO_MODEL


texts = st.text(alphabet="ab. \n?!é他。|#-", max_size=80)


@given(question=texts, passages=st.lists(texts, max_size=4))
def test_streamed_text_equals_the_whole_and_quotes_only_passages(question: str, passages: list[str]) -> None:
    llm = ExtractiveLLM(WordVectors())
    context = tuple(Passage(text, at + 1) for at, text in enumerate(passages))
    call = LLMCall(TEXT_QA, {"query_str": question, "context_str": context})
    finished: list[Generation] = []

    def pieces() -> Iterator[str]:
        finished.append((yield from llm.stream(call)))

    assert "".join(pieces()) == finished[0].text == llm.generate(call).text
    said = without_heading(finished[0].text)
    assert finished[0].outcome == "nothing" or all(
        set(re.findall(r"\w+", piece)) <= set(re.findall(r"\w+", passages[int(mark) - 1]))
        for piece, mark in re.findall(r"([^\[\]]+)\[(\d+)\]", said)
    )


def test_streams_in_several_pieces_and_estimates_usage() -> None:
    llm = ExtractiveLLM(WordVectors())
    call = LLMCall(TEXT_QA, {"query_str": "When did the office in Lisbon open?", "context_str": (HANDBOOK,)})
    assert len(list(llm.stream(call))) > 2
    generation = llm.generate(call)
    assert generation.usage.estimated
    assert generation.usage.prompt_tokens > generation.usage.completion_tokens > 5


def test_a_sentence_is_embedded_once() -> None:
    embedder = WordVectors()
    llm = ExtractiveLLM(embedder)
    for question in ("When did the office open?", "Who gets vacation?"):
        ask(TEXT_QA, llm, query_str=question, context_str=(HANDBOOK,))
    assert embedder.embedded.count("Parking is free for visitors.") == 1
