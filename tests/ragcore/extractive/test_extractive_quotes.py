from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcore.text.quotable_sentences import LIST_CHARS, Quote, distinct, join_quotes, quotes_in, with_lists
from ragcore.text.quote_places import first_place, list_at_start, place_of, quoted_from, quoted_places


def list_texts(quotes: list[Quote]) -> list[str]:
    return [str(quote) for quote in quotes]


def test_each_sentence_has_its_number_and_document() -> None:
    quotes = quotes_in("One is\nhere. Two is  there.", number=3, source="a, b.pdf, page 12", passage=5)
    assert list_texts(quotes) == ["One is here. [3]", "Two is there. [3]"]
    assert {(quote.document, quote.passage) for quote in quotes} == {("a, b.pdf", 5)}


def test_marks_of_an_earlier_answer_stay_with_their_sentence() -> None:
    assert list_texts(quotes_in("One is here. Two is there. [4][5] Three came. [6]", number=None)) == [
        "One is here.",
        "Two is there. [4][5]",
        "Three came. [6]",
    ]


def test_marks_inside_a_numbered_passage_are_omitted() -> None:
    assert list_texts(quotes_in("It rose by half.[12, 13] Then it fell [14].", number=1)) == [
        "It rose by half. [1]",
        "Then it fell. [1]",
    ]


def test_first_cited_sentence_is_located_in_its_passage() -> None:
    passage = "A cover.\n\nIt fell\nin 1903. It rose."

    def found(answer: str) -> int | None:
        return first_place(quoted_from(answer).get(1, ()), passage)

    assert found("It rose. [2] It fell in 1903. [1][2] It rose. [1]") == passage.index("It fell")
    assert found("It rose. [2] It fell in 1903. [2, 1]") == passage.index("It fell")
    assert found("It stood. [1] It rose. [1]") == passage.index("It rose")
    assert found("It stood. [1] It rose. [2]") is None


def test_quote_without_bold_or_with_column_names_is_located() -> None:
    passage = (
        "A list.\n\n| Ticket | Price |\n| --- | --- |\n| Adult | £2.50 |\n| Child, up to 14 | £1 |\n\n"
        "It **fell** in 1903."
    )
    for place in ("Child", "It **fell**"):
        (quote,) = [quote for quote in quotes_in(passage, number=1) if place.split()[0] in quote.text]
        assert quote.text not in passage
        at = first_place([quote.text], passage)
        assert at is not None
        assert passage[at:].startswith(place)


def test_sentence_is_located_without_its_passage_s_marks() -> None:
    passage = "A cover.\n\nIt fell (**twice**) by `half`\nin 1903 [12]. It rose.\n\n| Adult | £2.50 |"

    def found(sentence: str) -> str | None:
        place = place_of(sentence, passage)
        return place and passage[slice(*place)]

    assert found("It fell (twice) by half in 1903.") == "It fell (**twice**) by `half`\nin 1903 [12]."
    assert found("Ticket: Adult; Price: £2.50") == "Adult | £2.50"
    assert found("It stood.") is None
    assert found(" ** ") is None


def test_a_cited_statement_is_located_in_its_passage() -> None:
    passage = (
        "A cover of red. Was it high?\nNo. It **fell** in 1903, in the great storm. Ada Penrose built "
        "it again by 1911."
    )

    def found(answer: str) -> list[str]:
        return [passage[slice(*place)] for place in quoted_places(answer, 1, passage)]

    built = "Ada Penrose built it again by 1911."
    fell = "It **fell** in 1903, in the great storm."
    assert found(f"{built} [1]") == [built]
    assert found(f"{built} [2] Was it high? No. [1]") == ["Was it high?", "No."]
    assert found(f"{built} A cover of red. [2, 1] It fell in 1903, in the great storm. [1]") == [
        "A cover of red.",
        fell,
        built,
    ]
    assert found("They say: “Ada Penrose built it again”, no less. [1]") == ["Ada Penrose built it again"]
    assert found("In 1903 a great storm made it fall. [1]") == [fell]  # most of its words
    assert found("The elephants of 1903 painted an opera in blue. [1]") == []
    assert found(f"{built} [2]") == found("") == found(built) == []


def led(text: str) -> list[tuple[str, str]]:
    return [(quote.lead, quote.text) for quote in quotes_in(text, number=1)]


