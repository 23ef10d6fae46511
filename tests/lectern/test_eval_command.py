"""`lectern eval`: its figures against simpler computations, data sets of every kind from end to end, and what
it refuses."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.datasets.data_set import DataSet, Text, Trial, read_data_set
from benchmarks.datasets.graded_ranking import ndcg_at, recall_at
from benchmarks.datasets.index import open_index
from benchmarks.datasets.measure import Measurement, TrialResult, share_recovered
from benchmarks.datasets.report import compare
from benchmarks.datasets.settings import setting_of
from benchmarks.datasets.token_overlap import Overlap, Stretch, measure_overlap, token_recall
from lectern import cli
from ragcore.embeddings import bundled_model, multilingual_e5
from ragcore.errors import InputError
from ragcore.evaluation.answer_match import contains_answer
from ragcore.evaluation.question_sets import Question
from ragcore.evaluation.significance import Mean, mean
from tests.making import make_pdf
from tests.multilingual import needs_multilingual_e5

HASHING = "embed_model=hashing"
TOWN = {
    "tower": "The tower was built by Ada Penrose in 1871. It is forty metres high.",
    "cellar": "The cellar holds three hundred barrels of herring. Nobody has counted them since the flood.",
    "bridge": "The bridge leads over the river to the market. It was painted green by Tom Hollis.",
    "school": "The school has nine classrooms. Its bell rings at seven in the morning.",
}


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def town(tmp_path: Path) -> Path:
    folder = tmp_path / "town"
    folder.mkdir()
    write_lines(
        folder / "corpus.jsonl", [{"_id": id_, "title": "", "text": text} for id_, text in TOWN.items()]
    )
    write_lines(
        folder / "qa.jsonl",
        [
            {"id": "1", "question": "Who built the tower?", "answers": ["Ada Penrose"], "doc_ids": ["tower"]},
            {
                "id": "2",
                "question": "How many barrels of herring are there?",
                "answers": ["300"],
                "doc_ids": ["cellar"],
            },
            {"id": "3", "question": "Why do whales sing?", "answers": [], "doc_ids": ["tower"]},
        ],
    )
    return folder


def evaluated(
    capsys: pytest.CaptureFixture[str], folder: Path, work: Path, *arguments: str
) -> dict[str, Any]:
    """The last line as JSON."""
    chosen = [] if "--compare" in arguments else ["--setting", HASHING]
    assert cli.main(["eval", str(folder), "--work", str(work), *chosen, *arguments]) == 0
    last: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return last


def values(said: dict[str, Any], at: int = 0) -> dict[str, float]:
    return {name: figure["value"] for name, figure in said["settings"][at]["metrics"].items()}


# The figures.


def test_ndcg_is_the_gain_by_that_of_the_best_list_both_cut() -> None:
    grades = {"a": 3, "b": 2, "c": 1, "d": 0, "e": -1}
    best = 3 / 1 + 2 / math.log2(3) + 1 / 2
    assert ndcg_at(10, grades, ["b", "e", "a"]) == pytest.approx((2 / 1 + 3 / 2) / best)
    assert ndcg_at(10, grades, ["a", "b", "c", "d"]) == 1
    assert ndcg_at(1, grades, ["b", "a"]) == pytest.approx(2 / 3)
    assert ndcg_at(2, {str(number): 1 for number in range(20)}, ["3", "7"]) == 1
    assert ndcg_at(10, grades, []) == 0
    with pytest.raises(ValueError, match="relevant"):
        ndcg_at(10, {"d": 0}, ["d"])


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1), st.permutations("abcdefgh")
)
def test_ndcg_agrees_with_numpy_over_all_places(grades: dict[str, int], ranked: list[str]) -> None:
    if not any(grades.values()):
        return
    gains = np.array([grades.get(id_, 0) for id_ in ranked[:5]])
    ideal = np.sort([*grades.values(), *[0] * 5])[::-1][:5]
    discounts = np.log2(np.arange(len(gains)) + 2)
    assert ndcg_at(5, grades, ranked) == pytest.approx((gains / discounts).sum() / (ideal / discounts).sum())


def test_recall_counts_relevant_documents_alone() -> None:
    assert recall_at(2, {"a": 1, "b": 2, "c": 0}, ["c", "a", "b"]) == 0.5
    with pytest.raises(ValueError, match="relevant"):
        recall_at(2, {"c": 0}, ["c"])


def test_covered_matches_the_study_s_figures_by_hand() -> None:
    wanted = [Stretch("d", 100, 150), Stretch("d", 180, 200)]  # 70 characters
    # 120 characters, 50 of them wanted
    found = [Stretch("d", 90, 140), Stretch("d", 130, 150), Stretch("e", 100, 150)]
    assert measure_overlap(wanted, found) == Overlap(50 / 70, 50 / 120, 50 / (120 + 20))
    assert measure_overlap(wanted, []) == Overlap(0, 0, 0)
    assert measure_overlap(wanted, wanted) == Overlap(1, 1, 1)
    with pytest.raises(ValueError, match="expected"):
        measure_overlap([], found)


stretches = st.builds(
    lambda start, length: Stretch("d", start, start + length), st.integers(0, 40), st.integers(1, 15)
)


@given(st.lists(stretches, min_size=1, max_size=4), st.lists(stretches, max_size=4))
def test_covered_agrees_with_counting_characters_one_by_one(
    wanted: list[Stretch], found: list[Stretch]
) -> None:
    asked = {place for one in wanted for place in range(one.start, one.end)}
    read = [place for one in found for place in range(one.start, one.end)]
    both = len(asked & set(read))
    got = measure_overlap(wanted, found)
    assert got.recall == pytest.approx(both / sum(one.length for one in wanted))
    assert got.precision == pytest.approx(both / len(read) if read else 0)
    assert got.iou == pytest.approx(both / (len(read) + len(asked - set(read))))


def test_answers_are_compared_word_for_word() -> None:
    assert contains_answer("It was built in 1871, they say.", ["1872", "in  1871"])
    assert not contains_answer("It was built in 1871.", ["Ada Penrose"])
    assert contains_answer("Costs: €", ["€"])
    assert contains_answer("Sie wohnt in der Hauptstraße.", ["HAUPTSTRASSE"])
    assert token_recall("Ada built it", ["Ada Penrose", "built by Ada Penrose"]) == 0.5
    assert token_recall("anything", []) == 0


@pytest.mark.parametrize(
    ("text", "answer"),
    [("I do not know.", "no"), ("It was in 1945.", "5"), ("Она жила в Москве.", "Моск"), ("ABC社です", "AB")],
)
def test_an_answer_inside_a_word_does_not_count(text: str, answer: str) -> None:
    assert not contains_answer(text, [answer])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("他于1945年生于北京市。", "1945"), ("他于1945年生于北京市。", "北京"), ("東京タワーです", "タワー"),
        ("เขาเกิดที่กรุงเทพ", "กรุงเทพ"), ("서울에서 왔다", "서울"), ("ABC社です", "abc"), ("Yes, no.", "no"),
    ],
)  # fmt: skip
def test_answer_counts_inside_text_without_word_spaces(text: str, answer: str) -> None:
    assert contains_answer(text, [answer])


def test_interval_holds_the_mean_and_narrows_with_questions() -> None:
    chance = np.random.default_rng(1)
    few, many = mean(list(chance.random(30))), mean(list(chance.random(3000)))
    assert few is not None
    assert many is not None
    assert few.low < few.value < few.high
    assert many.low < many.value < many.high
    assert many.high - many.low < (few.high - few.low) / 5
    # as for a normal mean
    assert many.high - many.low == pytest.approx(2 * 1.96 * math.sqrt(1 / 12 / 3000), rel=0.15)


def test_recovered_gap_is_a_share_with_an_interval() -> None:
    low, high = [0.0, 0.2, 0.1, 0.3] * 20, [1.0, 0.8, 0.7, 0.5] * 20
    half = share_recovered(low, [(one + other) / 2 for one, other in zip(low, high, strict=True)], high)
    assert half is not None
    assert (half.value, half.low, half.high) == pytest.approx((0.5, 0.5, 0.5))
    assert share_recovered(low, high, low) is None
    assert share_recovered([], [], []) is None


# From end to end.


def test_a_corpus_is_measured_and_its_index_is_reused(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = evaluated(capsys, town, tmp_path / "work")
    assert (said["data_set"], said["part"]) == ("town", "all")
    (setting,) = said["settings"]
    assert (setting["questions"], setting["documents"], setting["passages"]) == (3, 4, 4)
    assert setting["seconds_indexing"] > 0
    assert setting["seconds_a_question"] > 0
    found = values(said)
    assert {name: found[name] for name in ("ndcg@10", "recall@10", "hit@1")} == {
        "ndcg@10": 1,
        "recall@10": 1,
        "hit@1": 1,
    }
    assert found["best sentence"] == 0.5  # "three hundred" is not "300"
    assert found["cited passage says it"] == 1
    assert setting["metrics"]["refused, unanswerable"]["number"] == 1
    assert setting["metrics"]["refused, answerable"]["number"] == 2
    again = evaluated(capsys, town, tmp_path / "work")
    assert again["settings"][0]["seconds_indexing"] == 0
    assert values(again) == found
    assert "best sentence" not in values(evaluated(capsys, town, tmp_path / "work", "--finding"))


def test_other_chunkings_and_documents_have_their_own_index(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare = ("--compare", HASHING, f"{HASHING},chunk_size=16")
    first = evaluated(capsys, town, tmp_path / "work", *compare)
    assert first["settings"][0]["passages"] == 4 < first["settings"][1]["passages"]
    with (town / "corpus.jsonl").open("a") as corpus:
        corpus.write(json.dumps({"_id": "mill", "title": "The mill", "text": "It grinds no more."}) + "\n")
    (more,) = evaluated(capsys, town, tmp_path / "work")["settings"]
    assert (more["documents"], more["passages"]) == (5, 5)


def test_two_settings_are_compared_question_by_question(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = evaluated(capsys, town, tmp_path / "work", "--compare", HASHING, f"{HASHING},top_k=3")
    change = same["compared"]["ndcg@10"]
    assert (change["value"], change["p"], change["number"], change["higher"], change["lower"]) == (
        0,
        1,
        2,
        0,
        0,
    )
    assert (
        cli.main(
            ["eval", str(town), "--work", str(tmp_path / "work"), "--compare", HASHING, f"{HASHING},top_k=3"]
        )
        == 0
    )
    assert f"{HASHING} against {HASHING},top_k=3" in capsys.readouterr().out


def test_only_questions_with_both_figures_are_compared() -> None:
    def of(scores: dict[str, float]) -> Measurement:
        results = tuple(
            TrialResult(Trial(Question("?", id=id_)), {"figure": score}, 0.1, 0.1, 0.1)
            for id_, score in scores.items()
        )
        return Measurement(
            DataSet("mine", ()),
            setting_of("default"),
            results,
            1,
            1,
            0.0,
            {"figure": Mean(0.5, 0.4, 0.6, len(scores))},
        )

    change = compare(
        of({"a": 0.0, "b": 0.5, "c": 1.0, "d": 0.25}), of({"d": 0.5, "c": 1.0, "b": 0.25, "a": 1.0, "e": 1.0})
    )
    assert change["figure"].value == pytest.approx((1.0 - 0.25 + 0.0 + 0.25) / 4)
    assert (change["figure"].number, change["figure"].higher, change["figure"].lower) == (4, 2, 1)


def test_what_came_of_each_question_is_written_down(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated(capsys, town, tmp_path / "work", "--each", str(tmp_path / "each.jsonl"))
    first = json.loads((tmp_path / "each.jsonl").read_text("utf-8").splitlines()[0])
    assert first["question"] == "Who built the tower?"
    assert first["found"][0].startswith("tower 0-")
    assert "Ada Penrose" in first["answer"]


def test_question_stays_in_its_part_and_both_parts_cover_all() -> None:
    trials = [Trial(Question("?", id=f"question {number}")) for number in range(400)]
    parts = [trial.part for trial in trials]
    assert parts == [Trial(Question("other words", id=trial.question.id)).part for trial in trials]
    assert 160 < parts.count("development") < 240
    assert set(parts) == {"development", "validation"}


def test_one_part_is_measured_alone(town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_set = read_data_set(town)
    for part in ("development", "validation"):
        wanted = [trial for trial in data_set.trials if trial.part == part]
        if wanted:
            said = evaluated(capsys, town, tmp_path / "work", "--part", part)
            assert (said["part"], said["settings"][0]["questions"]) == (part, len(wanted))
        else:
            with pytest.raises(InputError, match=f"no questions in its {part} part"):
                data_set.only(part)


def test_graded_documents_rank_as_the_formula_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "graded"
    folder.mkdir()
    write_lines(
        folder / "corpus.jsonl", [{"_id": id_, "title": "", "text": text} for id_, text in TOWN.items()]
    )
    write_lines(
        folder / "queries.jsonl",
        [{"_id": "q", "text": "herring barrels"}, {"_id": "unjudged", "text": "nothing"}],
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tcellar\t2\nq\tgone\t1\nq\tschool\t0\n")
    said = evaluated(capsys, folder, tmp_path / "work")
    assert said["settings"][0]["questions"] == 1
    assert values(said)["ndcg@10"] == pytest.approx(2 / (2 + 1 / math.log2(3)), abs=1e-4)
    assert values(said)["recall@10"] == 0.5
    fewer = evaluated(capsys, folder, tmp_path / "work", "--others", "1")
    assert fewer["settings"][0]["documents"] == 3  # cellar, school, and one more


def test_questions_of_another_set_replace_those_of_equal_id(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translated = tmp_path / "übersetzt"
    translated.mkdir()
    write_lines(translated / "corpus.jsonl", [{"_id": "turm", "title": "", "text": "Der Turm."}])
    write_lines(
        translated / "qa.jsonl",
        [
            {
                "id": "2",
                "question": "Wie viele Fässer herring gibt es?",
                "answers": ["300"],
                "doc_ids": ["turm"],
            },
            {"id": "9", "question": "Und sonst?", "answers": ["nichts"], "doc_ids": ["turm"]},
        ],
    )
    each = tmp_path / "each.jsonl"
    said = evaluated(capsys, town, tmp_path / "work", "--questions", str(translated), "--each", str(each))
    (row,) = [json.loads(line) for line in each.read_text("utf-8").splitlines()]
    assert (row["question"], row["relevant"]) == ("Wie viele Fässer herring gibt es?", {"cellar": 1})
    assert said["data_set"] == "town, asked with the questions of übersetzt"
    assert values(said) == {"ndcg@10": 1.0, "recall@10": 1.0, "hit@1": 1.0}
    write_lines(
        translated / "qa.jsonl", [{"id": "9", "question": "Und sonst?", "answers": [], "doc_ids": []}]
    )
    with pytest.raises(InputError, match="no questions in common"):
        read_data_set(town).with_questions_of(read_data_set(translated))


@needs_multilingual_e5
@pytest.mark.parametrize("kind", ["corpus", "files"])
def test_foreign_documents_are_embedded_as_in_a_new_library(kind: str, tmp_path: Path) -> None:
    text = "Der Turm wurde von Ada Penrose gebaut, und er ist vierzig Meter hoch."
    data_set = DataSet("turm", (), texts=(Text("turm", "", text),))
    if kind == "files":
        (tmp_path / "turm.txt").write_text(text, "utf-8")
        data_set = DataSet("turm", (), files=(tmp_path / "turm.txt",))
    for setting, name in (
        ("default", multilingual_e5.NAME),
        ("embed_model=all-MiniLM-L6-v2", bundled_model.NAME),
    ):
        with open_index(data_set, setting_of(setting), tmp_path / "work", lambda text: None) as opened:
            assert opened.embedder.name.startswith(name)
            assert opened.library.embedder is opened.embedder
            (row,) = opened.library.store.candidates().rows
            passage = opened.library.store.nodes(opened.library.store.candidates().ids)[0].text
            assert float(row @ opened.embedder.embed_passages([passage])[0]) == pytest.approx(1, abs=1e-3)


def test_conversation_is_measured_raw_standalone_and_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "talk"
    folder.mkdir()
    write_lines(
        folder / "corpus.jsonl", [{"_id": id_, "title": "", "text": text} for id_, text in TOWN.items()]
    )
    turns = {"lastturn": "|user|: And how old is it?",
             "rewrite": "|user|: How old are the barrels in the cellar?",
             "questions": "|user|: What is in the cellar?\n|user|: And how old is it?"}  # fmt: skip
    for name, text in turns.items():
        write_lines(folder / f"queries.{name}.jsonl", [{"_id": "q<::>2", "text": text}])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq<::>2\tcellar\t1\n")
    said = evaluated(capsys, folder, tmp_path / "work", "--each", str(tmp_path / "each.jsonl"))
    found = values(said)
    assert found["ndcg@10 rewritten"] == 1
    assert found["ndcg@10"] == 1
    assert found["ndcg@10 last message"] < 1
    assert "cellar" in json.loads((tmp_path / "each.jsonl").read_text("utf-8"))["searched"]


def test_expected_spans_are_measured_in_document_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "stretches"
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", [{"_id": "a", "title": "A title", "text": TOWN["tower"]}])
    asked = {
        "id": "1",
        "question": "Who built the tower?",
        "answers": [""],
        "doc_ids": ["a"],
        "spans": [[0, 43]],
    }
    write_lines(folder / "qa.jsonl", [asked])
    found = values(evaluated(capsys, folder, tmp_path / "work"))
    share = 43 / len(TOWN["tower"])
    assert found == pytest.approx({"token recall@5": 1, "token precision@5": share, "IoU@5": share}, abs=1e-4)


def test_pages_match_by_their_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "handbook"
    (folder / "data").mkdir(parents=True)
    make_pdf(folder / "data" / "town.pdf", [TOWN["cellar"], TOWN["tower"]])
    asked = {
        "id": "1",
        "question": "Who built the tower?",
        "answers": ["Ada Penrose"],
        "doc_ids": ["town.pdf"],
    }
    write_lines(
        folder / "qa.jsonl",
        [{**asked, "pages": [["town.pdf", 2]]}, {**asked, "id": "2", "pages": [["other.pdf", 2]]}],
    )
    found = values(evaluated(capsys, folder, tmp_path / "work"))
    assert found["page@5"] == 0.5
    assert found["answer"] == 1


def test_own_documents_and_questions_score_as_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    (folder / "documents").mkdir(parents=True)
    for name, text in TOWN.items():
        (folder / "documents" / f"{name}.txt").write_text(text, "utf-8")
    (folder / "questions.csv").write_text(
        "question,answer,document\nWho built the tower?,Ada Penrose,tower.txt\n", "utf-8"
    )
    found = values(evaluated(capsys, folder, tmp_path / "work"))
    assert {name: found[name] for name in ("hit_rate", "mrr", "ndcg", "recall")} == {
        "hit_rate": 1, "mrr": 1, "ndcg": 1, "recall": 1,
    }  # fmt: skip
    assert found["faithfulness"] == 1


HOME = [
    {"id": 1, "question": "Who built the tower?", "after": "", "must": [["Ada", "Penrose"], ["1871"]]},
    {
        "id": 2,
        "question": "How many metres high is it?",
        "after": "Who built the tower?",
        "must": [["forty metres"]],
    },
    {
        "id": 3,
        "question": "How many barrels does the cellar hold?",
        "after": "",
        "must": [["450"]],
        "computes": True,
    },
    {"id": 4, "question": "Why do whales sing?", "after": "", "must": None},
    {
        "id": 5,
        "question": "What does the bell of the school do at seven in the morning?",
        "after": "",
        "must": [["sings"]],
    },
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "documents").mkdir(parents=True)
    for name in ("tower", "cellar", "school"):
        (folder / "documents" / f"{name}.txt").write_text(TOWN[name], "utf-8")
    write_lines(folder / "questions.jsonl", HOME)
    return folder


def test_conversations_score_by_outcome_and_required_words(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = values(evaluated(capsys, home, tmp_path / "work", "--each", str(tmp_path / "each.jsonl")))
    each = [json.loads(line) for line in (tmp_path / "each.jsonl").read_text("utf-8").splitlines()]
    built, high, computed, absent, wrong = each
    assert "forty metres" in high["answer"]  # "it" is known from the question before
    right = [all(any(word in one["answer"] for word in group) for group in asked["must"] or ())
             for one, asked in zip(each, HOME, strict=True)]  # fmt: skip
    assert right[:3] == [True, True, False]
    shown = [one["scores"]["must-words shown"] for one in (built, high, wrong)]
    assert shown == [1, 1, 0]
    assert found["must-words shown"] == pytest.approx(2 / 3, abs=1e-4)
    outcomes = ("answer", "closest", "nothing")
    for kind in ("", ", computed", ", not there"):
        assert sum(found[f"{outcome}{kind}"] for outcome in outcomes) == pytest.approx(1, abs=1e-3)
    assert computed["scores"]["must-words shown, computed"] == 0
    assert "must-words shown" not in {**computed["scores"], **absent["scores"]}


def test_files_next_to_a_data_set_are_in_its_library(
    home: Path, town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "bridge.txt").write_text(TOWN["bridge"], "utf-8")
    said = evaluated(capsys, home, tmp_path / "work", "--beside", str(other))
    assert said["settings"][0]["documents"] == 4
    assert cli.main(["eval", str(town), "--work", str(tmp_path / "work"), "--beside", str(other)]) == 1
    assert "no files can stand beside it" in capsys.readouterr().err


def test_a_follow_up_of_a_skipped_question_is_refused(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["eval", str(home), "--work", str(tmp_path / "work"), "--finding"]) == 1
    assert "no graded documents" in capsys.readouterr().err
    write_lines(home / "questions.jsonl", [HOME[1]])
    assert cli.main(["eval", str(home), "--work", str(tmp_path / "work")]) == 1
    assert "question 1: 'Who built the tower?' is not asked above it" in capsys.readouterr().err


# What is refused.


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("corpus.jsonl", '{"_id": "a", "text": "b"}\nnot json\n', "corpus.jsonl, line 2"),
        ("corpus.jsonl", '{"_id": "a"}\n', "corpus.jsonl, line 1"),
        ("corpus.jsonl", '["a"]\n', "corpus.jsonl, line 1"),
        ("qa.jsonl", '{"id": "1"}\n', "qa.jsonl, line 1"),
        ("qa.jsonl", '{"id": "1", "question": 7}\n', "qa.jsonl, line 1"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, told: str
) -> None:
    (town / name).write_text(text, "utf-8")
    assert cli.main(["eval", str(town), "--work", str(tmp_path / "work")]) == 1
    assert told in capsys.readouterr().err


def test_what_is_no_data_set_is_refused_with_what_one_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["eval", str(tmp_path / "nowhere"), "--work", str(tmp_path / "work")]) == 1
    assert "There is no folder" in capsys.readouterr().err
    assert cli.main(["eval", str(tmp_path), "--work", str(tmp_path / "work")]) == 1
    told = capsys.readouterr().err
    assert "is not a data set" in told
    assert "questions.csv" in told


def test_grades_must_be_numbers_and_files_must_be_readable(town: Path, tmp_path: Path) -> None:
    (town / "qa.jsonl").unlink()
    write_lines(town / "queries.jsonl", [{"_id": "q", "text": "herring"}])
    with pytest.raises(InputError, match=r"qrels\.tsv"):
        read_data_set(town)
    (town / "qrels.tsv").write_text("query\tdocument\tgrade\nq\tcellar\tmuch\n")
    with pytest.raises(InputError, match=r"qrels\.tsv, line 2"):
        read_data_set(town)
    (town / "corpus.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_data_set(town)


def test_unreadable_document_ends_the_run_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, work = tmp_path / "mine", tmp_path / "work"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "questions.csv").write_text("question\nWho built the tower?\n", "utf-8")
    assert cli.main(["eval", str(folder), "--work", str(work), "--setting", HASHING]) == 1
    assert "broken.pdf" in capsys.readouterr().err
    assert list(work.iterdir()) == []


def test_indexes_unused_for_days_are_deleted_with_the_next(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, old = tmp_path / "work", time.time() - 30 * 24 * 3600
    for name, unused in (("town-0", True), ("town-1.abc", True), ("town-2", False), ("other-town-3", True)):
        (work / name).mkdir(parents=True)
        (work / name / "whole").touch()
        if unused:
            os.utime(work / name / "whole", (old, old))
    (work / "town-1.abc" / "whole").unlink()
    os.utime(work / "town-1.abc", (old, old))
    evaluated(capsys, town, work)
    left = {path.name for path in work.iterdir() if path.is_dir()}
    assert left >= {"town-2", "other-town-3"}
    assert not left & {"town-0", "town-1.abc"}


def test_a_folder_that_cannot_be_written_is_named(
    town: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert cli.main(["eval", str(town), "--work", str(tmp_path / "file"), "--setting", HASHING]) == 1
    assert f"The folder {tmp_path / 'file'} cannot be used" in capsys.readouterr().err


def test_a_setting_names_what_it_changes() -> None:
    assert setting_of("default").ask.top_k == 6
    setting = setting_of(
        "top_k=10, dense_share=0.25, diverse=yes, cutoff=.3, chunk_size=400, chunk_overlap=20"
    )
    assert (setting.ask.top_k, setting.ask.retrieval.dense_share, setting.ask.retrieval.diverse) == (
        10,
        0.25,
        True,
    )
    assert (setting.ask.retrieval.cutoff, setting.ingest.chunk_size, setting.ingest.chunk_overlap) == (
        0.3,
        400,
        20,
    )
    for wrong in (
        "topk=3",
        "top_k=many",
        "top_k=0",
        "chunk_size=20,chunk_overlap=20",
        "response_mode=poem",
        "splitter=axe",
    ):
        with pytest.raises(InputError, match=wrong.partition("=")[0]):
            setting_of(wrong)
