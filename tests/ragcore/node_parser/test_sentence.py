"""SentenceSplitter: where it cuts, by worked examples."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys

import pytest

from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.schema import Document
from ragcore.text.tokens import tiktoken_tokenizer
from tests.needs import needs_vocabulary
from tests.ragcore.text.vocabulary import find_vocabulary
from tests.word_tokenizer import WordTokenizer

find_vocabulary()
WORDS = WordTokenizer()


@pytest.mark.smoke
def test_whole_sentences_fill_a_chunk_and_repeat_as_overlap() -> None:
    text = "One two three. Four five. Six seven eight nine. Ten."
    assert SentenceSplitter(6, 2, tokenizer=WORDS).split_text(text) == [
        "One two three. Four five.",
        "Four five. Six seven eight nine.",
        "Ten.",
    ]


def test_overlap_is_dropped_if_the_next_sentence_would_not_fit() -> None:
    assert SentenceSplitter(4, 3, tokenizer=WORDS).split_text("A b c. D e f g.") == ["A b c.", "D e f g."]


def test_paragraphs_that_fit_stay_whole() -> None:
    text = "A b. C d. E f.\n\n\nG h. I j."
    assert SentenceSplitter(7, 0, tokenizer=WORDS).split_text(text) == ["A b. C d. E f.", "G h. I j."]
    assert SentenceSplitter(7, 0, tokenizer=WORDS, paragraph_separator="|").split_text(
        text.replace("\n\n\n", "|")
    ) == [
        "A b. C d. E f.",
        "|G h. I j.",
    ]


def test_a_long_sentence_is_cut_at_phrases_then_words() -> None:
    text = "one two, three four five; six seven eight nine ten"
    assert SentenceSplitter(3, 0, tokenizer=WORDS).split_text(text) == [
        "one two,",
        "three four five;",
        "six seven eight",
        "nine ten",
    ]
    assert (
        SentenceSplitter(3, 0, tokenizer=WORDS, secondary_chunking_regex=None).split_text(text)[0]
        == "one two, three"
    )


def test_words_are_what_the_separator_parts() -> None:
    assert SentenceSplitter(3, 0, tokenizer=WORDS, separator="|").split_text("a b|c d|e f") == [
        "a b",
        "|c d",
        "|e f",
    ]


def test_no_dot_of_an_ellipsis_is_lost() -> None:
    text = "wait... " * 20
    assert "".join(SentenceSplitter(1, 0, tokenizer=WORDS).split_text(text)) == "wait..." * 20


def test_emoji_family_stays_together_if_it_fits() -> None:
    family = "👨\u200d👩\u200d👧"
    for size in (5, 6, 7, 8, 9):
        assert SentenceSplitter(size, 0, tokenizer=list).split_text(family * 9) == [family] * 9


@pytest.mark.parametrize("text", ["🇩🇪🇫🇷🇮🇹🇪🇸", "👍🏽👎🏿👍🏽", "e\u0301o\u0308a\u0300", "a🇩🇪b🇫🇷"])
def test_no_flag_skin_tone_or_accent_is_cut_apart(text: str) -> None:
    seen = re.compile(r"[🇦-🇿]{2}|.[🏻-🏿\u0300-\u036f]?")
    for size in range(2, 9):
        chunks = SentenceSplitter(size, 0, tokenizer=list).split_text(text)
        assert [part for chunk in chunks for part in seen.findall(chunk)] == seen.findall(text)
        assert max(map(len, chunks)) <= size


def test_a_character_heavier_than_the_chunk_stands_alone() -> None:
    heavy = {"😀": 5}
    splitter = SentenceSplitter(
        3, 0, tokenizer=lambda text: [0] * sum(heavy.get(c, 1) for c in text if c != " ")
    )
    assert splitter.split_text("ab 😀 cd") == ["ab", "😀", "cd"]


@needs_vocabulary
def test_word_with_more_tokens_without_its_space_still_fits() -> None:
    tokenizer = tiktoken_tokenizer()
    assert [tokenizer.count(text) for text in (" IPs", "IPs")] == [1, 2]
    assert SentenceSplitter(1, 0, tokenizer=tokenizer).split_text(" IPs") in (["I", "Ps"], ["IP", "s"])


def test_a_function_that_gives_a_list_serves_as_tokenizer() -> None:
    assert SentenceSplitter(2, 0, tokenizer=str.split).split_text("a b c d") == ["a b", "c d"]


def test_several_texts_give_the_chunks_of_each() -> None:
    splitter = SentenceSplitter.from_defaults(chunk_size=2, chunk_overlap=0, tokenizer=str.split)
    assert splitter.split_texts(["a b c", "", "d"]) == ["a b", "c", "", "d"]
    assert splitter.split_texts([]) == []


def test_metadata_above_each_chunk_reduces_its_room() -> None:
    splitter = SentenceSplitter(6, 0, tokenizer=str.split)
    assert splitter.split_text_metadata_aware("a b c d e f g", "title: Gulls") == ["a b c d", "e f g"]
    assert splitter.split_text_metadata_aware("a b c d e f g", "") == ["a b c d e f", "g"]
    with pytest.raises(ValueError, match=r"metadata is 6 tokens .* chunks of 6 tokens"):
        splitter.split_text_metadata_aware("a", "one two three four five six")


def test_a_custom_function_can_find_the_sentences() -> None:
    def by_bars(text: str) -> list[str]:
        return [part.strip() for part in text.split("|")]

    text = "a b. c | d e | f. g h"
    splitter = SentenceSplitter(4, 0, tokenizer=str.split, chunking_tokenizer_fn=by_bars)
    assert splitter.split_text(text) == ["a b. c |", "d e |", "f. g h"]


def altered(text: str) -> list[str]:
    return [text.upper(), "", "not there"]


def test_a_function_that_alters_the_sentences_loses_no_text() -> None:
    splitter = SentenceSplitter(2, 0, tokenizer=str.split, chunking_tokenizer_fn=altered)
    assert " ".join(splitter.split_text("a b. c d e. f")) == "a b. c d e. f"


@needs_vocabulary
def test_openai_token_examples_match_the_reference() -> None:
    # As llama-index-core 0.14.25 splits them.
    tokenizer = tiktoken_tokenizer()
    greeting = "Hello! How are you? I am fine. And you? This is a slightly longer sentence."
    assert SentenceSplitter(15, 10, tokenizer=tokenizer).split_text(greeting) == [
        "Hello! How are you? I am fine.",
        "How are you? I am fine. And you?",
        "And you? This is a slightly longer sentence.",
    ]
    assert SentenceSplitter(24, 10, tokenizer=tokenizer).split_text(greeting) == [greeting]
    assert len(SentenceSplitter(512, tokenizer=tokenizer).split_text("中国是一个国家。" * 100)) == 2


def test_making_a_splitter_loads_no_tokenizer() -> None:
    code = (
        "import sys; from ragcore.node_parser.sentence import SentenceSplitter; SentenceSplitter(); "
        "print({'torch', 'tokenizers', 'tiktoken', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_heading_or_question_joins_its_answer_on_request() -> None:
    text = (
        "One two three four five.\nMay I bring a dog?\nYes, of any size. No cats, ever, please.\n"
        "Lost property\nIt is kept here."
    )
    kept = SentenceSplitter(10, 0, tokenizer=str.split, keep_headings=True)
    assert kept.split_text(text) == [
        "One two three four five.",
        "May I bring a dog?\nYes, of any size.",
        "No cats, ever, please.\nLost property\nIt is kept here.",
    ]
    plain = SentenceSplitter(10, 0, tokenizer=str.split)
    assert plain.split_text(text)[0] == "One two three four five.\nMay I bring a dog?"


def test_many_short_lines_are_no_headings() -> None:
    chat = "\n".join(f"[08:{number:02}] Ida: Shall I bring a chair?" for number in range(21))
    chunks = SentenceSplitter(50, 0, tokenizer=str.split, keep_headings=True).split_text(chat)
    assert [len(chunk.splitlines()) for chunk in chunks] == [7, 7, 7]


def test_text_of_only_headings_is_divided_without_loss() -> None:
    text = "\n".join(f"Heading number {n}" for n in range(12))
    chunks = SentenceSplitter(7, 0, tokenizer=str.split, keep_headings=True).split_text(text)
    assert " ".join(chunks).split() == text.split()
    assert max(len(chunk.split()) for chunk in chunks) <= 7


def test_documents_can_be_split_from_an_event_loop() -> None:
    splitter, documents = (
        SentenceSplitter(6, 0, tokenizer=WORDS),
        [Document("One two three. Four five six.", id_="d")],
    )
    found = asyncio.run(splitter.aget_nodes_from_documents(documents))
    assert [node.id_ for node in found] == [node.id_ for node in splitter.get_nodes_from_documents(documents)]