@pytest.mark.parametrize("text", ["It holds 2**10 bytes.", "> 60 is right.", "It has a ** b ** c bits."])
def test_signs_that_say_something_stay(text: str) -> None:
    assert list_texts(quotes_in(text, number=None)) == [text]


def test_bullets_and_lines_without_letters_are_not_quoted() -> None:
    assert list_texts(quotes_in("It is simple:\n\n---\n\n- Take it early.", number=1)) == [
        "It is simple:\n- Take it early. [1]",
        "Take it early. [1]",
    ]


def test_heading_lends_its_words_to_sentences_until_the_next() -> None:
    text = "# Care\n\n11. Lost property\n\nWrite it down. Keep it.\n\n**12. The cat.** She may ride."
    assert led(text) == [
        ("Care 11. Lost property", "Write it down."),
        ("Care 11. Lost property", "Keep it."),
        ("12. The cat.", "She may ride."),
    ]


def test_question_in_a_document_is_quoted_with_a_short_answer() -> None:
    text = "Is the clock right?\nNo. It is four minutes fast.\nMay I bring my dog?\n" + (
        "Every car has room for one dog that is small enough to sit on a lap. Cats too."
    )
    assert led(text) == [
        ("", "Is the clock right? No. It is four minutes fast."),
        ("May I bring my dog?", "Every car has room for one dog that is small enough to sit on a lap."),
        ("May I bring my dog?", "Cats too."),
    ]


def test_statement_and_question_on_one_line_are_a_heading() -> None:
    text = "Dogs are welcome.\n\nI use a wheelchair. Can I ride?\n\nYes, in Patience, the red and cream car."
    assert [(quote.lead, quote.text) for quote in quotes_in(text, number=1)] == [
        ("", "Dogs are welcome."),
        ("", "I use a wheelchair. Can I ride? Yes, in Patience, the red and cream car."),
    ]
    assert list_texts(quotes_in("He asked. She told him.", number=1)) == [
        "He asked. [1]",
        "She told him. [1]",
    ]


def test_heading_without_content_is_quoted_only_if_alone() -> None:
    assert led("It rained.\n\n13. Accidents\n") == [("", "It rained.")]
    assert led("13. Accidents") == [("", "13. Accidents")]


def test_a_row_is_quoted_whole_with_the_names_of_its_columns() -> None:
    table = (
        "Strokes | Meaning\n|---|---|\nFour | Send for help. Carry on\nFive | Clear the line\nNobody "
        "whistles."
    )
    assert led(table) == [
        ("", "Strokes: Four; Meaning: Send for help. Carry on"),
        ("", "Strokes: Five; Meaning: Clear the line"),
        ("", "Nobody whistles."),
    ]


def test_a_row_that_nothing_sets_apart_names_no_columns() -> None:
    rows = "Ale | cold\nTea | hot"
    assert led(rows) == [("", "Ale | cold"), ("", "Tea | hot")]
    assert led("We sell this:\n\nAle | £2\nTea | £1")[1:] == [("", "Ale | £2"), ("", "Tea | £1")]
    assert led("We sell this:\n\n" + rows) == [("", "We sell this:"), ("", "Ale | cold"), ("", "Tea | hot")]
    assert led("Sales\n\nYear | Sold\n\nIt was a good one.") == [("Sales Year | Sold", "It was a good one.")]


@pytest.mark.parametrize("rule", ["|-", "|---|", "| :-: |\n|-"])
def test_a_rule_without_a_row_is_no_table(rule: str) -> None:
    quotes = quotes_in(f"The tower is high.\n\n{rule}\n\nIt has a lamp.", number=1)
    assert [quote.text for quote in quotes] == ["The tower is high.", "It has a lamp."]


def test_column_names_repeated_in_rows_are_not_quoted_alone() -> None:
    assert led("(in millions) | 2019 | 2018\nSales (in millions) | 2019: 5; 2018: 4") == [
        ("", "Sales (in millions) | 2019: 5; 2018: 4")
    ]
    assert led("Sales\n\nYear | Sold on 1 May\n\nYear: 2014; Sold on 1 May: 7") == [
        ("Sales", "Year: 2014; Sold on 1 May: 7")
    ]


def test_cells_say_what_they_say() -> None:
    table = "|Test||2020|\n|---|---|---|\n|eGFR|> 60||\n|Sugar||- 4|\n|a \\| b|x|**y**|"
    assert led(table) == [
        ("", "Test: eGFR; > 60"),
        ("", "Test: Sugar; 2020: - 4"),
        ("", "Test: a | b; x; 2020: y"),
    ]


