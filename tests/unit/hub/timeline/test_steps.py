"""Steps: found where calls repeat, none where they don't, never renumbered by what the job says itself."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from raydebug.hub.model.timeline.steps import MAX_DECLARED, Calls, Declared, infer, rows

GEN, LOGP, REF, VALUES, CRITIC, ACTOR, VALIDATE, SAVE, INIT, PING = range(10)
STEP = [GEN, LOGP, REF, VALUES, CRITIC, ACTOR]
PACE = 1_000_000


def calls(methods: Sequence[int], ranks: int = 4, jitter: int = 0, seed: int = 1, parent: int = 1) -> Calls:
    """Each method called on all ranks of a group; the submissions of one call may reach into the next one's."""
    draw = random.Random(seed)
    made = []
    for at, method in enumerate(methods):
        for rank in range(ranks):
            made.append((parent, at * PACE + rank * 10 + draw.randint(0, jitter), 0, method, rank))
    draw.shuffle(made)
    columns = np.array(made, np.int64).reshape(-1, 5).T
    return Calls(*columns)


def begins(methods: Sequence[int], first: int) -> list[int]:
    return [at * PACE for at, method in enumerate(methods) if method == first]


def test_a_training_loop() -> None:
    methods = [INIT, *STEP * 6]
    cycle = infer(calls(methods))
    assert cycle is not None
    assert cycle.starts == begins(methods, GEN)


def test_a_last_step_that_is_not_complete_counts() -> None:
    methods = [INIT, *STEP * 5, GEN, LOGP]
    cycle = infer(calls(methods))
    assert cycle is not None
    assert cycle.starts == begins(methods, GEN)


def test_validation_and_checkpoints_in_between() -> None:
    methods = [INIT, GEN]  # validates before it trains
    expected = []
    for step in range(1, 41):
        expected.append(len(methods) * PACE)
        methods += STEP
        if step % 5 == 0:
            methods += [GEN]
        if step % 7 == 0:
            methods += [SAVE]
    cycle = infer(calls(methods))
    assert cycle is not None
    assert cycle.starts == expected


def test_polling_is_no_step() -> None:
    assert infer(calls([INIT, *[PING] * 200])) is None


def test_too_few_repeats_are_no_steps() -> None:
    assert infer(calls([INIT, *STEP * 3])) is None
    assert infer(calls([])) is None


def test_of_two_parents_the_one_with_more_calls() -> None:
    few, many = calls([GEN, LOGP] * 5, parent=1), calls(STEP * 20, parent=2)
    both = Calls(*(np.concatenate(pair) for pair in zip(few, many, strict=True)))
    cycle = infer(both)
    assert cycle is not None
    assert (cycle.parent, len(cycle.starts)) == (2, 20)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(10, 19), max_size=6),
    st.lists(st.integers(0, 9), min_size=2, max_size=8, unique=True),
    st.integers(4, 30),
    st.integers(0, 7),
    st.integers(1, 5),
    st.integers(0, 100),
)
def test_any_cycle_after_any_prologue(
    prologue: list[int], step: list[int], repeats: int, tail: int, ranks: int, seed: int
) -> None:
    methods = [*prologue, *step * repeats, *step[: tail % len(step)]]
    cycle = infer(calls(methods, ranks, PACE // 2, seed))
    assert cycle is not None
    assert [start // PACE * PACE for start in cycle.starts] == begins(methods, step[0])


def test_random_calls_are_no_steps() -> None:
    found = 0
    for seed in range(200):
        draw = random.Random(seed)
        methods = [draw.randint(0, 5) for _ in range(300)]
        found += infer(calls(methods, 2)) is not None
    assert found == 0


def test_steps_stay_where_they_are_when_more_comes() -> None:
    methods = [INIT, *STEP * 12]
    before: list[int] = []
    for end in range(1 + 4 * len(STEP), len(methods) + 1):
        cycle = infer(calls(methods[:end]))
        assert cycle is not None
        assert cycle.starts[: len(before)] == before
        before = cycle.starts


def test_declared_steps_count_from_the_first_rank_on() -> None:
    declared = Declared()
    for number, at in ((2, 50), (1, 10), (2, 40), (3, 90), (2, 60)):
        declared.add("01", number, at)
    assert declared.of("01") == [(1, 10), (2, 40), (3, 90)]
    made = rows("01", "declared", declared.of("01"), inferred=False)
    assert [(step.number, step.start_ns, step.end_ns) for step in made.values()] == [
        (1, 10, 40),
        (2, 40, 90),
        (3, 90, None),
    ]
    for number in range(MAX_DECLARED + 10):
        declared.add("02", number, number)
    assert (len(declared.of("02")), declared.of("02")[0][0], declared.dropped) == (MAX_DECLARED, 10, 10)
