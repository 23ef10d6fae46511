from __future__ import annotations

import math

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answer_ranking import (
    BIAS,
    CARRIED,
    ELSEWHERE,
    EMBEDDED,
    EMBEDDED_BLIND,
    FEATURES,
    LENT,
    SURE_BIAS,
    SURE_WEIGHTS,
    UNRELATED,
    WEIGHTS,
    held,
    idf_shares,
    idle_words,
    likely,
    log_odds,
    margin,
    measure,
    met_words,
    unrelated_cosine,
)
from ragcore.extractive.word_vectors import Words
from ragcore.questions.answer_types import asks_whether, expected_kind, fits_kind, fitting
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import Quote, below_introductions, quotes_in

QUESTION = "When did the Lisbon office open?"
SENTENCES = ["The Lisbon office opened in March 1998.", "Parking is free.", "Lisbon"]


def measured(question: str, sentences: list[str], passages: list[int], *, floor: float = 0.0) -> dict[str, list[float]]:
    embedder = HashEmbedding()
    quotes = [Quote(text, (), passage, "") for text, passage in zip(sentences, passages, strict=True)]
    table = measure(question, embedder.embed_query(question), quotes, embedder.embed_passages(sentences), floor=floor)
    return dict(zip(FEATURES, table.T.tolist(), strict=True))


def test_coverage_is_the_share_of_the_questions_idf_that_a_sentence_holds() -> None:
    # lisbon stands in two sentences of three, office and open in one; three more are counted that have none of them.
    twice, once = 1 + math.log(1 + 4.5 / 2.5), 1 + math.log(1 + 5.5 / 1.5)
    whole = twice + 2 * once
    found = measured(QUESTION, SENTENCES, [0, 1, 1])
    assert found["coverage"] == pytest.approx([1.0, 0.0, twice / whole])
    assert found["nearby_coverage"] == pytest.approx([1.0, twice / whole, twice / whole])


def test_of_many_sentences_no_more_than_elsewhere_are_counted_besides() -> None:
    count = 3 * ELSEWHERE
    common, absent = 1 + math.log(1 + (count - 2 + ELSEWHERE + 0.5) / 2.5), 1 + math.log(1 + (count + ELSEWHERE + 0.5) / 0.5)
    shares = idf_shares("Lisbon office", ["Lisbon"] * 2 + ["rain"] * (count - 2))
    assert shares[0].tolist() == pytest.approx([common / (common + absent), 0])


def test_a_sentence_has_part_of_the_words_of_its_heading_and_of_the_title_of_its_passage() -> None:
    def quote(text: str, passage: int, lead: str) -> Quote:
        return Quote(text, (), passage, "", lead)

    quotes = [
        quote("No warranty is given.", 0, "Lisbon office"),
        quote("It opened in May.", 0, "History"),
        quote("The Lisbon office opened in May.", 0, "History"),
        quote("In May.", 0, "Since it opened"),
        quote("It opened in May.", 1, "History"),
    ]
    warranty, below, says, headed, elsewhere = held(QUESTION, quotes)  # of lisbon, offic, open
    third = 1 / 3  # each of the three is read in four of the five
    assert says.tolist() == pytest.approx([third, third, third])
    assert warranty.tolist() == pytest.approx([LENT * third, LENT * third, 0])
    assert LENT < 0.75
    assert below.tolist() == pytest.approx([LENT * third, LENT * third, third])
    assert headed.tolist() == pytest.approx([LENT * third, LENT * third, LENT * third])
    assert elsewhere.tolist() == pytest.approx([0, 0, third])


def test_what_a_follow_up_has_in_brackets_counts_for_less_than_what_was_typed() -> None:
    quotes = [Quote("The Lisbon office opened.", (), 0, ""), Quote("It closes at noon.", (), 1, "")]
    carried, typed = held("When does it close? (Lisbon office)", quotes).sum(axis=1)
    assert carried == pytest.approx(2 * CARRIED * typed)
    assert carried + typed == pytest.approx(1)
    assert held("When does it close, the Lisbon office?", quotes).sum(axis=1) == pytest.approx([2 / 3, 1 / 3])


