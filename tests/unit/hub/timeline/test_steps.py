"""Steps of a job: what its processes declare, else what its calls show."""

from __future__ import annotations

from raydebug.api.timeline import Step
from raydebug.hub.model.timeline.steps import MAX_STEPS, Steps
from tests.unit.hub.timeline.test_cycles import PACE, STEP, calls

JOB, OTHER = "01000000", "02000000"


def told(rows: list[Step]) -> list[tuple[int, int, int | None]]:
    return [(row.number, row.start_ns, row.end_ns) for row in rows]


def test_of_each_number_the_earliest_counts() -> None:
    steps = Steps()
    for source, number, at in (("a", 1, 10), ("a", 2, 50), ("b", 1, 12), ("b", 2, 40), ("a", 3, 90), ("c", 2, 60)):
        steps.declare(JOB, source, number, at)
    rows = steps.rows(JOB, None)
    assert told(rows) == [(1, 10, 40), (2, 40, 90), (3, 90, None)]
    assert not any(row.inferred for row in rows)
    assert len({row.step_id for row in rows}) == 3
    assert steps.rows(OTHER, None) == []


def test_what_is_said_twice_counts_once() -> None:
    """A helper says all it holds to each hub that comes, and to the same one again."""
    steps = Steps()
    marks = [("a", number, 100 * number) for number in (1, 2, 3, 1, 2)] + [("b", 2, 201)]
    marks = [(source, number, 1000 + at) for at, (source, number, _) in enumerate(marks)]
    for _ in range(2):
        for source, number, at in marks:
            steps.declare(JOB, source, number, at)
    assert [row.number for row in steps.rows(JOB, None)] == [1, 2, 3, 1, 2]


def test_numbers_that_begin_anew_are_steps_again() -> None:
    steps = Steps()
    at = 0
    for _epoch in range(3):
        for number in range(4):
            for rank in ("a", "b"):
                at += 10
                steps.declare(JOB, rank, number, at)
    rows = steps.rows(JOB, None)
    assert [row.number for row in rows] == [0, 1, 2, 3] * 3
    assert [row.start_ns for row in rows] == [10 + 20 * nth for nth in range(12)]
    assert len({row.step_id for row in rows}) == 12
    # A rank that was restarted goes on in the round that goes on.
    steps.declare(JOB, "late", 3, at + 5)
    assert len(steps.rows(JOB, None)) == 12


def test_a_step_that_was_begun_twice_in_a_row_began_once() -> None:
    steps = Steps()
    for at in (10, 20, 30):
        steps.declare(JOB, "a", 5, at)
    assert told(steps.rows(JOB, None)) == [(5, 10, None)]


def test_the_newest_are_kept_and_the_others_counted() -> None:
    steps = Steps()
    more = 2 * MAX_STEPS
    for number in range(more):
        steps.declare(JOB, "a", number, number)
    rows = steps.rows(JOB, None)
    assert [row.number for row in rows] == list(range(more - MAX_STEPS, more))
    assert MAX_STEPS <= more - steps.dropped <= MAX_STEPS + MAX_STEPS // 8


def test_declared_ones_win() -> None:
    steps = Steps()
    made = calls("I" + STEP * 6)
    rows = steps.rows(JOB, made)
    assert [row.number for row in rows] == list(range(1, 7))
    assert all(row.inferred for row in rows)
    assert rows == steps.rows(JOB, made)
    steps.declare(JOB, "a", 41, PACE)
    assert steps.declares(JOB)
    assert told(steps.rows(JOB, made)) == [(41, PACE, None)]
    steps.keep([OTHER])
    assert not steps.declares(JOB)


def test_inferred_numbers_stay_when_the_oldest_calls_are_gone() -> None:
    steps = Steps()
    letters = "I" + STEP * 20
    steps.rows(JOB, calls(letters))
    made = calls(letters + STEP)
    late = type(made)(*(column[made.submit >= (1 + 8 * 8) * PACE] for column in made))
    rows = steps.rows(JOB, late, lambda code: f"parent{code}")
    assert [row.number for row in rows] == list(range(9, 22))
    assert rows[0].step_id == f"{JOB}/parent1/9"
