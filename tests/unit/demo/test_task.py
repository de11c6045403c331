from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydebug.demo import task

digits = st.text(alphabet="0123456789", min_size=task.DIGITS, max_size=task.DIGITS)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("1234.", 1.0),
        ("1234", 1.0),  # no stop, but nothing wrong either
        ("1243.", 0.5),
        ("12345", 0.8),  # too long
        ("12.34", 0.5),  # too short: what follows the stop doesn't count
        (".1234", 0.0),
        ("1>34.", 0.75),
        ("", 0.0),
    ],
)
def test_score(answer: str, score: float) -> None:
    assert task.score("4213>", answer) == pytest.approx(score)


@given(digits)
def test_the_solution_is_the_only_answer_that_is_all_right(text: str) -> None:
    prompt = text + task.ASK
    assert task.score(prompt, task.solve(prompt)) == 1
    assert list(task.solve(prompt)[:-1]) == sorted(text)


@given(digits, st.text(alphabet=task.VOCABULARY, max_size=task.ANSWER_LENGTH))
def test_score_is_a_share(text: str, answer: str) -> None:
    assert 0 <= task.score(text + task.ASK, answer) <= 1


@given(st.text(alphabet=task.VOCABULARY))
def test_tokens_and_text(text: str) -> None:
    assert task.decode(task.encode(text)) == text


def test_prompts_come_from_the_seed_and_have_the_stated_length() -> None:
    prompts = task.sample_prompts(random.Random(3), 50)
    assert prompts == task.sample_prompts(random.Random(3), 50)
    assert prompts != task.sample_prompts(random.Random(4), 50)
    assert {len(prompt) for prompt in prompts} == {task.PROMPT_LENGTH}