def test_out_of_network_is_not_in_network() -> None:
    quotes = [Quote("In-network visits cost 10.", (), 0, ""), Quote("Out-of-network visits cost 50.", (), 1, "")]
    near, far = held("What do out-of-network visits cost?", quotes).sum(axis=1)
    assert far > near


def test_what_stands_under_a_question_has_all_of_its_words() -> None:
    leads = ("When did the Lisbon office open?", "The Lisbon office: when it opened")
    answer, told = held(QUESTION, [Quote("In May.", (), at, "", lead) for at, lead in enumerate(leads)])
    assert answer.sum() == pytest.approx(1.0)
    assert told.sum() == pytest.approx(LENT)


def test_cosines_are_measured_from_the_embedders_floor() -> None:
    embedder = HashEmbedding()
    expected = [float(embedder.embed_query(s) @ embedder.embed_query(QUESTION)) for s in SENTENCES]
    assert measured(QUESTION, SENTENCES, [0, 1, 2])["cosine"] == pytest.approx(expected, abs=1e-6)
    risen = measured(QUESTION, SENTENCES, [0, 1, 2], floor=0.2)["cosine"]
    assert risen == pytest.approx([(cosine - 0.2) / 0.8 for cosine in expected], abs=1e-6)


def test_a_sentence_alone_in_its_passage_is_near_only_itself() -> None:
    found = measured(QUESTION, SENTENCES, [0, 1, 2])
    assert found["nearby_cosine"] == pytest.approx(found["cosine"], abs=1e-6)
    assert found["passage_cosine"] == pytest.approx(found["cosine"], abs=1e-6)


def test_what_introduces_nothing_is_no_sentence() -> None:
    embedder = HashEmbedding()
    quotes = quotes_in("The plan covers:\n• Visits\n• Drugs\n\nManager at Acme, job summary:\n\nShe leads the team.", number=1)
    vectors = embedder.embed_passages([quote.text for quote in quotes])
    fragment = measure(QUESTION, embedder.embed_query(QUESTION), quotes, vectors)[:, FEATURES.index("is_fragment")]
    told = {quote.text: value for quote, value in zip(quotes, fragment.tolist(), strict=True)}
    assert told["The plan covers:"] == told["She leads the team."] == 0
    assert told["Manager at Acme, job summary:"] == 1
    assert told["Visits"] == 1
    below = measure(QUESTION, embedder.embed_query(QUESTION), below_introductions(quotes), vectors)  # "The plan covers: Visits"
    assert below[quotes.index(next(quote for quote in quotes if quote.text == "Visits")), FEATURES.index("is_fragment")] == 0


