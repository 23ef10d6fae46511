"""Sentences of answers held against passages: quotes are supported, inventions are not, what claims nothing
is left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.answerer import NO_MODEL
from ragcore.extractive.sentence_support import SentenceCheck, claims
from ragcore.extractive.sentence_vectors import UNRELATED
from ragcore.observe import Span
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.text.language import language_of
from ragcore.text.quotable_sentences import join_quotes, quotes_in
from tests.lectern.test_library import finished, take_in

if TYPE_CHECKING:
    from ragcore.schema import Vectors

TOWER = (
    "The tower was built by Ada Penrose in 1871. It is forty metres high.\n\nThe lamp burns the oil of "
    "whales."
)
FARES = "Fares\n\nTicket | Price\nAdult | £2.50\nChild | £1.20\n\n- Dogs ride free.\n- Bicycles do not."
CHINESE = "塔高四十米。由阿达·彭罗斯于1871年建造。灯烧鲸油。"
PASSAGES = [TOWER, FARES, CHINESE]


@pytest.fixture(scope="module")
def check() -> SentenceCheck:
    return SentenceCheck(HuggingFaceEmbedding())


def verdicts(check: SentenceCheck, answer: str) -> list[str | None]:
    return [sentence.verdict for sentence in check.check(answer, PASSAGES)]


def test_paraphrases_are_supported_and_inventions_are_not(check: SentenceCheck) -> None:
    answer = "Ada Penrose built the tower in 1871 [1]. A crew of Portuguese sailors painted it green."
    supported, invented = check.check(answer, PASSAGES)
    assert (supported.verdict, supported.passage) == ("supported", 0)
    assert supported.evidence == "The tower was built by Ada Penrose in 1871."
    assert answer[supported.start : supported.end] == "Ada Penrose built the tower in 1871"
    assert invented.verdict == "absent"
    assert answer[invented.start : invented.end] == "A crew of Portuguese sailors painted it green."


@pytest.mark.parametrize(
    ("false", "verdict"),
    [
        ("The tower was built by Ada Penrose in 1872.", "absent"),
        ("塔由阿达·彭罗斯于1891年建造。", "absent"),
        ("The tower was built by Robert Penrose in 1871.", "weak"),
        ("The tower was not built by Ada Penrose in 1871.", "weak"),
    ],
)
def test_another_number_or_name_or_a_not_is_never_supported(
    check: SentenceCheck, false: str, verdict: str
) -> None:
    assert verdicts(check, false) == [verdict]


@pytest.mark.parametrize(
    ("said", "passage"),
    [
        ("Keep it at 5 °C.", "Keep it at −5 °C."),
        ("Keep it at -5 °C.", "Keep it at 5 °C."),
        ("Stop when it is < 30.", "Stop when it is > 30."),
        ("A ticket costs $20.", "A ticket costs €20."),
        ("A ticket costs 20 $.", "A ticket costs 20 €."),
        ("Dogs are allowed in the tower.", "Nobody may claim that dogs are allowed in the tower."),
    ],
)
def test_same_words_with_another_sign_or_denial_lack_support(
    check: SentenceCheck, said: str, passage: str
) -> None:
    assert check.check(passage, [passage])[0].verdict == "supported"
    assert check.check(said, [passage])[0].verdict != "supported"


@pytest.mark.parametrize(
    ("said", "passage"),
    [
        ("A ticket costs 20 €.", "A ticket costs €20."),
        ("Keep it at minus 5 °C.", "Keep it at −5 °C."),
        ("For the hall one pays 1 234 Euro.", "The hall costs 1.234 Euro."),
        ("Room 12 is open on most days.", "Room １２ is open."),
        ("Stop below 30.", "Stop if < 30."),
        ("It is open until 5 pm.", "It is open until 17:00."),
        ("It is open until 17:00.", "It is open until 5 pm."),
        ("It has 130 seats.", "Seats 120 130 145"),
    ],
)
def test_a_number_in_another_notation_is_not_absent(check: SentenceCheck, said: str, passage: str) -> None:
    assert check.check(said, [passage])[0].verdict != "absent"


PRICES = {
    "deposit": "Rooms",
    "tax": "Visitors",
    "laundry": "Washing",
    "breakfast": "Meals",
    "parking": "Cars",
}


@given(
    st.lists(st.integers(1000, 99_000), min_size=len(PRICES), max_size=len(PRICES), unique=True),
    st.permutations(list(PRICES)),
    st.sampled_from(("£{:,}", "{:,} pounds", "{} pounds", "£{}.00", "GBP {}")),
)
def test_a_number_is_supported_in_any_spelling_in_its_context(
    prices: list[int], nouns: list[str], spelling: str
) -> None:
    lines = [
        (
            f"{PRICES[noun]}\nEvery guest of the hotel has to pay the {noun}, which is £{price:,}, on the "
            "day of arrival."
        )
        for noun, price in zip(nouns, prices, strict=True)
    ]
    passages = ["\n\n".join(lines[:2]), "\n\n".join(lines[2:])]
    check = SentenceCheck(HashEmbedding())
    (true,) = check.check(f"The {nouns[0]} in the hotel is {spelling.format(prices[0])}.", passages)
    assert (true.verdict, true.passage) == ("supported", 0)
    for false in (
        f"The {nouns[0]} in the hotel is {spelling.format(prices[1])}.",
        f"The {nouns[0]} in the hotel is {spelling.format(prices[3])}.",
        f"The {nouns[0]} in the hotel is {spelling.format(prices[0] + 1000)}.",
        f"The {nouns[0]} in the hotel is not {spelling.format(prices[0])}.",
        f"The {nouns[0]} in the Hotel Astoria is {spelling.format(prices[0])}.",
    ):
        assert check.check(false, passages)[0].verdict != "supported", false


def test_context_of_a_number_and_a_name_decides(check: SentenceCheck) -> None:
    contract = (
        "The Landlord lets the flat at 27 Wharf Lane. The rent is £1,240 per calendar month.\n"
        "4. Deposit\nThe Tenants pay a deposit of £1,860 before moving in. Faults are reported to the "
        "caretaker, Tobias Finch."
    )

    def verdict(claim: str) -> str | None:
        return check.check(claim, [contract])[0].verdict

    for true in (
        "The deposit for the flat is £1,860.",
        "The rent is 1240 pounds.",
        "The caretaker is Tobias Finch.",
    ):
        assert verdict(true) == "supported", true
    for false in (
        "The rent for the flat is £1,860.",
        "The deposit for the flat is £1,240.",
        "The Landlord is Tobias Finch.",
    ):
        assert verdict(false) == "weak", false


LEASE = (
    "4. Deposit\n\nThe Tenants pay a deposit of £1,860 before moving in. It is held in the Penmouth Scheme "
    "and returned within 21 days of the end of the tenancy.\n\n5. Repairs\n\nThe Tenants carry out small "
    "repairs up to £60 in a single case. The late fee is £25 for each week."
)


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        (
            "The deposit is £1,860 and you will get it back within 21 days of the end of the tenancy.",
            True,
        ),
        ("The deposit is £1,860, and it is returned within 21 days of the end of the tenancy.", True),
        ("You pay a deposit of £1,860 and get it back within 21 days after the tenancy ends.", True),
        ("The deposit is £1,860 and it is held in the Penmouth Scheme.", True),
        ("The deposit is £60 and you will get it back within 21 days of the end of the tenancy.", False),
        ("The late fee is £1,860 and you will get it back within 21 days of the end of the tenancy.", False),
        ("The deposit is £21 and it is returned within 1,860 days of the end of the tenancy.", False),
        (
            "The deposit is £1,860 and you will not get it back within 21 days of the end of the tenancy.",
            False,
        ),
    ],
)
def test_each_clause_may_be_in_another_sentence(check: SentenceCheck, claim: str, supported: bool) -> None:
    assert (check.check(claim, [LEASE])[0].verdict == "supported") is supported


FERRIES = (
    "Ferries\nShip | Harbour | Cabins\nShip: Blue Heron; Harbour: Saltby; Cabins: 1\n"
    "Ship: Grey Seal; Harbour: Penmouth; Cabins: 2\nShip: Red Kite; Harbour: Tarrow; Cabins: 13\n\n"
    "Each ship has 4 decks."
)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("The Red Kite has 13 cabins.", "supported"),
        ("The Red Kite has 13 cabins and the Grey Seal has 2.", "supported"),
        ("The Red Kite has 1 cabin.", "absent"),
        ("The Red Kite has 2 cabins.", "absent"),
        ("The Red Kite has 13 cabins and the Grey Seal has 1.", "absent"),
        ("Ship: Red Kite; Harbour: Penmouth; Cabins: 1", "absent"),
        ("The Red Kite has 4 decks.", "supported"),  # outside of the table
    ],
)
def test_a_number_of_a_row_is_only_true_of_its_subject(
    check: SentenceCheck, claim: str, verdict: str
) -> None:
    assert check.check(claim, [FERRIES])[0].verdict == verdict


def test_a_script_without_spaces(check: SentenceCheck) -> None:
    assert verdicts(check, "由阿达·彭罗斯于1871年建造。[3] 城里有三只白猫和一条龙。[3]")[0] == "supported"
    assert verdicts(check, "城里有三只白猫和一条龙。[3]") != ["supported"]


def test_headings_questions_and_missing_answers_are_not_judged(check: SentenceCheck) -> None:
    lamp = "**Its lamp**\nThe lamp burns the oil of whales. [1]"
    answer = f"## The tower\n\n{lamp}\n\nWho paid for it? These are known:\n\n{NOTHING_FOUND}"
    judged = [sentence.text for sentence in check.check(answer, PASSAGES) if sentence.verdict is not None]
    assert judged == ["The lamp burns the oil of whales."]
    for text in (NOTHING_FOUND, NO_MODEL, "The passages do not mention who paid.", "未找到相关内容。"):
        assert set(verdicts(check, text)) == {None}, text
    foreign = (
        "Die Dokumente enthalten keine Angaben dazu.",
        "Les documents ne mentionnent pas le prix.",
        "文档中没有提到谁付款。",
    )
    for text in (*foreign, "I don’t know.", "This can be found in [2]."):
        assert set(verdicts(check, text)) == {None}, text
    for text in ("I did not pay the rent.", "The contract does not include heating.", "No."):
        assert set(verdicts(check, text)) == {"absent"}, text


def test_a_citation_of_a_passage_that_does_not_say_it(check: SentenceCheck) -> None:
    (sentence,) = check.check("The lamp burns the oil of whales. [2]", PASSAGES)
    assert (sentence.verdict, sentence.passage, sentence.miscited) == ("supported", 0, True)
    (sentence,) = check.check("The lamp burns the oil of whales. [1]", PASSAGES)
    assert (sentence.passage, sentence.miscited) == (0, False)
    (sentence,) = check.check("The lamp burns the oil of whales. [9]", PASSAGES)
    assert sentence.miscited


def test_without_passages_every_claim_is_absent(check: SentenceCheck) -> None:
    assert [sentence.verdict for sentence in check.check("The lamp burns oil. It is high.", [])] == [
        "absent",
        "absent",
    ]
    assert check.check("", PASSAGES) == []


class CountingEmbedding(HashEmbedding):
    """Keeps the texts of each call of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        self.calls.append(list(texts))
        return super()._embed(texts, step, is_query=is_query)