def test_a_table_below_another_has_columns_of_its_own() -> None:
    tables = "| Ticket | Price |\n|---|---|\n| Adult | 3 |\n\n| Room | Floor |\n|---|---|\n| Attic | 4 |\n"
    assert led(tables) == [("", "Ticket: Adult; Price: 3"), ("", "Room: Attic; Floor: 4")]


def test_rows_of_two_cells_are_listed_too() -> None:
    quotes = quotes_in("Weight | 13 kg\nHeight | 92 cm", number=1)
    assert join_quotes(quotes) == "- Weight | 13 kg [1]\n- Height | 92 cm [1]"


def test_rows_are_listed_and_read_back_and_one_stands_alone() -> None:
    prices = (
        "Prices hold in May.\n\nItem | 2024 | 2025\nItem: Tea; 2024: £1; 2025: £2\nItem: Ale; 2024: £3; "
        "2025: £4\n\nNo cards."
    )
    quotes = quotes_in(prices, number=1, source="menu.md")
    answer = join_quotes(with_lists(range(len(quotes)), quotes))
    assert answer == (
        "Prices hold in May. [1]\n- Item: Tea; 2024: £1; 2025: £2 [1]\n- Item: Ale; 2024: £3; 2025: £4 "
        "[1]\n\nNo cards. [1]"
    )
    assert [quote.text for quote in quotes_in(answer, number=None)] == [quote.text for quote in quotes]
    assert join_quotes(with_lists([1], quotes)) == "Item: Tea; 2024: £1; 2025: £2 [1]"


def test_rows_below_what_introduces_them_are_its_list() -> None:
    text = (
        "We sell these:\n\nItem | 2024 | 2025\nItem: Tea; 2024: £1; 2025: £2\nItem: Ale; 2024: £3; "
        "2025: £4\n\nNo cards."
    )
    quotes = quotes_in(text, number=1)
    whole = "We sell these:\n- Item: Tea; 2024: £1; 2025: £2\n- Item: Ale; 2024: £3; 2025: £4 [1]"
    assert join_quotes(with_lists([0, 1], quotes)) == whole
    assert join_quotes(with_lists([2], quotes)) == "We sell these:\n- …\n- Item: Ale; 2024: £3; 2025: £4 [1]"


def test_row_is_located_with_or_without_column_names() -> None:
    table = "Signal | Meaning\n|---|---|\nFour; slow | Send for help: run\nFive | Clear the line"
    for row in ("Signal: Four; slow; Meaning: Send for help: run", "Signal: Five; Meaning: Clear the line"):
        place = place_of(row, table)
        assert place is not None
        assert table[slice(*place)].replace(" | ", " ") == row.replace("Signal: ", "").replace(
            "; Meaning: ", " "
        )
    assert place_of("Signal: Six; Meaning: Clear the line", table) is None
    assert place_of("Signal: *; Meaning: *", "Nothing of it.") is None


def test_cells_of_a_row_are_located_as_whole_cells_of_one_line() -> None:
    assert place_of("A: 1; B: 2", "In 12 days it opens. It cost 1;\n2 of us paid.") is None
    assert place_of("A: 1; B: 2", "12 | 3\n1 | 22\n21 | 2\n1\n2 | 3") is None
    assert place_of("A: *; B: *", "| x || y |") is None
    table = "| 12 | 3 |\n| 0 | **1** || 2 [4] |"
    place = place_of("A: 1; C: 2", table)
    assert place is not None
    assert table[slice(*place)] == "1** || 2"


def test_particulars_are_single_lines_and_a_letterhead_leads_on() -> None:
    assert led("Height: 3 m\nOwner: Ann Lee\n\nIt is red.") == [
        ("", "Height: 3 m"),
        ("", "Owner: Ann Lee"),
        ("", "It is red."),
    ]
    assert led("Front desk: 21\nSecurity (day & night): 99\nAsk here: the desk knows.") == [
        ("", "Front desk: 21"),
        ("", "Security (day & night): 99"),
        ("", "Ask here: the desk knows."),
    ]
    assert all(quote.is_row for quote in quotes_in("Height: 3 m\nOwner: Ann Lee", number=1)), (
        "they say something"
    )
    assert led("From: Ann Lee\nTo: Bo\nSubject: A boot\n\nDear sir, it is red.") == [
        ("To: Bo Subject: A boot", "Dear sir, it is red.")
    ]


