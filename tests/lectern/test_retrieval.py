"""The options of a retrieval and their one declaration."""

from dataclasses import fields
from string import Formatter

import pytest

from benchmarks.datasets.settings import setting_of
from lectern.retrieval import DEFAULTS, OPTIONS, Retrieval
from lectern.ui.widgets.retrieval_options import chosen_options, descriptions, fill_options, summaries
from ragcore.errors import InputError

CHANGED = Retrieval(0.25, weaker=True, cutoff=0.5, reranker="a/model", diverse=True)


def test_every_value_of_a_retrieval_has_one_option_with_words() -> None:
    assert sorted(option.name for option in OPTIONS) == sorted(field.name for field in fields(Retrieval))
    for option in OPTIONS:
        assert option.label
        assert option.help
        assert option.field_name
        has_value = option.kind != "switch"
        assert bool([name for _, name, *_ in Formatter().parse(option.description) if name]) == has_value


def test_changed_options_are_named_in_the_order_of_the_screens() -> None:
    assert summaries(CHANGED) == [
        "weaker passages included",
        "25% meaning",
        "score 0.50 or more",
        "varied passages",
        "reranked",
    ]
    assert descriptions(CHANGED) == [
        "25% by meaning",
        "score at least 0.50",
        "reranked by a/model",
        "weaker passages included",
        "varied passages",
    ]
    assert summaries(Retrieval()) == descriptions(Retrieval()) == []
    assert summaries(Retrieval(dense_share=0.0)) == ["0% meaning"]


def test_widgets_give_back_the_options_that_filled_them() -> None:
    shown: dict[str, object] = {}
    for how in (Retrieval(), CHANGED, Retrieval(dense_share=0.0), Retrieval(dense_share=1.0)):
        fill_options("query", how, shown.__setitem__)
        assert chosen_options("query", shown.get) == how
        assert chosen_options("other", shown.get) == Retrieval()


def test_a_line_of_text_names_every_option_within_its_range() -> None:
    text = "dense_share=0.25,weaker=yes,cutoff=0.5,reranker=a/model,diverse=yes"
    assert setting_of(text).ask.retrieval == CHANGED
    assert setting_of("default").ask.retrieval == Retrieval(**DEFAULTS)
    with pytest.raises(InputError, match="less than or equal to 1"):
        setting_of("cutoff=2")