def test_claims_and_passages_are_embedded_in_one_call() -> None:
    embedder = CountingEmbedding()
    check = SentenceCheck(embedder)
    check.check("Whales gave the oil. Penrose drew a tower. Dogs pay nothing. It shines far.", PASSAGES)
    whole, floor = sorted(embedder.calls, key=lambda texts: "Dogs pay nothing." not in texts)
    assert {"Whales gave the oil.", "Penrose drew a tower.", "It shines far.", "Dogs ride free."} <= set(
        whole
    )
    assert floor == list(UNRELATED)


@pytest.mark.parametrize("passage", PASSAGES)
def test_every_quote_of_the_reader_is_supported_with_its_passage(passage: str) -> None:
    number = PASSAGES.index(passage) + 1
    quotes = quotes_in(passage, number=number, source="a.txt")
    found = SentenceCheck(HashEmbedding()).check(join_quotes(quotes), PASSAGES)
    judged = [sentence for sentence in found if sentence.verdict is not None]
    assert len(judged) >= len([quote for quote in quotes if quote.text.endswith((".", "。"))])
    assert {(sentence.verdict, sentence.passage) for sentence in judged} == {("supported", number - 1)}


SAMPLE = Path(__file__).parents[3] / "sample" / "documents"


def test_answers_of_the_extractive_reader_are_supported(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    for name in ("committee-minutes-2022-2024.md", "brakesmans-log-2022.txt"):
        take_in(library, (SAMPLE / name).read_text("utf-8"), name)
    runs, check = AnswerRuns(library), SentenceCheck(library.embedder)
    asked = [
        "What did the committee resolve about dogs?",
        "What happened on Regatta night?",
        "How much is a ticket in 2025?",
    ]
    for ask in [
        *(Ask(question, chat_mode=None) for question in asked),
        Ask("Summarise this.", None, "tree_summarize"),
    ]:
        message = library.conversations.message(finished(library, runs, ask))
        assert message is not None
        found = check.check(message.text, [source.text for source in message.sources])
        assert {sentence.verdict for sentence in found} <= {"supported", None}, [
            sentence for sentence in found if sentence.verdict not in ("supported", None)
        ]
        assert not any(sentence.miscited for sentence in found)
    library.close()


def test_sentence_is_checked_against_its_cited_passage() -> None:
    said = list(claims("Ada built it [7]. It is 84 m high [1234]. Ben kept it [12, 100000]."))
    assert [(text, cited) for _, _, text, cited in said if cited] == [
        ("Ada built it", (7,)), ("It is 84 m high", (1234,)), ("Ben kept it", (12, 100000)),
    ]  # fmt: skip


@given(st.text(alphabet="ab .!?\n[1]#*|塔高。:-", max_size=80))
def test_sentences_are_in_answer_order_without_overlap(answer: str) -> None:
    at = 0
    for start, end, text, cited in claims(answer):
        assert at <= start < end <= len(answer)
        assert any(char.isalnum() for char in answer[start:end])
        assert "[1]" not in text
        assert all(f"[{number}]" in answer for number in cited)
        at = end


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who built the tower?", "en"),
        ("Wer hat den Turm gebaut?", "de"),
        ("Qui a construit la tour et quand ?", "fr"),
        ("¿Quién construyó la torre y cuándo?", "es"),
        ("谁建造了塔？", "zh"),
        ("塔は誰が建てましたか", "ja"),
        ("من بنى البرج؟", "ar"),
        ("Penrose 1871", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language