def test_rows_with_letterhead_column_names_are_quoted() -> None:
    rows = ["From: London; To: Leeds; Fare: £20", "From: London; To: York; Fare: £25"]
    assert led("\n".join(rows) + "\n\nDogs go free.") == [("", rows[0]), ("", rows[1]), ("", "Dogs go free.")]


def test_first_of_repeated_and_whole_of_cut_sentences_stay() -> None:
    whole = Quote("The office opened in 1998.", (2,), 1, "a")
    cut = Quote("opened in 1998.", (1,), 0, "a")
    again = Quote("The office opened in 1998.", (3,), 2, "a")
    assert list_texts(distinct([cut, whole, again])) == ["The office opened in 1998. [2]"]


def test_list_is_quoted_with_introduction_and_items_once() -> None:
    text = (
        "We pay for these:\n• Boats. Small ones.\n• Carts\n\nWe pay for no horses. Ask first:\n"
        "1. Write down why.\n2) Send it.\n\nNobody minds. At last:"
    )
    quotes = quotes_in(text, number=1)
    assert [quote.text for quote in quotes if quote.bullet is not None] == [
        "Boats.", "Small ones.", "Carts", "1. Write down why.", "2) Send it.",
    ]  # fmt: skip

    def told(*rows: int) -> list[str]:
        return [str(quote) for quote in with_lists(rows, quotes)]

    assert told(0) == ["We pay for these:\n- Boats. Small ones.\n- Carts [1]"]
    assert told(2, 4) == ["We pay for these:\n- …\n- Small ones.\n- … [1]", "We pay for no horses. [1]"]
    assert told(7, 3, 1, 2) == [
        "Ask first:\n- …\n- Send it. [1]",
        "We pay for these:\n- Boats. Small ones.\n- Carts [1]",
    ]
    assert told(4, 3, 0) == [
        "We pay for no horses. [1]",
        "We pay for these:\n- Boats. Small ones.\n- Carts [1]",
    ]
    assert told(5, 1) == [
        "Ask first:\n1. Write down why.\n2) Send it. [1]",
        "We pay for these:\n- Boats.\n- … [1]",
    ]
    assert told(len(quotes) - 1) == ["At last: [1]"]  # nothing follows
    (long,) = with_lists([0], quotes_in("All of it:\n" + "- A thing.\n" * 2000, number=1))
    assert 500 < len(str(long)) < 1000
    other = [*quotes_in("We saw:", number=1, passage=0), *quotes_in("- A goat.", number=2, passage=1)]
    assert [str(quote) for quote in with_lists([0], other)] == ["We saw: [1]"]  # the list of another passage


def test_list_item_after_a_sentence_is_quoted_below_it() -> None:
    before = quotes_in(
        "We pay for boats. Some things are not paid for. These include:\n- Travel\n- Food", number=1
    )

    def told(*rows: int) -> list[str]:
        return [str(quote) for quote in with_lists(rows, before)]

    assert told(3) == ["Some things are not paid for. [1]", "These include:\n- Travel\n- … [1]"]
    assert told(1, 3) == ["Some things are not paid for. [1]", "These include:\n- Travel\n- … [1]"]
    assert told(3, 1) == ["Some things are not paid for. [1]", "These include:\n- Travel\n- … [1]"]
    assert told(1, 2) == ["Some things are not paid for. [1]", "These include:\n- Travel\n- Food [1]"]
    first = quotes_in("These are not paid for:\n- Travel\n- Food", number=2, passage=1)
    assert [str(quote) for quote in with_lists([1], first)] == ["These are not paid for:\n- Travel\n- … [2]"]
    other = [*quotes_in("We pay for boats.", number=1), *first]
    # of another passage
    assert [str(quote) for quote in with_lists([2], other)] == ["These are not paid for:\n- Travel\n- … [2]"]


def test_item_is_quoted_with_the_introduction_in_another_passage() -> None:
    whole = quotes_in("We pay for:\n- Boats\n- Carts", number=1, passage=0, source="a.txt")
    cut = quotes_in("- Carts\n- Sledges\n\nWe sell:\n- Boats", number=2, passage=1, source="a.txt")
    quotes = [*cut, *whole]
    assert [str(quote) for quote in with_lists([0], quotes)] == ["We pay for:\n- …\n- Carts [1]"]
    other = [*quotes_in("- Carts", number=2, passage=1, source="b.txt"), *whole]
    # it has none in another document
    assert [str(quote) for quote in with_lists([0], other)] == ["Carts [2]"]


