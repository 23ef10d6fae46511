from __future__ import annotations

import threading
import time

import pytest

from ragcore.concurrency import in_order
from ragcore.observe import span


def test_results_and_steps_are_in_item_order_for_any_duration() -> None:
    def work(item: int) -> int:
        time.sleep((3 - item) / 100)
        with span("inside", item=item):
            return item * item

    with span("root") as root:
        assert in_order(work, range(4)) == [0, 1, 4, 9]
    assert [step.facts["part"] for step in root.children] == [1, 2, 3, 4]
    assert [step.facts["item"] for step in root.spans("inside")] == [0, 1, 2, 3]


def test_items_run_at_the_same_time_up_to_the_number_of_workers() -> None:
    running, most, lock = [0], [0], threading.Lock()

    def work(item: int) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1

    in_order(work, range(9), workers=3)
    assert most == [3]


def test_first_failure_is_raised_and_pending_items_never_start() -> None:
    done: list[int] = []

    def work(item: int) -> None:
        if item == 1:
            raise KeyError("broken")
        time.sleep(0.02)
        done.append(item)

    with span("root") as root, pytest.raises(KeyError, match="broken"):
        in_order(work, range(50), workers=2)
    assert len(done) < 10
    assert root.children[1].error == "'broken'"
    assert root.children[-1].facts["never_begun"] is True
    assert all(step.seconds >= 0 for step in root.walk())


def test_nothing_to_do_gives_nothing() -> None:
    assert in_order(str, []) == []
