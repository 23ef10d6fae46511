"""How long it will take, held against work that was really done: progress as it was recorded, replayed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.jobs.embed_passages import PassageEmbedder, Step
from lectern.jobs.time_left import (
    GUESSED,
    GUESSES,
    SCHEMA,
    Costs,
    Estimate,
    Loading,
    Recent,
    expect,
    kind_of,
    read_costs,
    remember,
)
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.readers.workload import Amount
from ragcore.schema import TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.text.tokens import default_tokenizer

if TYPE_CHECKING:
    from ragcore.schema import Vectors

# A 350-page PDF on a slow machine beside much other work: seconds since the beginning, and what was done by then.
RECORDED = json.loads(Path(__file__).with_name("recorded_progress.json").read_text("utf-8"))
USUAL = Costs({"read.pdf": 1e-6, "text.pdf": 0.3, "embed": 1e-4})
WRONG = Costs({"read.pdf": 1e-8, "text.pdf": 0.3, "embed": 1e-5})


def replayed(costs: Costs) -> list[tuple[float, float, float]]:
    """Of each moment: seconds since the beginning, seconds that were said to be left, and the share on the bar."""
    estimate = Estimate(costs, RECORDED["name"], RECORDED["bytes"], 0.0)
    told, before, embedding = [], 0, False
    for seconds, stage, done, total in RECORDED["moments"]:
        if stage == "reading":
            estimate.reading(done, total, seconds)
        elif stage == "embedding":
            if not embedding:
                embedding, last = True, seconds
                estimate.to_embed(RECORDED["characters"], seconds)
            elif done > before:
                estimate.embedded(RECORDED["characters"] * (done - before) // total, seconds - last, seconds)
                before, last = done, seconds
        told.append((seconds, estimate.left, estimate.fraction))
    return told


def test_between_the_first_and_the_last_tenth_the_time_left_is_within_a_factor_of_two() -> None:
    whole = RECORDED["moments"][-1][0]
    for costs in (USUAL, WRONG, Costs()):
        said = [(left, whole - at) for at, left, _ in replayed(costs) if whole / 10 <= at <= 0.9 * whole]
        assert len(said) > 15
        assert all(true / 2 <= left <= 2 * true for left, true in said)


def test_the_bar_only_grows_and_stays_below_one() -> None:
    for costs in (USUAL, WRONG, Costs()):
        bar = [fraction for _, _, fraction in replayed(costs)]
        assert bar == sorted(bar)
        assert 0 < bar[-1] < 1


@pytest.mark.parametrize("costs", [Costs({"read.pdf": 1e-6, "recognise": 3.0, "embed": 1e-4}), Costs({"embed": 1e-4})])
@pytest.mark.parametrize("places", [range(10), range(90, 100), range(5, 100, 10)], ids=["first", "last", "all along"])
def test_scanned_pages_are_told_wherever_they_stand_among_the_others(places: range, costs: Costs) -> None:
    """Ten of a hundred pages are scans, which take 4 s each; embedding takes 20 s more."""
    seen = Costs(costs.known, {"it": Amount(200_000, 10)})
    estimate, now, told = Estimate(seen, "a.pdf", 1_000_000, 0.0, digest="it"), 0.0, list[tuple[float, float]]()
    for page in range(100):
        if page in places:
            estimate.recognised += 1
        now += 4.0 if page in places else 0.01
        estimate.reading(page + 1, 100, now)
        told.append((now, estimate.left))
    whole = now + 20
    assert len([at for at, _ in told if at >= whole / 10]) > 5
    for at, left in told:
        if at >= whole / 10:
            assert (whole - at) / 2 <= left <= 2 * (whole - at)


def test_what_an_embedder_still_takes_to_load_is_counted_unless_reading_takes_longer() -> None:
    costs, left = Costs({"read.pdf": 6e-5, "text.pdf": 0.1, "embed": 1e-4}), [80.0]
    estimate = Estimate(costs, "a.pdf", 1_000_000, 0.0, loading=lambda: left[0])
    after = 100_000 * (1e-4 + GUESSES["rest"])
    assert estimate.left == pytest.approx(80 + after, abs=0.1)
    left[0] = 15.0
    estimate.reading(50, 100, 5.0)
    assert estimate.left == pytest.approx(15 + after, abs=0.1)
    estimate.reading(60, 100, 60.0)  # for the rest of the pages about 40 s, by which time it is loaded
    assert estimate.left == pytest.approx(40 + after, rel=0.1)
    estimate.to_embed(100_000, 61.0)
    assert estimate.left == pytest.approx(15 + after, abs=0.1)
    left[0] = 0.0
    estimate.embedded(50_000, 5.0, 80.0)
    assert estimate.left == pytest.approx(after / 2, rel=0.05)


def test_while_a_file_waits_for_the_embedder_the_time_goes_on_and_is_told_by_what_is_known_meanwhile() -> None:
    left = [6.0]
    estimate = Estimate(Costs(), "a.txt", 100_000, 0.0, loading=lambda: left[0])
    estimate.to_embed(100_000, 1.0)
    guessed = 100_000 * (GUESSES["embed"] + GUESSES["rest"])
    assert estimate.left == pytest.approx(6 + guessed)
    left[0] = 2.0
    estimate.waited(Costs(), 5.0)
    assert estimate.left == pytest.approx(2 + guessed)
    estimate.waited(Costs({"embed": 5e-4}), 6.0)
    assert estimate.left == pytest.approx(2 + 50, rel=0.01)
    left[0] = 0.0
    estimate.embedded(50_000, 5.0, 11.0)
    told = estimate.left
    estimate.waited(Costs({"embed": 1.0}), 12.0)  # what this file itself has shown is newer
    assert estimate.left == told


def test_while_a_group_of_passages_is_embedded_its_time_goes_by() -> None:
    left = [3.0]
    costs = Costs({"embed": 1e-4, "rest": 1e-12})
    estimate, told = Estimate(costs, "a.txt", 100_000, 0.0, loading=lambda: left[0]), []
    estimate.to_embed(100_000, 0.0, 80_000)
    for now, left[0] in ((3.0, 0.1), (5.0, 0.0), (9.0, 0.0), (15.0, 0.0)):
        estimate.waited(costs, now)
        told.append(estimate.left)
    assert told == pytest.approx([10.1, 8.0, 5.0, 8.0])  # after 8 s it takes longer than it should
    estimate.embedded(80_000, 8.0, 16.0, 20_000)
    assert estimate.left == pytest.approx(2.0)
    estimate.waited(costs, 17.5)
    assert estimate.left == pytest.approx(0.75)


def test_a_file_that_is_fetched_keeps_the_time_that_its_bytes_tell() -> None:
    estimate = Estimate(Costs(), "https://example.org/a.pdf", 0, 0.0)
    estimate.fetching(10, 100, 5.0)
    assert estimate.left == 45.0
    estimate.waited(Costs({"embed": 1.0}), 6.0)
    assert estimate.left == 45.0


def test_reading_that_says_nothing_of_its_progress_goes_on_and_longer_than_it_should() -> None:
    costs, told = Costs({"read.doc": 1e-5, "embed": 1e-9, "rest": 1e-9}), []
    estimate = Estimate(costs, "a.doc", 1_000_000, 0.0)
    for now in (0.0, 4.0, 8.0, 12.0):
        estimate.waited(costs, now)
        told.append(estimate.left)
    assert told == pytest.approx([10.0, 6.0, 4.0, 6.0], abs=0.1)


def test_what_is_still_to_be_stored_counts_until_it_is() -> None:
    estimate = Estimate(Costs({"embed": 1e-4, "rest": 2e-5}), "a.txt", 100_000, 0.0)
    estimate.to_embed(100_000, 1.0)
    estimate.to_embed(40_000, 1.0)  # the others are known from before, and are stored too
    assert estimate.left == pytest.approx(40_000 * 1e-4 + 2.0)
    estimate.embedded(40_000, 4.0, 5.0)
    assert estimate.left == pytest.approx(2.0)


@pytest.mark.parametrize("change", [5.0, 0.2])
def test_a_machine_that_changes_its_pace_is_told_of_by_the_last_groups_and_not_by_a_single_one(change: float) -> None:
    def after(groups: int) -> float:
        """Of the cost that it has now, what is told after so many groups of it."""
        recent = Recent(Costs({"embed": 1e-4}), "embed")
        for _ in range(200):
            recent.add(0.8, 8_000)
        before = recent.cost
        for _ in range(groups):
            recent.add(0.8 * change, 8_000)
        return recent.cost / (before if groups == 1 else 1e-4 * change)

    assert 0.8 < after(1) < 1.25
    assert 0.5 < after(30) < 2


def test_on_a_machine_that_loads_the_embedder_slowly_nothing_is_guessed_to_be_quick(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    usual = Costs().file("a.pdf", 1_000_000)
    for seconds in (4.0, 12.0, 24.0):
        with database.transaction() as db:
            expect(db, "load", seconds)
        with database.snapshot() as db:
            costs = read_costs(db)
        assert costs.file("a.pdf", 1_000_000) == pytest.approx(usual * max(seconds / GUESSES["load"], 1), rel=0.05)
    assert Costs({**costs.known, "embed": 1e-4}).of("embed") == 1e-4
    assert costs.of("text.pdf") == GUESSES["text.pdf"]
    with database.transaction() as db:
        remember(db, "load", 26.0, 1)
    with database.snapshot() as db:
        assert read_costs(db).of("load") == pytest.approx(25, rel=0.05)


def test_a_text_of_several_scripts_is_told_within_a_factor_of_two() -> None:
    """Korean costs several times as much for each character as English, which is what was embedded here before."""
    languages = {
        "English": "The keeper climbed the stairs in the evening and lit the lamp above the harbour. ",
        "Korean": "등대지기는 저녁에 계단을 올라가 항구 위의 등불을 켰다. 인간은 천부적으로 이성과 양심을 부여받았다. ",
    }
    nodes = [
        TextNode(f"{number} {languages[language] * 4}", f"{language}{number}")
        for language in ("English", "Korean")
        for number in range(400)
    ]
    clock, told, took = 0.0, list[tuple[float, float]](), list[float]()
    tokenizer = default_tokenizer()

    class Slow(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            took.append(sum(2e-3 * tokenizer.count(text) for text in texts))
            return super().embed_passages(texts)

    costs = Costs({"embed": 2e-3 * tokenizer.count(languages["English"]) / len(languages["English"])})
    estimate = Estimate(costs, "a.txt", 1, 0.0)

    def note(step: Step) -> None:
        nonlocal clock
        if step.made:
            clock += took[-1]
            estimate.embedded(step.characters, took[-1], clock)
        else:
            estimate.to_embed(step.characters_left, clock)
        told.append((clock, estimate.left))

    PassageEmbedder(Slow(8)).embed(nodes, {}, lambda work: work(), note)
    said = [(left, clock - at) for at, left in told if at <= 0.9 * clock]
    assert len(said) > 20
    assert all(true / 2 <= left <= 2 * true for left, true in said), said


def test_loading_is_expected_to_take_what_it_took_before_and_half_as_long_again_when_it_takes_longer() -> None:
    now = [100.0]
    loading = Loading(Costs({"load": 8.0}), clock=lambda: now[0])
    told = []
    for at in (100.0, 106.0, 112.0):
        now[0] = at
        told.append(loading.left())
    assert told == [8.0, 3.0, 6.0]
    assert loading.end() == 12.0
    assert loading.left() == 0.0


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.floats(0, 100)), max_size=20),
    st.floats(1e-9, 1e-2),
)
def test_the_bar_only_grows_whatever_is_told(steps: list[tuple[int, int, float]], cost: float) -> None:
    estimate = Estimate(Costs({"embed": cost}), "a.txt", 10_000, 0.0, 0.3)
    now, bar = 0.0, [estimate.fraction]
    for done, total, seconds in steps:
        now += seconds
        estimate.reading(min(done, total), total, now)
        bar.append(estimate.fraction)
    assert bar == sorted(bar)
    assert 0.3 <= bar[-1] <= 0.99
    assert estimate.left >= 0


def test_what_is_seen_outweighs_what_was_known_the_longer_it_lasts_and_a_guess_much_sooner() -> None:
    def cost(costs: Costs, *seen: tuple[float, float]) -> float:
        recent = Recent(costs, "embed")
        for seconds, amount in seen:
            recent.add(seconds, amount)
        return recent.cost

    known = Costs({"embed": 0.5})
    assert cost(known) == pytest.approx(0.5)
    assert cost(known, (2, 20)) == pytest.approx(4 / 24)  # halfway, in evidence, from 0.5 to 0.1
    assert cost(known, (1000, 10_000)) == pytest.approx(0.1, rel=0.01)
    for slower in (0.5, 1, 5, 30):  # than guessed: known after two groups of passages, within a factor of two
        true = slower * GUESSES["embed"]
        assert true / 2 < cost(Costs(), *[(8_000 * true, 8_000)] * 2) < true * 2


def test_costs_are_kept_between_runs_and_large_files_count_more(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    for seconds, characters in ((1.0, 100), (50.0, 100_000), (0.0, 0)):
        with database.transaction() as db:
            remember(db, "embed", seconds, characters)
    database.close()
    with SQLiteDatabase(tmp_path / "library.db", SCHEMA).snapshot() as db:
        costs = read_costs(db)
    guessed = GUESSED["embed"]
    assert costs.of("embed") == pytest.approx(
        (0.9 * (1.0 + guessed * GUESSES["embed"]) + 50) / (0.9 * (100 + guessed) + 100_000)
    )
    assert costs.file("a.txt", 1000) == pytest.approx(0.02 + 1000 * (2e-7 + costs.of("embed") + 1e-6))


def test_many_tiny_files_do_not_drive_out_what_large_ones_told(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    with database.transaction() as db:
        remember(db, "embed", 10.0, 100_000)
        for _ in range(100):
            remember(db, "embed", 0.01, 10)  # whatever the length, a call takes that long
    with database.snapshot() as db:
        assert read_costs(db).of("embed") == pytest.approx(1e-4, rel=0.2)
        assert read_costs(db).of("embed") > 1e-4
    with database.transaction() as db:  # the machine is busier now
        for _ in range(20):
            remember(db, "embed", 3.0, 10_000)
    with database.snapshot() as db:
        assert read_costs(db).of("embed") > 2.5e-4  # the mean of everything is less


def test_a_first_file_that_is_tiny_tells_little_about_large_ones(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    before = Costs().file("book.txt", 1_000_000)
    with database.transaction() as db:
        for work, amount in (("read.txt", 12), ("embed", 12), ("rest", 12)):
            remember(db, work, 0.02, amount)  # opening, calling and committing, whatever the size
    with database.snapshot() as db:
        costs = read_costs(db)
    assert before / 2 < costs.file("book.txt", 1_000_000) < 2 * before


def test_kinds() -> None:
    assert [kind_of(name) for name in ("a.PDF", "a.tar.gz", "readme")] == ["pdf", "gz", "txt"]