def test_a_sentence_without_what_the_question_asks_for_is_told_apart() -> None:
    assert measured(QUESTION, SENTENCES, [0, 1, 2])["fitting_kind"] == [1, -1, -1]
    assert measured("Is parking free?", SENTENCES, [0, 1, 2])["fitting_kind"] == [0, 0, 0]
    told = ["Parking is free because the town pays.", "Parking is free."]
    assert measured("Why is parking free?", told, [0, 1])["fitting_kind"] == [1, -1]
    assert measured(QUESTION, SENTENCES, [0, 1, 2])["is_fragment"] == [0, 0, 1]
    elsewhere = ["IBM은 1911년에 설립된 회사이다.", "تأسست شركة IBM في عام 1911.", "Visits Of Guests"]
    assert measured(QUESTION, elsewhere, [0, 1, 2])["is_fragment"] == [0, 0, 1]
    heads = ["Ada King, Consulting Engineers.", "It opened in May.", "葡萄牙 里斯本 欧洲。", "Rusk."]
    assert measured(QUESTION, heads, [0, 1, 2, 3])["is_fragment"] == [1, 0, 0, 0]
    rows = ["Ticket: Adult; Price: £2", "Sales (in millions) | 2019: 5; 2018: 4", "Adult | £2", "Opening hours: 9 to 5"]
    assert measured(QUESTION, rows, [0, 1, 2, 3])["is_fragment"] == [0, 0, 1, 1]
    told = ["The Lisbon office is a house in Porto.", "It opened in May."]
    assert measured("What is the Lisbon office?", told, [0, 1])["fitting_kind"] == [1, 0]
    assert measured("Who is Ada King?", ["Ada King is an engineer.", "It opened."], [0, 1])["fitting_kind"] == [1, -1]
    advised = ["Leave the office.", "You must leave it."]  # the first in words that no list has
    assert measured("What should I do if it burns?", advised, [0, 1])["fitting_kind"] == [0, 1]
    # The year of the question is no answer to it.
    assert measured("When in 1998 did it open?", ["It opened in 1998."], [0])["fitting_kind"] == [-1]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many days?", "number"),
        ("Wie viele Tage?", "number"),
        ("Wie teuer ist es?", "price"),
        ("What does a dog cost?", "price"),
        ("How much do the tickets cost?", "price"),
        ("How much is a ticket?", "price"),
        ("How much was the trip?", "price"),
        ("How much are tickets?", "price"),
        ("How much for a child?", "price"),
        ("How much is parking?", "price"),
        ("How much water is needed?", "number"),
        ("How much is left?", "number"),
        ("How much was the income in 2018?", "number"),
        ("How much was raised?", "number"),
        ("How much was the debt reduced?", "number"),
        ("What is the price of a ticket?", "price"),
        ("Was kostet die Karte?", "price"),
        ("有多少人？", "number"),
        ("How often are the brakes tested?", "frequency"),
        ("Wie oft wird geprüft?", "frequency"),
        ("How many times did the club win?", "number"),
        ("What should I do when the bell rings?", "advice"),
        ("What must a driver do if the brake fails?", "advice"),
        ("Was soll ich tun, wenn es läutet?", "advice"),
        ("What does a driver do?", None),
        ("In what year was it built?", "date"),
        ("¿Cuándo nació?", "date"),
        ("What time does it open?", "date"),
        ("Um wie viel Uhr öffnet es?", "date"),
        ("À quelle heure ouvre le musée ?", "date"),
        ("¿A qué hora abre?", "date"),
        ("博物馆几点开门？", "date"),
        ("What time zone is it in?", None),
        ("Who is the chair?", "name"),
        ("Where is the office?", "name"),
        ("What is a premium?", None),
        ("What is the phone number of Northwind Health?", "telephone"),
        ("What is Anna Berg's mobile number?", "telephone"),
        ("phone number for the front desk", "telephone"),
        ("What is the office phone number?", "telephone"),
        ("What number do I call in the morning?", "telephone"),
        ("Which number should I call?", "telephone"),
        ("Welche Nummer soll ich anrufen?", "telephone"),
        ("Phone number?", "telephone"),
        ("service phone number?", "telephone"),
        ("Sara's mobile?", "telephone"),
        ("电话？", "telephone"),
        ("What is Lou's number?", "call"),
        ("Who do I call if the lift is stuck?", "call"),
        ("Wen rufe ich bei Feuer an?", "call"),
        ("What is the number of rooms?", None),
        ("What is the best mobile?", None),
        ("What's email?", None),
        ("How do I change my phone number?", None),
        ("Wie lautet die Telefonnummer der Zentrale?", "telephone"),
        ("Quel est le numéro de téléphone du musée ?", "telephone"),
        ("¿Cuál es el teléfono de la oficina?", "telephone"),
        ("前台的电话号码是多少？", "telephone"),
        ("What happens to my phone number after I leave?", None),
        ("What is the rule about giving a phone number to a customer?", None),
        ("What is a phone number?", None),
        ("When was the telephone number introduced?", "date"),
        ("What is the email address of the help desk?", "mail"),
        ("Which email do I write to?", "mail"),
        ("Quelle est l'adresse électronique du musée ?", "mail"),
        ("¿Cuál es el correo electrónico de la oficina?", "mail"),
        ("email?", "mail"),
        ("the museum's email", "mail"),
        ("change email", None),
        ("change my email?", None),
        ("What is the email policy?", None),
        ("What is email?", None),
        ("What is email used for?", None),
        ("What is the website of the museum?", "web"),
        ("What's Northwind's web address?", "web"),
        ("Wie lautet die Webseite des Museums?", "web"),
        ("网址是什么？", "web"),
        ("museum website?", "web"),
        ("What is a website?", None),
        ("How do I reach the front desk?", "contact"),
        ("Wie erreiche ich die Zentrale?", "contact"),
        ("How do I change the website?", None),
    ],
)
def test_a_question_says_what_kind_of_thing_it_asks_for(question: str, kind: str | None) -> None:
    assert expected_kind(question) == kind


