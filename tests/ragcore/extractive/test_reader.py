"""The reader that quotes: its three outcomes, the order of sentences, what it measures, and the context of
what it quotes."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive import features
from ragcore.extractive.closest_places import MAX_CLOSEST, choose_places
from ragcore.extractive.languages.quantities import lacks_number, lacks_total
from ragcore.extractive.reader import Reader, candidates, choose, in_context
from ragcore.extractive.sentence_vectors import SentenceVectors
from ragcore.prompts.prompt import Passage
from ragcore.text.keywords import content_words
from tests.multilingual import needs_multilingual_e5

LEASE = Passage(
    "3. Rent\n\nThe rent is £1,240 per calendar month. Heating is charged at £95 per month.\n\n"
    "5. Pets\n\nDogs need the written consent of the landlord. It may be refused without reasons.",
    1,
    "Lease.docx, page 2",
    1.0,
)
CAKE = Passage(
    "Apple cake\n\nIngredients:\n- 6 tart apples\n- 200 g butter\n- 3 eggs\n\nBake it for 50 minutes.",
    2,
    "Cake.txt",
    0.5,
)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(HuggingFaceEmbedding())


def test_what_answers_is_an_answer(reader: Reader) -> None:
    reading = reader.read("What is the rent per month?", [LEASE, CAKE])
    assert reading.outcome == "answer"
    assert reading.quotes[0].text == "The rent is £1,240 per calendar month."
    assert reading.best_first[0].text == "The rent is £1,240 per calendar month."


def test_near_text_is_closest_with_the_sentences_around(reader: Reader) -> None:
    reading = reader.read("Who is allowed to have a parrot?", [LEASE, CAKE])
    assert reading.outcome == "closest"
    said = [quote.text for quote in reading.quotes]
    place = said.index("Dogs need the written consent of the landlord.")
    assert said[place + 1] == "It may be refused without reasons."


def test_similar_rows_are_quoted_below_their_tables_headings(reader: Reader) -> None:
    def table(title: str, *rows: str) -> str:
        return "\n".join([title, "Team | City | Cups", *(f"Team: {row}" for row in rows)])

    cups = table("Cups", "Flyers; City: York; Cups: 2", "Maple Leafs; City: Leeds; Cups: 13")
    since = table("Cups since 1967", "Flyers; City: York; Cups: 2", "Maple Leafs; City: Leeds; Cups: 0")
    passages = [Passage(cups, 1, "cups.xlsx, sheet 1"), Passage(since, 2, "cups.xlsx, sheet 2")]
    reading = reader.read("How many cups have the Maple Leafs won?", passages)
    quoted = [str(quote) for quote in reading.quotes]
    assert len(quoted) == 4, "without the Flyers"
    for mark, title, count in ((1, "Cups", 13), (2, "Cups since 1967", 0)):
        place = quoted.index(f"**{title}** [{mark}]")
        assert quoted[place + 1] == f"Team: Maple Leafs; City: Leeds; Cups: {count} [{mark}]"
    one = reader.read("How many cups have the Maple Leafs won?", passages[:1])
    assert str(one.quotes[0]) == "Team: Maple Leafs; City: Leeds; Cups: 13 [1]", "no heading is needed"
    reading = reader.read("How many cups have the Flyers won since 1967?", passages)
    assert str(reading.best_first[0]) == "Team: Flyers; City: York; Cups: 2 [2]", "in both tables"


def test_everything_below_a_heading_that_alone_matches_is_quoted(reader: Reader) -> None:
    repairs = "4. Repairs\n\nFaults are reported at once."
    text = f"{repairs}\n\n5. Pets and Smoking\n\nOne cat may be kept. Smoking is not allowed in the flat."
    reading = reader.read("Which pets are allowed in the flat?", [Passage(text, 1)])
    assert reading.outcome == "answer"
    assert [quote.text for quote in reading.quotes][-2:] == [
        "One cat may be kept.",
        "Smoking is not allowed in the flat.",
    ]


def test_the_best_of_the_closest_come_before_what_is_around_them(reader: Reader) -> None:
    letters = Passage(
        "Dear Ms Kestrel. Thank you for writing. The permit costs 78 pounds. Visitors park with day tickets.",
        1,
    )
    reading = reader.read("Which car parks does the permit of a neighbour cover?", [letters, CAKE])
    assert reading.outcome == "closest"
    said = [quote.text for quote in reading.quotes]
    assert {quote.text for quote in reading.best_first[:2]} <= set(said)
    assert "Thank you for writing." in said


def test_nothing_is_quoted_about_something_else(reader: Reader) -> None:
    reading = reader.read("Which galaxies did the telescope photograph in 1995?", [LEASE, CAKE])
    assert reading.outcome == "nothing"
    assert reading.quotes == []
    assert reader.read("What is the rent per month?", []).outcome == "nothing"


def test_what_says_the_opposite_is_no_answer(reader: Reader) -> None:
    passage = Passage("Smoking is allowed on the balcony in summer.", 1)
    assert reader.read("Where is smoking not allowed?", [passage]).outcome != "answer"


def test_list_has_its_introduction_and_sentence_its_context(reader: Reader) -> None:
    (whole, *_) = reader.read("Which ingredients does the apple cake have?", [CAKE]).quotes
    assert [item.removeprefix("- ") for item in whole.introduces][:2] == ["6 tart apples", "200 g butter"]
    refused = reader.read("May consent for dogs be refused without reasons?", [LEASE]).quotes
    said = [quote.text for quote in refused]
    assert (
        said.index("It may be refused without reasons.")
        == said.index("Dogs need the written consent of the landlord.") + 1
    )


@pytest.mark.parametrize(
    "embedder", [HashEmbedding(), HuggingFaceEmbedding()], ids=["stems", "vectors of words"]
)
def test_features_are_shares_and_cosines_and_fragments_are_known(
    embedder: HashEmbedding | HuggingFaceEmbedding,
) -> None:
    quotes = candidates([LEASE, CAKE])
    relevance = [LEASE.relevance, CAKE.relevance]
    rows, measured = features.measure(
        "What is the rent per month?",
        quotes,
        [relevance[quote.passage] for quote in quotes],
        SentenceVectors(embedder),
    )
    assert measured.shape == (len(rows), len(features.FEATURES))
    assert rows == sorted(rows)
    of = dict(zip(features.FEATURES, measured.T, strict=True))
    assert set(of["relevance"]) == {1.0, 0.5}
    rent = rows.index(next(at for at, quote in enumerate(quotes) if "1,240" in quote.text))
    assert of["word_similarity"][rent] == of["word_similarity"].max()
    assert (of["least_word_similarity"] <= of["word_similarity"] + 1e-6).all()
    assert of["is_fragment"][rent] == 0


def test_a_word_in_the_name_of_the_document_counts_in_part() -> None:
    vectors = SentenceVectors(HashEmbedding())

    def similarity(name: str) -> float:
        quotes = candidates([Passage("The rent is high.", 1, name)])
        return float(features.measure("rent contract", quotes, [1.0], vectors)[1][0, 1])

    assert similarity("note.txt") == pytest.approx(0.5, abs=0.2)
    assert similarity("note.txt") < similarity("Contract_2025.docx") < 1


def test_the_words_that_a_follow_up_carries_count_less() -> None:
    quotes = candidates([Passage("The cake is baked for an hour.", 1)])
    typed, carried = features.word_weights("freeze (cake)", ["freez", "cake"], quotes)
    assert typed + carried == pytest.approx(1)
    assert carried < 0.3 * typed
    assert features.word_weights("???", [], quotes).tolist() == []


def test_best_is_quoted_first_by_passage_and_weak_ones_drop() -> None:
    quotes = candidates(
        [Passage("One is red. Two is blue.", 1), Passage("Three is green. Four is black. Five is white.", 2)]
    )
    assert choose(np.array([0.5, -9.0, -np.inf, 1.0, -2.0]), quotes, 4.0) == [3, 4, 0]
    assert choose(np.array([0.5, -9.0, -np.inf, 1.0, -2.0]), quotes, 1.0) == [3, 0]


def test_closest_places_include_neighbours_within_the_room() -> None:
    quotes = candidates(
        [Passage("One is red. Two is blue. Three is pink.", 1), Passage("Four is black. Five is white.", 2)]
    )
    odds = np.array([-np.inf, -3.0, -np.inf, -2.0, -np.inf])
    assert choose_places("Which?", odds, quotes) == [0, 1, 2, 3, 4]
    letters = [f"Sentence {name} has {'many ' * 30}words." for name in "abcdefghijkl"]
    quotes = candidates([Passage(" ".join(letters), 1)])
    rows = choose_places("Which?", np.array([-2.0] + [-np.inf] * 10 + [-2.5]), quotes)
    assert {0, 11, 1, 10} <= set(rows)
    assert sum(len(quotes[row].text) for row in rows) <= MAX_CLOSEST
    long = candidates([Passage("It is " + "very " * MAX_CLOSEST + "long.", 1)])
    assert choose_places("Which?", np.array([-2.0]), long) == [0]


SOCIETY = Passage(
    "Harbour Society\n12 Quay Street\nOldport, 3 March 2025\nTelephone 0161 496 0000\n\n"
    "The society meets twice a year. Members may bring guests to its meetings.",
    1,
    "letter.pdf",
    0.9,
)
COVER = Passage(
    "Our Members\nOur Meetings\nOur Guests\nOur Harbour\n\n48 %\n\n99 %\n\nThe report of the year follows.",
    2,
    "report.pdf",
    1.0,
)
OTHERS = [
    Passage(
        f"The {place} is open to members. A guest of the {place} signs a list.", number, f"{place}.txt", 0.8
    )
    for number, place in enumerate(("library", "boat house", "reading room", "tea room"), 3)
]


@pytest.mark.parametrize(
    "question",
    [
        "Which guests may a new member bring to the dinner?",
        "Which guests of a member are charged?",
        "Who signs the list of the swimming pool for guests?",
        "What do members of the harbour society pay?",
    ],
)
def test_not_sure_shows_at_most_three_places_and_no_scraps(reader: Reader, question: str) -> None:
    passages = [COVER, SOCIETY, *OTHERS]
    reading = reader.read(question, passages)
    assert reading.outcome == "closest"
    shown = [quote.text for quote in reading.quotes]
    assert 1 <= len({quote.passage for quote in reading.quotes}) <= 3
    scraps = (
        "12 Quay Street",
        "Oldport, 3 March 2025",
        "Telephone 0161 496 0000",
        "48 %",
        "99 %",
        "Our Members",
    )
    assert not set(scraps) & set(shown)
    assert not any(text.startswith("Our ") for text in shown)
    odds = dict(zip(reading.candidates, reading.log_odds, strict=True))
    best = [
        max(odds.get(quote, -np.inf) for quote in reading.quotes if quote.passage == passage)
        for passage in dict.fromkeys(quote.passage for quote in reading.quotes)
    ]
    assert best[:2] == sorted(best[:2], reverse=True)
    words = set(content_words(question))
    most = max(
        (quote for quote in reading.candidates if quote.text.endswith(".")),
        key=lambda quote: len(words & set(content_words(quote.text))),
    )
    assert len(words & set(content_words(most.text))) in [
        len(words & set(content_words(text))) for text in shown
    ]


def test_a_single_number_is_no_place() -> None:
    passage = Passage("Guests in the harbour\n\n529\n\nBoats\n\nThe boats are new.", 1)
    quotes = candidates([passage])
    odds = np.array([-3.0] * len(quotes))
    texts = [quotes[row].text for row in choose_places("How many boats are new?", odds, quotes)]
    assert texts == ["The boats are new."]


def test_foreign_question_never_claims_that_nothing_matches() -> None:
    lease = Passage(
        "The Tenants pay a deposit of £1,860 before moving in. The flat is on the second floor.", 1
    )
    reader = Reader(HuggingFaceEmbedding())
    assert reader.read("Wie hoch ist die Kaution?", [lease]).outcome == "closest"
    assert reader.read("Wie hoch ist die Kaution?", []).outcome == "nothing"


def test_foreign_question_is_compared_in_its_own_language() -> None:
    lease = Passage("The Tenants pay a deposit of £1,860 before moving in.", 1)
    exchange = Passage(
        "Die erste Warschauer Börse wurde im Jahr 1817 gegründet und bis zum Zweiten Weltkrieg geführt. "
        "In den Bezirken der Stadt werden eigene Kennzeichen für die Fahrzeuge ausgegeben.",
        2,
    )
    flats = Passage("Das Amt für Wohnungsbau in der Stadt wurde von den Bezirken nicht geführt.", 3)
    reader = Reader(HuggingFaceEmbedding())
    question = "Wie hoch ist die Kaution für die Wohnung?"
    assert reader.read(question, [exchange]).outcome == "nothing"
    assert reader.read(question, [lease, exchange]).outcome == "nothing"
    assert reader.read(question, [exchange, flats]).outcome == "closest"  # "Wohnung" in "Wohnungsbau"
    assert reader.read("Wann wurde die Börse in Warschau gegründet?", [lease, exchange]).outcome == "answer"


def test_sentence_with_most_words_of_the_question_is_a_place() -> None:
    far = " ".join(f"Nothing of note happened in week {number}." for number in range(9))
    texts = [f"{name} sank. {far}" for name in ("Ada", "Ida", "Eve")] + [
        f"{far} The old ferry of Oldport sank."
    ]
    quotes = candidates([Passage(text, number) for number, text in enumerate(texts, 1)])
    odds = np.array([-9.0 if quote.passage == 3 else -2.0 - quote.passage for quote in quotes])
    rows = choose_places("When was the old ferry of Oldport built?", odds, quotes)
    assert "The old ferry of Oldport sank." in [quotes[row].text for row in rows]
    assert {quotes[row].passage for row in rows} == {0, 1, 3}


def test_heading_that_alone_matches_is_quoted_once_on_top() -> None:
    text = "# Rent\n\nIt is 950 euros a month. It is due on the third.\n\n# Pets\n\nDogs are welcome."
    quotes = candidates([Passage(text, 1)])
    texts = [quote.text for quote in in_context("How high is the rent?", [0, 1], quotes)]
    assert texts == ["**Rent**", "It is 950 euros a month.", "It is due on the third."]
    assert [quote.text for quote in in_context("How much a month?", [0], quotes)] == [
        "It is 950 euros a month."
    ]


def test_sentence_with_words_in_the_one_before_is_measured() -> None:
    others = " ".join(
        f"The {name} stands in the long corridor beside the tall green cupboard."
        for name in "abcdefghijklmnopqrst"
    )
    passage = Passage(
        f"{others} The boiler is serviced each year. Tobias does that. {others.replace('green', 'red')}", 1
    )
    quotes = candidates([passage])
    rows, _ = features.measure(
        "Who services the boiler?", quotes, [1.0] * len(quotes), SentenceVectors(HashEmbedding())
    )
    assert len(rows) < len(quotes)
    assert "Tobias does that." in [quotes[row].text for row in rows]


def test_more_short_sentences_than_long_ones_are_measured() -> None:
    def measured(sentence: str) -> int:
        quotes = candidates([Passage(" ".join(sentence.format(at) for at in range(100)), 1)])
        return len(
            features.measure(
                "Which lamp is red?", quotes, [1.0] * len(quotes), SentenceVectors(HashEmbedding())
            )[0]
        )

    assert measured("Lamp {} is red.") > 2 * measured("Lamp {} " + "and the one beside it " * 5 + "is red.")
    assert measured("Lamp {} " + "and the one beside it " * 60 + "is red.") == features.MIN_EMBEDDED


@pytest.mark.parametrize(
    ("question", "without", "answer"),
    [
        ("How many chairs are there in room 12?", "The chairs in room 12 are new.", "It has 4 chairs."),
        ("When does the shop close?", "The shop closes late.", "On Friday it closes early."),
        ("Wie viele Tage Urlaub gibt es?", "Urlaub gibt es auf Antrag.", "Es gibt dreißig oder 32 Tage."),
        ("Combien coûte la carte ?", "La carte est chère.", "La carte coûte douze euros."),
        ("¿Cuándo abre el museo?", "El museo abre tarde.", "Abre los lunes."),
        ("押金是多少？", "押金应退还。", "押金为三百元。"),
    ],
)
def test_a_sentence_without_the_requested_number_is_recognised(
    question: str, without: str, answer: str
) -> None:
    assert lacks_number(question, without)
    assert not lacks_number(question, answer)
    assert not lacks_number("Why?", without)


@pytest.mark.parametrize(
    ("question", "addends", "total"),
    [
        (
            "How much do we pay in all?",
            "Rent: 980 euros. [1] Heating: 85 euros. [1]",
            "In all 1,065 euros, 85 of them for heating.",
        ),
        (
            "What is the total of the fees?",
            "- Deposit: 300 [1]\n- Key: 25 [2]",
            "- Key: 25 [2]\n- Total: 325 [2]",
        ),
        (
            "Wie viel zahlen wir insgesamt?",
            "Miete: 980 Euro. [1] Heizung: 85 Euro. [1]",
            "Gesamtbetrag: 1.065 Euro, davon 85 Heizung.",
        ),
        (
            "Combien payons-nous au total ?",
            "Loyer : 980 euros. [1] Chauffage : 85 euros. [1]",
            "Total : 1 065 euros.",
        ),
        (
            "¿Cuánto pagamos en total?",
            "Alquiler: 980 euros. [1] Calefacción: 85 euros. [1]",
            "La suma es de 1065 euros.",
        ),
        ("我们总共要付多少钱？", "房租：980元。[1] 暖气：85元。[1]", "合计：1065元，其中暖气85元。"),
    ],
)
def test_figures_without_a_total_differ_from_a_stated_total(question: str, addends: str, total: str) -> None:
    assert lacks_total(question, addends)
    assert not lacks_total(question, total)
    assert not lacks_total(question, addends.partition("[1]")[0])  # one figure is no addend
    assert not lacks_total("When is it due?", addends)
    assert not lacks_total("Are there lamps in all rooms?", addends)


def test_a_sentence_without_the_requested_number_scores_less(reader: Reader) -> None:
    quotes = candidates(
        [Passage("The rent of the flat depends on its size. The rent of the flat is £900.", 1)]
    )
    vague, exact = reader.log_odds("How much is the rent of the flat?", quotes)
    assert exact > vague


@needs_multilingual_e5
def test_question_in_another_language_matches_the_sentence() -> None:
    reading = Reader(HuggingFaceEmbedding("multilingual-e5-small")).read(
        "Wie hoch ist die monatliche Miete?", [LEASE, CAKE]
    )
    assert reading.outcome != "nothing"
    assert reading.best_first[0].text == "The rent is £1,240 per calendar month."
    assert any("1,240" in quote.text for quote in reading.quotes)


def test_a_chat_gives_the_reply_to_the_question_that_was_asked() -> None:
    chat = (
        "9:01 - Ida: when is the concert\n9:02 - Pål: Saturday at six\n"
        "9:03 - Ida: and where\n9:04 - Pål: in the old chapel"
    )
    reader = Reader(HuggingFaceEmbedding())
    where = reader.read("Where is the concert?", [Passage(chat, 1)])
    when = reader.read("When is the concert?", [Passage(chat, 1)])
    assert [quote.text for quote in where.quotes] == ["Pål: in the old chapel"]
    assert [quote.text for quote in when.quotes] == ["Pål: Saturday at six"]
