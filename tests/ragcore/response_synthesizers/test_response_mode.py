"""The declaration of each response mode, held against what the mode does."""

import pytest

from lectern.ask.read_everything import MODES
from lectern.settings import RESPONSE_MODES
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.prompt import Passage
from ragcore.response_synthesizers.modes import SynthesisJob, run
from ragcore.response_synthesizers.response_mode import ResponseMode, find_mode
from ragcore.response_synthesizers.synthesizer import Synthesizer
from tests.ragcore.response_synthesizers.doubles import passages_of

PASSAGES = tuple(Passage(f"Tower {number} has {number} lamps.", number, "log.txt") for number in range(1, 6))


def answer(mode: ResponseMode) -> tuple[str, ScriptedLLM]:
    llm = ScriptedLLM(lambda call: "Two lamps [2].")
    pieces = run(mode, SynthesisJob(llm, PASSAGES, {"query_str": "How many lamps?", "system_prompt": ""}))
    text = ""
    for piece in pieces:
        text += piece
    return text, llm


@pytest.mark.parametrize("mode", list(ResponseMode))
def test_a_mode_does_what_its_declaration_says(mode: ResponseMode) -> None:
    text, llm = answer(mode)
    packs = len(PASSAGES) if mode.traits.packing == "one" else 1
    assert len(llm.calls) == mode.calls(packs)
    assert bool(text) == mode.writes
    assert any(passages_of(call.call) for call in llm.calls) == mode.reads_passages
    assert text.count("Two lamps") == (1 if mode.gives_one_answer else packs if mode.writes else 0)
    sent = {call.prompt for call in llm.calls}
    named = {prompt.name for prompt in Synthesizer(llm, mode).get_prompts().values()}
    assert sent <= named


def test_names_of_modes_are_those_of_settings_and_of_commands() -> None:
    assert [mode.value for mode in ResponseMode] == RESPONSE_MODES
    assert all(find_mode(name) is not None for name in RESPONSE_MODES)
    assert find_mode("condense_plus_context") is None


def test_modes_that_read_everything_are_offered_in_the_declared_order() -> None:
    assert [mode.value for mode in MODES] == ["tree_summarize", "refine", "accumulate"]