def test_a_list_in_an_answer_is_read_as_it_was_written() -> None:
    text = (
        "We pay for these:\n• Boats. Small ones.\n• Carts\n\nWe pay for no horses. Ask first:\n1. Write "
        "why.\n2. Send it."
    )
    quotes = quotes_in(text, number=7, source="a.txt")
    rows = [row for row, quote in enumerate(quotes) if quote.bullet is None]
    answer = join_quotes(with_lists(rows, quotes))
    assert answer == (
        "We pay for these:\n- Boats. Small ones.\n- Carts [7]\n\nWe pay for no horses. [7] "
        "Ask first:\n1. Write why.\n2. Send it. [7]"
    )
    again = quotes_in(answer, number=None, source="a.txt")
    assert [str(quote) for quote in again] == [str(quote) for quote in quotes]
    assert join_quotes(with_lists(rows, again)) == answer
    assert distinct([*again, *quotes]) == again
    assert quoted_from(answer)[7] == [quote.text for quote in quotes]
    assert [text[slice(*place)] for place in quoted_places(answer, 7, text)] == [
        "We pay for these:", "Boats.", "Small ones.", "Carts", "We pay for no horses.", "Ask first:",
        "1. Write why.", "2. Send it.",
    ]  # fmt: skip
    lettered = quotes_in("We saw:\na) A goat.\n(2) A cow.", number=1)
    assert str(lettered[0]) == "We saw:\n- a) A goat.\n- (2) A cow. [1]"
    assert quotes_in(str(lettered[0]), number=None)[0].introduces == lettered[0].introduces
    cited_apart = "There are two:\n- One. [1]\n- Two. [2]"  # as a model may write it
    assert [quote.marks for quote in quotes_in(cited_apart, number=None)] == [(1,), (1,), (2,)]


def test_list_belongs_to_its_own_passage_despite_equal_intros() -> None:
    passages = [
        "The cook. Needs:\n• A knife\n• A degree\n• Patience",
        "The clerk\n• Files letters\nNeeds:\n• A degree in law\n• Patience",
        "Needs:\n• A knife",  # of the first one, as an overlapping passage has it
        "The guard. Needs:",
    ]
    quotes = distinct(
        quote
        for at, text in enumerate(passages)
        for quote in quotes_in(text, number=at + 1, source=f"{at}.txt", passage=at)
    )
    introduced = [row for row, quote in enumerate(quotes) if quote.text.endswith("Needs:")]
    told = [str(quote) for quote in with_lists(introduced, quotes)]
    assert told == [
        "Needs:\n- A knife\n- A degree\n- Patience [1]",
        "Needs:\n- A degree in law\n- Patience [2]",
    ]
    assert "A degree in law" in [quote.text for quote in quotes]  # an item can be quoted by itself
    cut, whole = (quotes_in(f"Needs:\n• A knife{more}", number=1)[0] for more in ("", "\n• A degree"))
    assert distinct([cut, whole]) == distinct([whole, cut]) == [whole]


def test_list_item_ends_at_a_heading_and_not_at_a_line_break() -> None:
    text = (
        "• Knowledge of market trends\nDirector of Sales\nPosition: Director, Acme\nSummary:\nThe "
        "director leads the team.\n"
        "• Reports to the Vice President of\nSales\nand Marketing\n• Knows Office\nSuite"
    )
    assert [(quote.lead, quote.text, quote.bullet) for quote in quotes_in(text, number=1)] == [
        ("", "Knowledge of market trends", "•"),
        ("Director of Sales", "Position: Director, Acme", "="),
        ("Director of Sales Position: Director, Acme", "Summary: The director leads the team.", None),
        (
            "Director of Sales Position: Director, Acme",
            "Reports to the Vice President of Sales and Marketing",
            "•",
        ),
        ("Director of Sales Position: Director, Acme", "Knows Office Suite", "•"),
    ]


def test_documents_are_parted_by_paragraphs() -> None:
    quotes = [Quote("A.", (1,), 0, "x"), Quote("B.", (1,), 0, "x"), Quote("C.", (2,), 1, "y")]
    assert join_quotes(quotes) == "A. [1] B. [1]\n\nC. [2]"
    assert join_quotes([]) == ""


PRICES = "Tickets\nAdults £12.50\nChildren under 14 free\nFamily ticket £30"
HOURS = "Opening hours\nMonday closed\nTuesday to Friday 10 am to 6 pm\nSaturday and Sunday 11 am to 5 pm"