@pytest.mark.parametrize(
    ("kind", "sentence", "fits"),
    [
        ("telephone", "Call the desk on +44 20 7946 0958.", True),
        ("telephone", "Tel. (206) 555-0142", True),
        ("telephone", "Front desk: 555-0142", True),
        ("telephone", "In an emergency dial 911.", True),
        ("telephone", "The telephone number of the desk is on the door.", False),
        ("telephone", "It opened on 2021-05-01 and closed on 12/31/2022.", False),
        ("telephone", "From 1998 - 2004 it cost $1,200,000.", False),
        ("telephone", "Ext. 214", True),
        ("telephone", "Order hotline: 5550142", True),
        ("telephone", "Orders: 555-0142", True),
        ("telephone", "Oficina: 912 345 678", True),
        ("telephone", "Call the desk on 600 123 456 before noon.", True),
        ("telephone", "With your account number at hand, call 5550142.", True),
        ("telephone", "The account number of the desk is 12345678.", False),
        ("telephone", "Account number: 01234567", False),
        ("telephone", "Order 20231234 was sent to the desk.", False),
        ("telephone", "Kundennummer 44 55 66 77", False),
        ("telephone", "IBAN DE89 3704 0044 0532 0130 00", False),
        ("telephone", "ISBN 978-3-16-148410-0", False),
        ("telephone", "NHS number 943 476 5919", False),
        ("telephone", "The desk is at 51.507351, -0.127758.", False),
        ("telephone", "The library has 12 500 000 books.", False),
        ("telephone", "It lent 12.500.000.", False),
        ("mail", "Write to help.desk@northwind.example or call.", True),
        ("mail", "The e-mail address of the desk is on the door.", False),
        ("web", "See www.northwind.example for more.", True),
        ("web", "Details: https://northwind.example/plans", True),
        ("web", "Orders go to northwind.com/orders.", True),
        ("web", "Write to desk@northwind.com.", False),
        ("price", "Adults £12", True),
        ("price", "Tea costs 4 euros.", True),
        ("price", "Lentil soup 4.50", True),
        ("price", "Children under 14 free", True),
        ("price", "Kinder unter 14 Jahren frei", True),
        ("price", "The hall is EUR 500.", True),
        ("price", "The hall is CHF 1'250.", True),
        ("price", "Tea is 40 kr.", True),
        ("price", "Rs. 200 for each child", True),
        ("price", "Zupa 15 zł", True),
        ("price", "The coach leaves at 12.30 from the station.", False),
        ("price", "Lunch: 12.30 to 2.10", False),
        ("price", "Mittag um 12.30 Uhr", False),
        ("price", "Soup at 4.50 each", True),
        ("price", "Suppe ab 4.50 €", True),
        ("price", "Feel free to ask in 2016.", False),
        ("price", "It rose by 4.50%.", False),
        ("date", "The bus leaves at 7:40.", True),
        ("date", "It opens at 9 am.", True),
        ("date", "It opens at 5 PM.", True),
        ("date", "Ouvert dès 17h30.", True),
        ("date", "Ouvert dès 17h.", True),
        ("date", "Ouvert dès 9 heures.", True),
        ("date", "Es öffnet um acht Uhr.", True),
        ("date", "午後5時に開きます。", True),
        ("date", "5時間かかります。", False),
        ("date", "It opens on Feb 3.", True),
        ("date", "It opens on 3 Sept.", True),
        ("date", "It may open for 3 men.", False),
        ("date", "It is closed on Sundays.", True),
        ("date", "Pay within 30 days.", True),
        ("date", "It is due on the third working day.", True),
        ("date", "It took the third prize.", False),
    ],
)
def test_what_is_asked_for_is_known_by_its_form(kind: str, sentence: str, fits: bool) -> None:
    assert fits_kind(kind, sentence, "What is the telephone number of the desk?") == fits


