"""Inferred steps: found where calls repeat, at the right place, none where they don't, with numbers that stay."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydebug.hub.model.timeline.cycles import Calls, StepSpan, infer

PACE = 1_000_000
STEP = "GRLFVCAW"
"""A step of verl: generate, reward, log-prob, reference, values, critic, actor, weights. S saves, T tests."""

Letters = Sequence[str]


def calls(letters: Letters, ranks: int = 4, jitter: int = 0, seed: int = 1, parent: int = 1) -> Calls:
    """Each letter a method, called on all ranks of its group, in disorder; a lower-case one on rank 0 alone. With
    ``jitter`` the submissions of one call reach into the next one's, as a parent with several threads makes them."""
    draw = random.Random(seed)
    made = []
    for at, letter in enumerate(letters):
        for rank in range(1 if letter.islower() else ranks):
            submit = at * PACE + rank * 10 + draw.randint(0, jitter)
            made.append((parent, submit, ord(letter.upper()) % 3, ord(letter.upper()), rank))
    draw.shuffle(made)
    return Calls(*np.array(made, np.int64).reshape(-1, 5).T)


def together(*several: Calls) -> Calls:
    return Calls(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


def places(spans: Iterable[StepSpan]) -> list[int]:
    """Which letter each step begins at."""
    return [span.start_ns // PACE for span in spans]


def verl(steps: int, test_every: int = 5, save_every: int = 7, tests: str = "GR") -> tuple[str, list[int]]:
    """All letters, and where the steps begin."""
    letters, begins = "IIII" + tests, []
    for step in range(1, steps + 1):
        begins.append(len(letters))
        letters += STEP[:-1]
        letters += "S" * (step % save_every == 0) + STEP[-1]
        letters += tests * (step % test_every == 0)
    return letters, begins


@pytest.mark.parametrize(
    ("every", "tests"),
    [((5, 7), "GR"), ((2, 3), "GR"), ((2, 2), "GR"), ((3, 3), "T"), ((10, 10), "T"), ((5, 50), "GR" * 6)],
)
@pytest.mark.parametrize("ranks", [1, 4])
def test_a_loop_like_verls(every: tuple[int, int], tests: str, ranks: int) -> None:
    letters, begins = verl(60, *every, tests)
    spans = infer(calls(letters, ranks))
    assert places(spans) == begins
    assert [span.number for span in spans] == list(range(1, 61))
    assert [span.end_ns for span in spans] == [*(span.start_ns for span in spans[1:]), None]


def test_a_validation_in_every_step_is_part_of_it() -> None:
    letters, begins = verl(20, 1, 100, "T" + "GR" * 10)
    assert letters.startswith("IIIIT")
    letters = "IIII" + letters[begins[0] :]
    assert places(infer(calls(letters))) == [begin - 21 for begin in begins]


def test_a_last_step_that_is_not_complete_counts() -> None:
    assert places(infer(calls("I" + STEP * 5 + STEP[:1]))) == [1, 9, 17, 25, 33, 41]


def test_a_validation_at_the_end_is_not_taken_for_a_step() -> None:
    letters, begins = verl(10)
    assert letters.endswith("WGR")
    assert places(infer(calls(letters))) == begins
    assert places(infer(calls(letters + "GRL"))) == [*begins, len(letters)]


@pytest.mark.parametrize(
    "letters",
    [
        "",
        "I" + STEP * 3,
        "I" + "P" * 500,
        "IABABABAB",
        "IIABCDEFGHIJKLMNOPQRSTUVW",
        "IGR" + "AU" * 4,  # the inner loop of a longer one that has not come again yet
    ],
    ids=["nothing", "too few", "polling", "two by chance", "no repeats", "inner loop"],
)
def test_no_steps(letters: str) -> None:
    assert infer(calls(letters)) == []


def test_an_inner_loop_is_no_step() -> None:
    assert places(infer(calls("I" + "GRAUAUAUAU" * 6))) == [1 + 10 * step for step in range(6)]


def test_a_method_called_now_more_often_now_less() -> None:
    draw = random.Random(1)
    letters, begins = "I", []
    for _ in range(50):
        begins.append(len(letters))
        letters += "GR" + "U" * draw.randint(1, 6)
    assert places(infer(calls(letters))) == begins


def test_a_method_called_on_rank_zero_alone() -> None:
    letters = "I" + "gGRAs" * 10
    assert places(infer(calls(letters))) == [1 + 5 * step for step in range(10)]


def test_ranks_called_in_turn_are_steps_of_their_own() -> None:
    made = []
    for step in range(40):
        made += [(1, 2 * step * PACE, 0, 0, step % 4), (1, (2 * step + 1) * PACE, 1, 1, 9)]
    found = infer(Calls(*np.array(made, np.int64).T))
    assert places(found) == [2 * step for step in range(40)]


def test_the_parent_whose_cycle_holds_most_tasks() -> None:
    both = together(calls("AB" * 40, ranks=1, parent=7), calls(STEP * 20, parent=8))
    assert {span.parent for span in infer(both)} == {8}
    assert len(infer(both)) == 20


@settings(max_examples=150, deadline=None)
@given(
    prologue=st.text("HIJKNO", max_size=12),
    step=st.lists(st.sampled_from("ABCDEFGM"), min_size=2, max_size=8, unique=True),
    more=st.integers(0, 20),
    tail=st.integers(0, 7),
    ranks=st.integers(1, 6),
    seed=st.integers(0, 100),
)
def test_any_cycle_after_any_prologue(
    prologue: str, step: list[str], more: int, tail: int, ranks: int, seed: int
) -> None:
    enough = 5 + math.ceil(20 / (len(step) * math.log(len(step))))
    letters = [*prologue, *step * (enough + more), *step[: tail % len(step)]]
    found = places(infer(calls(letters, ranks, PACE // 2, seed)))
    assert found == [at for at in range(len(prologue), len(letters)) if letters[at] == step[0]]


@settings(max_examples=60, deadline=None)
@given(ranks=st.integers(2, 6), spread=st.integers(1, PACE // 2), seed=st.integers(0, 99), steps=st.integers(8, 30))
def test_fan_outs_of_several_threads_among_each_other(ranks: int, spread: int, seed: int, steps: int) -> None:
    """A call's submissions reach into those of the next two; only their first ones are in order."""
    draw = random.Random(seed)
    letters = "II" + "ABCDEF" * steps
    made = [
        (1, at * PACE + rank * spread + draw.randint(0, spread // 9) * (rank > 0), ord(letter) % 3, ord(letter), rank)
        for at, letter in enumerate(letters)
        for rank in range(ranks)
    ]
    found = infer(Calls(*np.array(made, np.int64).T))
    assert len(found) == steps
    for step, span in enumerate(found):
        # To the call: among so many at once, which of its submissions counts as the first may be off.
        assert 0 <= span.start_ns - (2 + 6 * step) * PACE <= ranks * spread


@pytest.mark.parametrize("kinds", [2, 3, 5, 8])
def test_random_calls_are_no_steps(kinds: int) -> None:
    """One in thousands would be bad luck, not more."""
    found = 0
    for seed in range(400):
        draw = random.Random(seed * 10 + kinds)
        letters = draw.choices("ABCDEFGH"[:kinds], k=draw.choice([10, 40, 150, 600]))
        found += bool(infer(calls(letters, draw.choice([1, 3]), seed=seed)))
    assert found <= 1


def test_many_parents_with_few_calls_each_have_none() -> None:
    draw = np.random.default_rng(1)
    count = 20_000
    made = Calls(
        draw.integers(0, 10_000, count), np.arange(count), draw.integers(0, 3, count), draw.integers(0, 3, count),
        draw.integers(0, 8, count),
    )  # fmt: skip
    assert infer(made) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(2, 9), st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(0, 3))
def test_numbers_stay_while_calls_come_and_the_oldest_go(
    test_every: int, save_every: int, strides: list[int], drops: int
) -> None:
    letters, begins = verl(60, test_every, save_every)
    numbers = {begin: number for number, begin in enumerate(begins, 1)}
    before: list[StepSpan] = []
    first, end = 0, 90
    for stride in strides:
        end = min(len(letters), end + stride)
        if drops and before and end - first > 120:
            first += drops * 7
        made = calls(letters[:end], 2)
        kept = made.submit >= first * PACE
        before = infer(Calls(*(column[kept] for column in made)), before)
        assert before
        # Of a validation that goes on a first call may look like a step; nothing else does.
        told = {span.start_ns // PACE: span.number for span in before[:-1]}
        assert told == {begin: numbers[begin] for begin in told}
        assert len(told) >= len([begin for begin in begins if first <= begin < end - 3 * len(STEP)]) - 1


def test_without_its_prologue_it_begins_after_most_interruptions() -> None:
    letters, begins = verl(40)
    cut = begins[3] + 4  # in the middle of a step
    made = calls(letters)
    late = Calls(*(column[made.submit >= cut * PACE] for column in made))
    assert set(places(infer(late))) <= set(begins)