@pytest.mark.parametrize(
    ("text", "head", "items"),
    [
        (PRICES, "Tickets", ["Adults £12.50", "Children under 14 free", "Family ticket £30"]),
        (HOURS, "Opening hours", HOURS.split("\n")[1:]),
        ("Öffnungszeiten\nMontag 9 bis 17 Uhr\nDienstag 9 bis 12.30 Uhr", "Öffnungszeiten", None),
        ("Ingredients\n250 g red lentils\n1 onion\nSalt and pepper", "Ingredients", None),
        ("Brightwater Plumbing Ltd\n14 Canal Street\nLeeds LS1 4AP", "Brightwater Plumbing Ltd", None),
        ("Committee\nAnna Berg, chair\nTom Lee, treasurer", "Committee", None),
        ("Lentil soup 4.50\nPasta 6.80", None, None),
    ],
)
def test_unmarked_lines_below_an_introduction_are_a_list(
    text: str, head: str | None, items: list[str] | None
) -> None:
    items = items or text.split("\n")[head is not None :]
    quotes = quotes_in(f"{text}\n\nThe house was built in 1921.", number=1)
    assert [(quote.text, quote.lead) for quote in quotes if quote.bullet == "="] == [
        (item, head or "") for item in items
    ]
    introduced = {quote.text: list(quote.introduces) for quote in quotes if quote.introduces}
    assert introduced == ({head: [f"- {item}" for item in items]} if head else {})
    assert quotes[-1].lead == "", "the list does not lead to what follows it"


@pytest.mark.parametrize(
    "text",
    [
        (
            "Der alte Turm über dem Fluss wurde von den\nBürgern der Stadt gebaut und dann in dem\nKrieg "
            "zerstört."
        ),
        "The tower was built by\nHarold Gray of\nNorthwind.",
        "Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd so are you.",
        "It cost £12.50\nand later £30",
        "Anna Berg\nTom Lee",
        "भारत की राजधानी\nनई दिल्ली है और यह\nबड़ा शहर है।",
        "\n".join(
            f"{letter} long line that goes on and on, until it is longer than sixty characters"
            for letter in "ABC"
        ),
    ],
)
def test_sentences_that_are_broken_into_lines_stay_whole(text: str) -> None:
    assert [quote.text for quote in quotes_in(text, number=1)] == [" ".join(text.split("\n"))]


def test_a_short_line_right_above_a_sentence_is_its_heading() -> None:
    assert led(
        "§ 2 Rent\nThe rent is 950 euros a month. It is due on Monday.\n\n3. Pets\nNo dogs are allowed here."
    ) == [
        ("§ 2 Rent", "The rent is 950 euros a month."),
        ("§ 2 Rent", "It is due on Monday."),
        ("3. Pets", "No dogs are allowed here."),
    ]


def test_heading_with_price_day_or_label_is_quoted_and_leads() -> None:
    assert led(
        "Red lamp for $400\n\nIt is bright.\n\n## Version 2.3 (3 May 2023)\n\nIt is dark.\n\nNext: a "
        "lamp\n\nIt is blue."
    ) == [
        ("", "Red lamp for $400"),
        ("Red lamp for $400", "It is bright."),
        ("", "Version 2.3 (3 May 2023)"),
        ("Version 2.3 (3 May 2023)", "It is dark."),
        ("", "Next: a lamp"),
        ("Next: a lamp", "It is blue."),
    ]


def test_skipped_items_of_a_quoted_list_are_marked() -> None:
    text = "Take with you:\n- a map\n- a lamp\n- bread\n- two ropes\n\nLeave at nine."
    quotes = quotes_in(text, number=1)
    assert join_quotes(with_lists([2, 4], quotes)) == ("Take with you:\n- …\n- a lamp\n- …\n- two ropes [1]")
    assert join_quotes(with_lists([1, 2, 3], quotes)) == (
        "Take with you:\n- a map\n- a lamp\n- bread\n- … [1]"
    )
    assert join_quotes(with_lists([1, 2, 3, 4], quotes)) == text.partition("\n\n")[0] + " [1]"
    long = quotes_in("Take with you:\n" + "".join(f"- a rope of {each} m\n" for each in range(99)), number=1)
    answer = str(long[0])
    assert answer.endswith("\n- … [1]")
    assert len(answer) < LIST_CHARS + 200
    assert quotes_in(answer, number=None)[-1].marks == (1,)


