from ragcore.llms.context_window import shorten_texts
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.wording import CHOICE_SELECT


def test_each_text_retains_a_part_in_any_window() -> None:
    llm = ScriptedLLM(counts_words=True, context_window=50, num_output=20)
    with span("choose") as step:
        cut = shorten_texts(
            llm, CHOICE_SELECT, {"context_str": (), "query_str": "Q?"}, ["a " * 100] * 3, step
        )
    assert [len(text.split()) for text in cut] == [16] * 3


def test_texts_too_long_together_lose_their_ends_longest_first() -> None:
    llm = ScriptedLLM(counts_words=True, context_window=200, num_output=20)
    variables = {"context_str": (), "query_str": "one two"}
    rest = sum(len(message.content.split()) for message in CHOICE_SELECT.render(variables))  # type: ignore[arg-type]
    texts = ["short text", " ".join(f"a{n}" for n in range(500)), " ".join(f"b{n}" for n in range(90))]
    with span("choose") as step:
        cut = shorten_texts(llm, CHOICE_SELECT, variables, texts, step)  # type: ignore[arg-type]
    sizes = [len(text.split()) for text in cut]
    assert cut[0] == texts[0]
    assert all(text.startswith(piece) for text, piece in zip(texts, cut, strict=True))
    assert 195 <= sum(sizes) + rest + 12 * 3 + 20 <= 200
    assert abs(sizes[1] - sizes[2]) <= 2
    assert sizes[1] > 20
    assert step.facts["shortened"] == 2
    assert shorten_texts(llm, CHOICE_SELECT, variables, texts[:1], step) == texts[:1]  # type: ignore[arg-type]
