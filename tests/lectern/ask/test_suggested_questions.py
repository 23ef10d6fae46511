"""Questions made from documents: each finds its own document, they are kept, and made anew when the documents
change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lectern.ask.suggested_questions import (
    MAX_CHARS,
    MAX_RANK,
    MAX_SUGGESTIONS,
    SAMPLE_QUESTIONS,
    Candidate,
    SuggestionState,
    candidates,
    is_near,
    sample_candidates,
    summary_request,
    summary_request_in,
)
from lectern.jobs.file_rows import Stage
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.schema import Ask
from lectern.settings import LLMSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMUnavailableError
from ragcore.llms.scripted import ScriptedLLM
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.vector_stores.memory import MemoryStore

TEXTS = {
    "tower.txt": "The Penrose Tower was built in 1871 by Ada. The Penrose Tower is a lighthouse of forty "
    "metres.",
    "ferry.txt": "The Nessay Ferry is the only boat to the island. It leaves at noon on Sundays.",
    "cellar.txt": "The Great Cellar has 300 barrels of oil. Nobody has counted them since the flood.",
    "rules.txt": "Dogs are forbidden in the upper car because the floor is made of glass.",
    "ferry-2.txt": "The Nessay Ferry leaves the island at noon in winter.",
    "ferry-3.txt": "The Nessay Ferry leaves the island at one in summer.",
    "bread.txt": "Rye bread was first baked in 1802. The Old Bakery has 12 ovens of brick.",
}


def take_in(library: Library, *names: str, texts: Mapping[str, str] = TEXTS) -> dict[str, str]:
    """The ids of the files by their names."""
    ids = {}
    for name in names:
        path = library.incoming / "given"
        path.write_text(texts[name], "utf-8")
        ids[name] = library.intake.add(path, name).file.id
        assert Worker(
            library.files, library.store, library.embedder, lambda: library.settings.ingest
        ).run_once()
    return ids


def generate_suggestions(library: Library) -> SuggestionState:
    assert library.suggestions.get().pending
    library.suggestions.wait(60)
    return library.suggestions.get()


def retrieve_documents(library: Library, question: str) -> list[str | None]:
    return [hit.node.ref_doc_id for hit in library.retriever(MAX_RANK).retrieve(question)]


def test_suggested_questions_retrieve_their_document_and_persist(
    open_library: Callable[..., Library],
) -> None:
    library = open_library()
    assert library.suggestions.get() == SuggestionState()
    ids = take_in(library, *(name for name in TEXTS if name[:-4] not in ("ferry-2", "ferry-3")))
    suggested = generate_suggestions(library)
    assert not suggested.pending
    assert len(suggested.questions) == MAX_SUGGESTIONS == len(set(suggested.questions))
    again = {candidate.question: candidate.document_id for candidate in library.suggestions.generate()}
    assert tuple(again) == suggested.questions
    assert len(set(again.values())) == MAX_SUGGESTIONS  # of as many documents as can be
    assert set(again.values()) <= set(ids.values())
    for question, document in again.items():
        assert document in retrieve_documents(library, question)
    assert open_library().suggestions.get() == suggested


def test_questions_of_a_deleted_document_go_and_new_ones_come(open_library: Callable[..., Library]) -> None:
    library = open_library()
    ids = take_in(library, "tower.txt", "rules.txt")
    before = generate_suggestions(library).questions
    library.delete_file(ids["rules.txt"])
    then = library.suggestions.get()
    assert then.pending
    assert set(then.questions) < set(before)
    assert not any("Dogs" in question for question in then.questions)
    library.suggestions.wait(60)
    assert all(
        set(retrieve_documents(library, question)) == {ids["tower.txt"]}
        for question in library.suggestions.get().questions
    )


def test_while_files_are_read_the_ones_that_are_there_are_enough(
    open_library: Callable[..., Library],
) -> None:
    library = open_library()
    take_in(library, "tower.txt")
    before = generate_suggestions(library).questions
    take_in(library, "rules.txt")
    path = library.incoming / "given"
    path.write_text(TEXTS["ferry.txt"], "utf-8")
    waiting = library.intake.add(path, "ferry.txt").file
    assert waiting.stage is Stage.QUEUED
    assert library.suggestions.get() == SuggestionState(before)
    library.files.queue.stop(waiting.id)
    assert library.suggestions.get().pending
    library.suggestions.wait(60)


def test_documents_without_questions_are_examined_once(open_library: Callable[..., Library]) -> None:
    library = open_library()
    path = library.incoming / "given"
    path.write_text("17 4 9.", "utf-8")
    library.intake.add(path, "numbers.txt")
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()
    assert generate_suggestions(library) == SuggestionState()
    assert library.suggestions.get() == SuggestionState()


def test_a_model_words_them_and_the_rules_fill_up(open_library: Callable[..., Library]) -> None:
    library = open_library(
        ScriptedLLM(["Why are zebras striped?", "1. Who built the Penrose Tower?\nThe tower"])
    )
    take_in(library, "tower.txt", "rules.txt")
    questions = generate_suggestions(library).questions
    assert "Who built the Penrose Tower?" in questions
    assert "The tower" not in questions
    assert len(questions) > 1


def test_a_model_writes_questions_with_the_persons_prompt(
    open_library: Callable[..., Library],
) -> None:
    llm = ScriptedLLM(["Who built the Penrose Tower?"])
    library = open_library(llm)
    library.prompts.save("questions", ("Be a child of ten. {num_questions} questions about {context_str}",))
    take_in(library, "tower.txt")
    assert generate_suggestions(library).questions[0] == "Who built the Penrose Tower?"
    assert "Be a child of ten." in str(llm.calls[0].messages)


def test_question_that_misses_its_own_document_is_dropped(open_library: Callable[..., Library]) -> None:
    asked = "When does the Nessay Ferry leave the island?"
    library = open_library(ScriptedLLM([asked, "", "", ""]))
    # the model is asked about the newest first
    ids = take_in(library, "ferry.txt", "ferry-2.txt", "ferry-3.txt", "rules.txt")
    assert ids["rules.txt"] not in retrieve_documents(library, asked)
    questions = [candidate.question for candidate in library.suggestions.generate()]
    assert questions
    assert asked not in questions


def test_a_model_that_fails_leaves_it_to_the_rules(open_library: Callable[..., Library]) -> None:
    def fail(*_: object) -> str:
        raise LLMUnavailableError("No answer.", hint="Start it.")

    with_model, alone = open_library(ScriptedLLM(fail)), open_library()
    take_in(alone, "tower.txt", "rules.txt")
    assert with_model.suggestions.generate() == alone.suggestions.generate() != []


def list_questions(text: str) -> list[str]:
    store = MemoryStore()
    store.upsert(
        Document(text=text, id_="d"),
        [TextNode(text=text, embedding=HashEmbedding(8).embed_query(text), ref_doc_id="d")],
    )
    return candidates(store, "d")


SCREENS_OF_LABELS = {
    "en": (
        "Operation\n\nF1 F2 F3 F4 F5 Reset filter sign?\n\nMENU  Timer  Filter\n\nClear all settings?",
        "Press OK.\n\nGala evening\n\nP. Hartley & J. Quinn ?\n\nWho We Are ?\n\nGolden Age Gala.",
    ),
    "de": (
        "Bedienung\n\nF1 F2 F3 F4 Filter zurücksetzen?\n\nMENÜ Anzeige Zurück?\n\nDer große Abend",
        "Hr. Vogt & Fr. Lenz ?\n\nWer wir sind ?\n\nOK drücken.",
    ),
    "fr": (
        "F1 F2 F3 Réinitialiser le filtre ?",
        "MENU Retour ?\n\nQui nous sommes ?",
    ),
    "es": ("Uso\n\nF1 F2 F3 ¿Restablecer filtro?", "MENÚ Pantalla Atrás ?\n\nQuiénes somos ?"),
    "zh": ("操作\n\nF1 F2 F3 复位 滤网？", "菜单 显示 返回？\n\n晚会\n\n王先生 李女士？"),
}


@pytest.mark.parametrize("text", SCREENS_OF_LABELS.values(), ids=list(SCREENS_OF_LABELS))
def test_labels_and_captions_become_no_questions(text: tuple[str, ...]) -> None:
    assert list_questions("\n\n".join(text)) == []


def test_each_word_of_a_question_stands_in_one_sentence() -> None:
    text = (
        "Staff\n\nThe North Pier has 12 lamps. Every lamp of the North Pier burns oil. "
        "The North Pier opened in 1871.\n\n"
        "Board of the North Pier Chair Susan Lee The North Pier has 5 keepers.\n\n"
        "Home | North Pier has 4 menus."
    )
    assert set(list_questions(text)) == {
        "How many lamps does the North Pier have?",
        "When did the North Pier open?",
    }


def test_a_models_question_without_a_sentence_is_dropped(open_library: Callable[..., Library]) -> None:
    asked = "1. Who built the Penrose Tower?\n2. Why is the Penrose Tower famous with sailors?"
    library = open_library(ScriptedLLM([asked]))
    take_in(library, "tower.txt")
    questions = generate_suggestions(library).questions
    assert "Who built the Penrose Tower?" in questions
    assert "Why is the Penrose Tower famous with sailors?" not in questions


def test_long_or_passing_remarks_are_not_suggested() -> None:
    questions = list_questions(
        f"The {'very ' * 30}old Bell Tower was built in 1871. The rest was the clamp. The rest was it. "
        "The rest was a stair. "
        "The North Pier is a landing place. The North Pier has 12 lamps. Every lamp of the North Pier "
        "burns oil."
    )
    assert "How many lamps does the North Pier have?" in questions
    assert all(len(question) <= MAX_CHARS for question in questions)
    assert not any("rest" in question for question in questions)


def test_question_unclear_without_its_text_is_not_suggested() -> None:
    vague = (
        "The Office provides forms. Article A contains names. Article A is short. The reason was clear "
        "because the sun shone."
    )
    assert list_questions(vague) == []


def test_document_without_questions_offers_its_own_summary(
    open_library: Callable[..., Library],
) -> None:
    library = open_library()
    names = {
        "Lease.txt": "Tenants: Olssen. Rent: 980.",
        "Miete.txt": "Die Miete beträgt 980 Euro und ist am ersten Tag fällig.",
    }
    ids = take_in(library, *names, texts=names)
    made = {one.document_id: one.question for one in library.suggestions.generate()}
    assert made == {ids["Lease.txt"]: "Summarise Lease", ids["Miete.txt"]: "Worum geht es in Miete?"}
    for document, question in made.items():
        assert {hit.node.ref_doc_id for hit in library.answer(Ask(question=question)).source_nodes} == {
            document
        }


@pytest.mark.parametrize("has_model", [False, True])
def test_only_a_model_summarises_a_table(open_library: Callable[..., Library], *, has_model: bool) -> None:
    rows = "".join(
        f"{month},{at}4.20,{at}00\n" for at, month in enumerate(("January", "February", "March", "April"), 1)
    )
    recipe = (
        "Ingredients\n- 200 g butter, soft\n- 180 g sugar\n- 4 eggs\n\nMethod\n1. Heat the oven.\n2. "
        "Bake it.\n"
    )
    texts = {"bills.csv": f"Month,Water,Power\n{rows}", "cake.txt": recipe}
    library = open_library(ScriptedLLM(["none"] * 4) if has_model else None)
    take_in(library, *texts, texts=texts)
    wishes = {one.question for one in library.suggestions.generate()}
    assert ("Summarise bills" in wishes) == has_model
    assert "Summarise cake" in wishes


def test_the_newest_documents_have_one_each(open_library: Callable[..., Library]) -> None:
    library = open_library()
    ids = take_in(library, *TEXTS)
    newest = [ids[name] for name in reversed(TEXTS)][:MAX_SUGGESTIONS]
    assert [one.document_id for one in library.suggestions.generate()] == newest


@pytest.mark.parametrize(
    ("name", "others", "wish"),
    [
        ("Lease.pdf", ["Letter.pdf"], "Summarise Lease"),
        ("Lease.pdf", ["Lease.docx"], "Summarise Lease.pdf"),
        ("report.pdf", ["Letter.pdf"], "Summarise report.pdf"),  # "the report" may be any
        ("Lease.pdf", ["Lease.pdf"], ""),  # two of one name
        ("x" * MAX_CHARS + ".pdf", [], ""),
    ],
)
def test_a_summary_is_wished_for_by_a_name_that_no_other_has(name: str, others: list[str], wish: str) -> None:
    assert summary_request(name, others, "en") == wish


def test_table_rows_and_non_questions_are_not_suggested() -> None:
    text = (
        "Hurricane: * Tammy; Date (Place): Oct 5-?\nThe place was hit.\n\nReally, have you ever seen a "
        "Nessay Ferry?\n"
        "It leaves at noon.\n\nOslo is the largest city in the U. S. by far.\n\nWhich Nessay Ferry • "
        "Oslo?\n\nIt sank."
    )
    odd = ("Hurricane", "Really", "U?", "•")
    assert not [question for question in list_questions(text) if any(sign in question for sign in odd)]


def test_sample_has_its_own_questions_while_its_documents_exist(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    library.intake.add_sample()
    worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
    while worker.run_once():
        pass
    own = [
        asked["question"]
        for asked in map(json.loads, SAMPLE_QUESTIONS.read_text("utf-8").splitlines())
        if "suggested" in asked
    ]
    assert list(dict.fromkeys(one.question for one in sample_candidates(library.store))) == own
    made = [one.question for one in library.suggestions.generate()]
    found = [question for question in own if question in made]
    assert made[: len(found)] == found != []
    library.delete_file(
        next(file.id for file in library.files.all() if file.name == "staff-handbook-2021.docx")
    )
    assert {one.question for one in sample_candidates(library.store)} == {
        "What happened on Regatta night in 2022?"
    }
    library.close()


def test_near_is_among_the_first_three() -> None:
    hits = [NodeWithScore(TextNode(text=name, ref_doc_id=name), 1.0) for name in ("a", "b", "c", "d")]
    assert [is_near(Candidate("?", name), hits) for name in "abcd"] == [True, True, True, False]


@pytest.mark.parametrize(
    ("settings", "here"),
    [
        (LLMSettings(), True),
        (LLMSettings(provider="ollama"), True),
        (LLMSettings(provider="ollama", base_url="http://127.0.0.1:11434"), True),
        (LLMSettings(provider="ollama", base_url="gpu.example.org:11434"), False),
        (LLMSettings(provider="openai"), False),
        (LLMSettings(provider="openai_compatible", base_url="http://localhost:1234/v1"), True),
        (LLMSettings(provider="openai_compatible", base_url="https://api.example.org/v1"), False),
        (LLMSettings(provider="openai_compatible", base_url="http://localhost.example.org/v1"), False),
    ],
)
def test_a_model_is_here_only_where_its_address_says_so(settings: LLMSettings, here: bool) -> None:
    assert settings.on_this_computer is here


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "zh"])
def test_a_summary_is_asked_for_in_the_reader_s_language(language: str) -> None:
    wanted = {
        "en": "Summarise Lease",
        "de": "Worum geht es in Lease?",
        "fr": "De quoi parle Lease ?",
        "es": "¿De qué trata Lease?",
        "zh": "Lease讲了什么？",
    }
    for of_document in wanted:
        request = summary_request("Lease.pdf", ["Letter.pdf"], of_document)
        assert summary_request_in(language, request) == wanted[language]
    assert summary_request_in(language, "Who built the tower?") == "Who built the tower?"