def test_a_heading_right_above_a_list_introduces_it() -> None:
    quotes = quotes_in(
        "## Ingredients\n\n- 1 onion\n- salt\n\nIt is a soup.\n\n## Method\n\nFry it.", number=1
    )
    assert [(quote.lead, quote.text, quote.introduces) for quote in quotes] == [
        ("", "Ingredients", ("- 1 onion", "- salt")),
        ("Ingredients", "1 onion", ()),
        ("Ingredients", "salt", ()),
        ("Ingredients", "It is a soup.", ()),
        ("Method", "Fry it.", ()),
    ]
    assert list_texts(with_lists([2], quotes)) == ["Ingredients\n- …\n- salt [1]"]
    assert join_quotes([quotes[4], quotes[0]]) == "Fry it. [1]\n\nIngredients\n- 1 onion\n- salt [1]"


def test_a_heading_right_above_numbered_steps_introduces_them() -> None:
    quotes = quotes_in("## Method\n\n1. Fry it. Stir.\n2. Eat it.\n\n## Rest\n\nIt keeps.", number=1)
    assert str(quotes[0]) == "Method\n1. Fry it. Stir.\n2. Eat it. [1]"
    assert [quote.text for quote in quotes] == ["Method", "1. Fry it.", "Stir.", "2. Eat it.", "It keeps."]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Steps:\n1) Switch it off\n2) Wait\n\nThen call us.", ["1) Switch it off", "2) Wait"]),
        ("(a) the roof\n(b) the walls\n\nThey are ours.", ["(a) the roof", "(b) the walls"]),
        (
            (
                "1. Scope\nThis holds for all who work here or live here.\n\n2. Terms\nThey are as follows "
                "for all."
            ),
            [],
        ),
        ("6. A reference\n\nShifts\n\nThey are told two weeks before.", []),
        ("1. What is it?\n2. Who made it?\n\nAnn did.", []),
    ],
)
def test_numbered_lines_in_sequence_are_items_with_any_mark(text: str, items: list[str]) -> None:
    assert [quote.text for quote in quotes_in(text, number=1) if quote.begins_item] == items
    assert list_at_start(text) == (
        text.index(items[-1]) + len(items[-1]) if items and text.startswith(items[0]) else 0
    )


def test_numbered_line_above_another_kind_of_list_is_a_heading() -> None:
    quotes = quotes_in("5. Not paid\n- Alcohol\n- Fines\n\n6. Claims\n(a) by post\n(b) by mail", number=1)
    assert [str(quote) for quote in quotes if quote.introduces] == [
        "5. Not paid\n- Alcohol\n- Fines [1]",
        "6. Claims\n- (a) by post\n- (b) by mail [1]",
    ]


def test_a_row_or_a_bold_sentence_is_no_heading() -> None:
    row = "Month: May; Job: Add frames; leave the rest alone"
    assert led(f"{row}\nSwarming\n\nIt is in May.") == [("", row), ("Swarming", "It is in May.")]
    assert led("**It cannot be undone.**\n\nUse this.") == [("", "It cannot be undone."), ("", "Use this.")]
    assert led("**Leave.** It is paid.\n\n**Pay:**\n\nIt is due.") == [
        ("Leave.", "It is paid."),
        ("Pay:", "It is due."),
    ]


def test_code_block_lines_are_quoted_below_their_heading() -> None:
    text = "## Install\n\nRun these:\n\n```bash\npip install lamp\n\nlamp --on\n```\n\nIt is lit."
    quotes = quotes_in(text, number=1)
    assert str(quotes[0]) == "Run these:\n- pip install lamp\n- lamp --on [1]"
    assert [(quote.lead, quote.text) for quote in quotes[1:]] == [
        ("Install", "pip install lamp"), ("Install", "lamp --on"), ("Install", "It is lit."),
    ]  # fmt: skip


def test_what_is_to_be_filled_in_is_not_quoted() -> None:
    assert led("Signed: ________\n\nThe trip is on 4 May. Name ______ Class ____") == [
        ("", "The trip is on 4 May.")
    ]
    assert led("Signed: ________") == [("", "Signed: ________")], "it is all there is"


def test_a_question_right_above_a_list_introduces_it() -> None:
    quotes = quotes_in("What do you charge for?\n- Towels\n- Lockers\n\nThe rest is free.", number=1)
    assert list_texts(with_lists([0], quotes)) == ["What do you charge for?\n- Towels\n- Lockers [1]"]
    assert list_texts(with_lists([2], quotes)) == ["What do you charge for?\n- …\n- Lockers [1]"]