def test_a_number_may_be_a_price_and_no_number_is_none() -> None:
    question = "How much does the tea cost?"
    assert [fitting("price", said, question) for said in ("It is £4.", "It was 1,204.", "It is dear.")] == [1, 0, -1]


@pytest.mark.parametrize(
    ("question", "said"),
    [("How high is the rent?", "The rent is due."), ("Was anybody hurt?", "Nobody was hurt."), ("How old is it?", "")],
)
def test_a_word_that_an_answer_need_not_have_counts_nothing(question: str, said: str) -> None:
    quote = Quote(said, (1,), 0, "")
    assert held(question, [quote]).sum() == pytest.approx(1.0 if said else 0.0)
    words = Words(tuple(content_words(question)), np.eye(len(content_words(question)), dtype=np.float16))
    left = words.without(idle_words(question))
    assert set(left.stems) <= set(content_words(said))
    assert len(left.rows) == len(left.stems)


def test_a_heading_above_its_list_says_something_and_one_without_does_not() -> None:
    said = [Quote("Ingredients", (1,), 0, "", introduces=("- salt",)), Quote("Ingredients", (1,), 1, "")]
    table = measure("What is in it?", HashEmbedding().embed_query("it"), said, HashEmbedding().embed_passages(["a", "b"]))
    assert table[:, FEATURES.index("is_fragment")].tolist() == [0, 1]


def test_log_odds_are_the_weighed_sum() -> None:
    row = np.arange(1.0, len(FEATURES) + 1)
    assert log_odds(row[None, :]).tolist() == pytest.approx([sum(w * x for w, x in zip(WEIGHTS, row, strict=True)) + BIAS])
    assert measured(QUESTION, [], [])["coverage"] == []


def test_the_floor_is_the_mean_cosine_of_unrelated_texts() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [0.8, 0.6]], dtype=np.float32)
    assert unrelated_cosine(vectors) == pytest.approx((0.6 + 0.8 + 0.96) / 3)
    assert unrelated_cosine(HashEmbedding().embed_passages(UNRELATED)) < 0.1


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Is yoga covered?", True),
        ("Doesn't the plan pay for food?", True),
        ("Can I bring a dog?", True),
        ("Ist Yoga versichert?", True),
        ("Est-ce que le yoga est remboursé ?", True),
        ("Peut-on venir avec un chien ?", True),
        ("¿Puedo traer un perro?", True),
        ("可以带狗吗？", True),
        ("Was it covered?", True),
        ("Was ist versichert?", False),
        ("What is covered?", False),
        ("Which plan is it?", False),
        ("Isotopes", False),
        ("Wo ist es?", False),
    ],
)
def test_a_question_that_is_answered_by_yes_or_no_is_told(question: str, whether: bool) -> None:
    assert asks_whether(question) is whether


def test_few_quotes_are_all_weighed() -> None:
    assert likely(QUESTION, [Quote(text, (), 0, "") for text in SENTENCES]) == [0, 1, 2]
    assert likely(QUESTION, []) == []


def test_of_many_quotes_those_with_the_words_of_the_question_are_weighed_and_those_beside_them() -> None:
    texts = [f"Nothing of note happened on day {day}." for day in range(40)]
    texts[20] = SENTENCES[0]
    rows = likely(QUESTION, [Quote(text, (), 0, "") for text in texts])
    assert len(rows) == EMBEDDED
    assert {19, 20, 21} <= set(rows)
    assert rows == sorted(rows)


def test_of_the_wanted_quotes_alone_as_many_are_weighed() -> None:
    quotes = [Quote(f"The Lisbon office opened on day {day}.", (), 0, "") for day in range(40)]
    rows = likely(QUESTION, quotes, [day % 3 == 0 for day in range(40)])
    assert len(rows) == EMBEDDED
    assert all(row % 3 == 0 for row in rows)
    assert likely(QUESTION, quotes, [day in (4, 5) for day in range(40)]) == [4, 5]
    assert likely(QUESTION, quotes, [False] * 40) == []


