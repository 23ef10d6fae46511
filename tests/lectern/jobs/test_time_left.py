"""How long it will take, compared with work that was really done: progress as it was recorded, replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.jobs.time_left import (
    FILE_SECONDS,
    GUESSES,
    SCHEMA,
    WINDOWS,
    Costs,
    TimeLeft,
    kind_of,
    read_costs,
    remember,
)
from ragcore.sql.sqlite import SQLiteDatabase

# A 350-page PDF on a slow machine beside much other work: seconds since the beginning, and what was done by
# then.
RECORDED = json.loads(Path(__file__).with_name("recorded_progress.json").read_text("utf-8"))
GROUP = 8_000  # characters


def costs_of(**each: float) -> Costs:
    """As much as is remembered of work that cost so much for each byte or character; read_pdf is read.pdf."""
    works = {work.replace("_", "."): cost for work, cost in each.items()}
    windows = {work: WINDOWS[work.split(".")[0]] for work in works}
    return Costs({work: (cost * windows[work], windows[work]) for work, cost in works.items()})


USUAL = costs_of(read_pdf=1e-6, text_pdf=0.3, embed=1e-4)
WRONG = costs_of(read_pdf=1e-8, text_pdf=0.3, embed=1e-5)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def replay(costs: Costs) -> list[tuple[float, float, float]]:
    """For each moment: seconds since the beginning, seconds left by the estimate, and the share on the
    bar."""
    clock = Clock()
    estimate = TimeLeft(costs, RECORDED["name"], RECORDED["bytes"], clock=clock)
    seen, before, last, all_characters = [], 0, 0.0, RECORDED["characters"]
    for clock.now, stage, done, total in RECORDED["moments"]:
        if stage == "reading":
            estimate.report_reading(done, total)
        elif stage == "embedding":
            if done:
                costs = costs.add("embed", clock.now - last, all_characters * (done - before) / total)
            estimate.report_embedding(round(all_characters * (1 - done / total)), costs.of("embed"))
            before, last = done, clock.now
        seen.append((clock.now, estimate.seconds_left, estimate.fraction))
    return seen


@pytest.mark.parametrize("costs", [USUAL, WRONG, Costs()], ids=["usual", "wrong", "first"])
def test_remaining_time_is_within_a_factor_of_two_mid_run(costs: Costs) -> None:
    whole = RECORDED["moments"][-1][0]
    told = [(left, whole - at) for at, left, _ in replay(costs) if whole / 5 <= at <= 0.9 * whole]
    assert len(told) > 15
    assert all(true / 2 <= left <= 2 * true for left, true in told), told


@pytest.mark.parametrize("costs", [USUAL, WRONG, Costs()], ids=["usual", "wrong", "first"])
def test_the_bar_only_grows_and_stays_below_one(costs: Costs) -> None:
    bar = [fraction for _, _, fraction in replay(costs)]
    assert bar == sorted(bar)
    assert 0 < bar[-1] < 1


def test_slow_pages_are_estimated_from_the_pace_so_far(clock: Clock) -> None:
    """A hundred scanned pages of four seconds each, in a library that has read only typed ones."""
    estimate = TimeLeft(costs_of(read_pdf=1e-6, text_pdf=0.01, embed=1e-4), "a.pdf", 1_000_000, clock=clock)
    for page in range(1, 101):
        clock.now += 4.0
        estimate.report_reading(page, 100)
        if page > 10:
            true = 400.0 - clock.now
            assert true / 2 <= estimate.seconds_left <= 2 * true + 2  # 10,000 characters are left to embed
            assert estimate.fraction == pytest.approx(page / 100, abs=0.05)


def test_remaining_time_falls_without_progress_and_grows_overdue(clock: Clock) -> None:
    estimate, told = (
        TimeLeft(costs_of(read_doc=1e-5, text_doc=1.0, embed=2e-5), "a.doc", 1_000_000, clock=clock),
        [],
    )
    # 10.1 seconds for reading, which says nothing of its progress, and 20 after it
    for clock.now in (0.0, 4.0, 8.0, 12.0):
        told.append(estimate.seconds_left)
    assert told == pytest.approx([30.1, 26.1, 24.0, 26.0])
    estimate.report_embedding(1_000_000, 2e-5)
    for clock.now in (12.0, 18.0, 28.0, 36.0):
        told.append(estimate.seconds_left)
    assert told[4:] == pytest.approx([20.0, 14.0, 8.0, 12.0])


def test_download_progress_follows_the_received_bytes(clock: Clock) -> None:
    estimate = TimeLeft(Costs(), "https://example.org/a.pdf", 0, clock=clock)
    estimate.report_reading(0, 0)
    estimate.report_reading(0, 100)
    clock.now = 5.0
    estimate.report_reading(10, 100)
    assert estimate.seconds_left == pytest.approx(45.0)
    clock.now = 6.0
    assert estimate.seconds_left == pytest.approx(44.0)


def test_passages_from_an_earlier_worker_count_as_done(clock: Clock) -> None:
    estimate = TimeLeft(Costs(), "a.txt", 100_000, 0.5, clock=clock)
    estimate.report_reading(1, 1)
    estimate.report_embedding(100_000, 1e-4)
    assert (estimate.fraction, estimate.seconds_left) == pytest.approx((0.5, 10.0))
    estimate.report_embedding(40_000, 1e-4)
    assert (estimate.fraction, estimate.seconds_left) == pytest.approx((0.8, 4.0))
    estimate.report_embedding(0, 1e-4)
    assert (estimate.fraction, estimate.seconds_left) == (0.99, 0.0)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 1000), st.integers(0, 1000), st.floats(0, 100)), max_size=20
    ),
    st.integers(0, 10_000),
    st.floats(1e-9, 1e-2),
)
def test_bar_only_grows_and_time_is_never_negative(
    steps: list[tuple[bool, int, int, float]], size: int, each: float
) -> None:
    clock = Clock()
    estimate = TimeLeft(costs_of(embed=each), "a.txt", size, 0.3, clock=clock)
    bar = [estimate.fraction]
    for reading, done, total, seconds in steps:
        clock.now += seconds
        if reading:
            estimate.report_reading(min(done, total), total)
        else:
            estimate.report_embedding(done, each)
        bar.append(estimate.fraction)
        assert estimate.seconds_left >= 0
        clock.now += seconds
        assert estimate.seconds_left >= 0
    assert bar == sorted(bar)
    assert 0.3 <= bar[-1] <= 0.99


@pytest.mark.parametrize("change", [5.0, 0.2])
def test_pace_change_is_judged_by_the_last_groups(change: float) -> None:
    costs, after = costs_of(embed=1e-4), list[float]()
    for _ in range(30):
        costs = costs.add("embed", 1e-4 * change * GROUP, GROUP)
        after.append(costs.of("embed"))
    assert 5e-5 < after[0] < 2e-4
    assert 0.5 < after[-1] / (1e-4 * change) < 2


@pytest.mark.parametrize("slower", [0.5, 1, 5, 30])
def test_a_guess_gives_way_to_the_first_groups(slower: float) -> None:
    true = slower * GUESSES["embed"]
    costs = Costs().add("embed", GROUP * true, GROUP).add("embed", GROUP * true, GROUP)
    assert true / 2 < costs.of("embed") < 2 * true


def test_costs_outlive_runs_and_large_files_count_more(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    with database.transaction() as db:
        db.execute("INSERT INTO paces VALUES ('recognise', 3.0, 1.0)")  # as earlier versions wrote it
    for seconds, characters in ((1.0, 100), (3.0, 30_000), (0.0, 0)):
        with database.transaction() as db:
            remember(db, "embed", seconds, characters)
    database.close()
    with SQLiteDatabase(tmp_path / "library.db", SCHEMA).snapshot() as db:
        costs = read_costs(db)
    guessed = 750  # characters
    assert costs.of("embed") == pytest.approx((guessed * GUESSES["embed"] + 4.0) / (guessed + 30_100))
    assert costs.file("a.txt", 1000) == pytest.approx((FILE_SECONDS + 1000 * 2e-7, 1000 * costs.of("embed")))


def test_many_tiny_files_do_not_displace_large_ones() -> None:
    costs = Costs().add("embed", 15.0, 150_000)
    for _ in range(100):
        costs = costs.add("embed", 0.001, 10)
    assert costs.of("embed") == pytest.approx(1e-4, rel=0.05)
    for _ in range(20):  # the machine is busier now
        costs = costs.add("embed", 3.0, 10_000)
    assert costs.of("embed") > 2.3e-4  # the mean of everything is less


def test_a_first_file_that_is_tiny_tells_little_about_large_ones() -> None:
    before, costs = sum(Costs().file("book.txt", 1_000_000)), Costs()
    for work in ("read.txt", "embed"):
        costs = costs.add(work, 0.01, 12)  # opening and calling, whatever the size
    assert before / 2 < sum(costs.file("book.txt", 1_000_000)) < 2 * before


def test_kinds() -> None:
    assert [kind_of(name) for name in ("a.PDF", "a.tar.gz", "readme")] == ["pdf", "gz", "txt"]
