"""The task: sort digits. A prompt is ``4213>``, its right answer ``1234.``; whoever reads an answer can check it.

Plain Python, without torch, so that the reward can be tested anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

VOCABULARY: Final = "0123456789>."
"""A token is a character; its id is its place here."""

DIGITS: Final = 4
"""Digits in a prompt."""

ASK: Final = ">"
STOP: Final = "."

PROMPT_LENGTH: Final = DIGITS + 1
"""Tokens: the digits and ``>``."""

ANSWER_LENGTH: Final = DIGITS + 1
"""Tokens generated at most: the digits and ``.``."""

STOP_ID: Final = VOCABULARY.index(STOP)


def encode(text: str) -> list[int]:
    return [VOCABULARY.index(character) for character in text]


def decode(tokens: Sequence[int]) -> str:
    return "".join(VOCABULARY[token] for token in tokens)


def sample_prompts(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(VOCABULARY[:10], k=DIGITS)) + ASK for _ in range(count)]


def solve(prompt: str) -> str:
    return "".join(sorted(prompt.removesuffix(ASK))) + STOP


def score(prompt: str, answer: str) -> float:
    """How right an answer is, in [0, 1]: the share of its places that hold the right digit.

    What stands after the first ``.`` doesn't count; an answer of the wrong length is measured by the longer of the two.
    """
    wanted = solve(prompt).removesuffix(STOP)
    given = answer.split(STOP, maxsplit=1)[0]
    return sum(a == b for a, b in zip(wanted, given, strict=False)) / max(len(wanted), len(given))