def test_of_quotes_with_the_same_words_those_that_hold_what_is_asked_for_are_weighed() -> None:
    texts = [
        f"The {word} program of the club keeps you fit." for word in ("red", "blue", "old", "new", "long", "short", "wide")
    ]
    quotes = [Quote(text, (), 0, "") for text in [*texts, "The club pays up to $1000 for what keeps you fit.", *texts]]
    assert 7 not in likely("Which club keeps me fit?", quotes)
    assert 7 in likely("How much do I get from the club for keeping fit?", quotes)


def test_where_advice_is_asked_for_what_gives_it_is_weighed_beside_what_has_the_words() -> None:
    told = [f"The {word} bell of the mill warns of fire." for word in ("red", "blue", "old", "new", "long", "short", "wide")]
    quotes = [Quote(text, (), 0, "") for text in [*told, "Whoever hears it must leave at once.", *told]]
    assert 7 not in likely("Which bell of the mill warns of fire?", quotes)
    rows = likely("What should I do if the bell of the mill warns of fire?", quotes)
    assert 7 in rows
    assert len(rows) == len(set(rows)) > EMBEDDED


def test_where_words_tell_nothing_more_quotes_are_weighed() -> None:
    quotes = [Quote(f"Am Tag {day} geschah nichts.", (), 0, "") for day in range(60)]
    assert likely(QUESTION, quotes) == list(range(EMBEDDED_BLIND))


def test_what_is_measured_of_some_quotes_is_what_is_measured_of_all_where_no_neighbour_is_missing() -> None:
    embedder = HashEmbedding()
    quotes = [Quote(text, (), passage, "") for passage, text in enumerate(SENTENCES)]
    query, vectors = embedder.embed_query(QUESTION), embedder.embed_passages(SENTENCES)
    some = measure(QUESTION, query, quotes, vectors[[0, 2]], [0, 2])
    assert some == pytest.approx(measure(QUESTION, query, quotes, vectors)[[0, 2]])


def word_rows(*stems: str) -> Words:
    """One number for each of four words."""
    known = ("lisbon", "offic", "open", "rain")
    return Words(stems, np.array([[stem == word for word in known] for stem in stems], np.float16))


def test_words_are_met_by_a_sentence_and_by_its_neighbours_the_rare_ones_counting_more() -> None:
    texts = ["Lisbon is here.", "It did open.", "Rain.", "Lisbon had rain."]
    quotes = [Quote(text, (), passage, "") for text, passage in zip(texts, [0, 0, 0, 1], strict=True)]
    said = [word_rows("lisbon"), word_rows("open"), word_rows("rain"), word_rows("lisbon", "rain")]
    lisbon, opened = 1 + math.log(1 + 6.5 / 2.5), 1 + math.log(1 + 7.5 / 1.5)
    found = met_words(word_rows("lisbon", "open"), quotes, [0, 1, 2, 3], said)
    assert found.tolist() == pytest.approx([1, 1, opened / (lisbon + opened), lisbon / (lisbon + opened)])
    # A neighbour that was not weighed does not help.
    alone = met_words(word_rows("lisbon", "open"), quotes, [0, 2], [said[0], said[2]])
    assert alone.tolist() == pytest.approx([lisbon / (lisbon + opened), 0])
    assert met_words(word_rows(), quotes, [0, 1], said[:2]).tolist() == [0, 0]


def test_the_margin_is_that_of_the_surest_sentence_and_grows_with_the_words_that_are_met() -> None:
    rows = np.array([np.arange(1.0, len(FEATURES) + 1), np.zeros(len(FEATURES))])
    met = np.array([0.5, 0.9])
    expected = [sum(w * x for w, x in zip(SURE_WEIGHTS, [*row, m], strict=True)) for row, m in zip(rows, met, strict=True)]
    assert margin(rows, met) == pytest.approx(max(expected) + SURE_BIAS)
    assert margin(rows, met + 0.1) > margin(rows, met)
