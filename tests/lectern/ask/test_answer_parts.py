"""Where the parts of an answer are in its text."""

from __future__ import annotations

from lectern.ask.answer_parts import find_parts
from ragcore.response_synthesizers.synthesizer import Synthesizer
from tests.ragcore.response_synthesizers.doubles import nodes, word_llm


def test_an_answer_that_was_stopped_has_the_parts_of_its_text() -> None:
    stream = Synthesizer(word_llm(lambda call: "It is red."), "accumulate").stream("What?", nodes("a", "b"))
    text = "".join(stream)
    parts = find_parts(stream.trace, text)
    assert [text[part.start : part.end] for part in parts] == ["It is red.", "It is red."]
    assert find_parts(stream.trace, text[:-1]) == parts[:1]
    assert find_parts(stream.trace, "") == ()