def test_a_question_within_an_item_is_quoted_with_its_answer() -> None:
    quotes = quotes_in("1. Swap it.\n2. Missed your turn? You pay 5 pounds.", number=1)
    assert [quote.text for quote in quotes] == ["1. Swap it.", "2. Missed your turn? You pay 5 pounds."]


def test_a_line_of_a_list_may_say_what_its_heading_says() -> None:
    quotes = quotes_in("Swimming\nAqua gym £4\nSwimming\nSauna £9", number=1)
    assert [(quote.lead, quote.text) for quote in quotes] == [
        ("", "Swimming"), ("Swimming", "Aqua gym £4"), ("Swimming", "Swimming"), ("Swimming", "Sauna £9"),
    ]  # fmt: skip


def test_several_prices_are_listed_and_one_is_not() -> None:
    one, two = (Quote(text, (1,), 0, "a", bullet="=") for text in ("Adults £12", "Children £6"))
    sentence = Quote("It is open.", (1,), 0, "a")
    assert join_quotes([one, two]) == "- Adults £12 [1]\n- Children £6 [1]"
    assert join_quotes([one, sentence]) == "Adults £12 [1] It is open. [1]"


@pytest.mark.timeout(60)
def test_a_line_of_many_digits_is_read_at_once() -> None:
    # minutes, where every digit is followed to the last
    lines = ["Tea £2", "Code " + "1" * 100_000, "Cake £3"]
    assert [quote.text for quote in quotes_in("\n".join(lines), number=1)] == lines


LINES = """Tickets|Adults £12.50|2 carrots|Anna Berg, chair|Front desk: 21|## Rent|- a list|1. Budget
Was it red?|* a b|It is due. It is high.|and so it went on|Monday 10 am to 6 pm|*|Sunday, closed|To these:"""


@given(
    st.lists(
        st.tuples(st.sampled_from(re.split(r"[|\n]", LINES)), st.sampled_from(["\n", "\n\n"])), max_size=12
    )
)
@example([("Adults £12.50", "\n"), ("Adults £12.50", "\n"), ("*", "\n"), ("Was it red?", "\n")])
def test_every_quote_and_every_lead_stands_in_the_text(lines: list[tuple[str, str]]) -> None:
    text = "".join(line + end for line, end in lines)
    for quote in quotes_in(text, number=1):
        assert place_of(quote.text, text) is not None
        assert not quote.lead or place_of(quote.lead, text) is not None
        assert all(place_of(item, text) for item in quote.introduces)


@pytest.mark.parametrize(
    "head",
    [
        (
            "Harbour Lettings Ltd\n12 Quay Street\nOldport OP3 4TT\nTelephone 0123 456789\n3 March 2025\n"
            "Dear Mr Cole,\n"
        ),
        "Hausverwaltung Brandt GmbH\nLindenweg 4\n20095 Hamburg\nHamburg, den 3. März 2025\n",
        "Agence du Port\n4 quai des Brumes\n44000 Nantes\nNantes, le 3 mars 2025\nMadame,\n",
        "Agencia del Puerto\nCalle Mayor 4\n28013 Madrid\nMadrid, 3 de marzo de 2025\n",
        "Oldport Council\n4 Quay Street\n\nMs Ann Lee\n\nReference: PKP-48\nA permit\nDear Ms Lee,\n\n",
    ],
)
def test_a_letterhead_directly_above_a_sentence_is_no_part_of_it(head: str) -> None:
    sentence = (
        "The rent for the flat rises to 980 euros a month from May; please change your\nstanding order."
    )
    quotes = quotes_in(head + sentence, number=1)
    assert quotes[-1].text == " ".join(sentence.split())
    assert [quote.text for quote in quotes[:-1]] == list(filter(None, head.splitlines()))
    assert not any(quote.lead for quote in quotes)


@pytest.mark.parametrize(
    "sentence",
    [
        "The rent for the flat\nAnna Cole rents in 12 Quay Street\nOldport rises by 30 euros\nfrom May.",
        "12 eggs\n3 apples\n4 lemons\nMix them with the butter.",
    ],
)
def test_a_sentence_of_short_lines_is_no_letterhead(sentence: str) -> None:
    assert quotes_in(sentence, number=1)[-1].text == " ".join(sentence.split())
