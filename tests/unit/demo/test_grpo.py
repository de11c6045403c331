"""Advantages and loss against what the formula gives by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest


def test_advantages_are_relative_to_the_group(torch: Any) -> None:
    from raydebug.demo.grpo import group_advantages

    rewards = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5])
    advantages = group_advantages(rewards, group_size=4, epsilon=1e-12)
    assert advantages[:4].tolist() == pytest.approx([-1, 1, -1, 1])
    assert advantages[4:].tolist() == [0, 0, 0, 0]


def test_advantages_do_not_change_with_the_rewards_scale_and_offset(torch: Any) -> None:
    from raydebug.demo.grpo import group_advantages

    rewards = torch.rand(32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        group_advantages(rewards, 8, epsilon=1e-9), group_advantages(rewards * 5 + 3, 8, epsilon=1e-9)
    )


def test_kl_estimate(torch: Any) -> None:
    from raydebug.demo.grpo import kl_estimate

    policy = torch.tensor([[-1.0, -2.0, -0.5]])
    assert kl_estimate(policy, policy).tolist() == [[0, 0, 0]]
    assert kl_estimate(policy, policy - 1).tolist() == [pytest.approx([math.exp(-1)] * 3)]
    assert kl_estimate(policy, policy + 1).tolist() == [pytest.approx([math.e - 2] * 3)]


def test_an_answer_counts_the_same_whatever_its_length(torch: Any) -> None:
    from raydebug.demo.grpo import answer_mean

    values = torch.tensor([[1.0, 99.0, 99.0], [2.0, 4.0, 6.0]])
    mask = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert answer_mean(values, mask).item() == pytest.approx((1 + 4) / 2)


@pytest.mark.parametrize(
    ("ratio", "advantage", "gain"),
    [
        (1.0, 2.0, 2.0),
        (1.5, 2.0, 1.2 * 2.0),  # no more to gain beyond 1 + ε
        (0.5, 2.0, 0.5 * 2.0),  # the lower of the two: unclipped
        (1.5, -2.0, 1.5 * -2.0),
        (0.5, -2.0, 0.8 * -2.0),  # no more to gain below 1 - ε
    ],
)
def test_clip(torch: Any, ratio: float, advantage: float, gain: float) -> None:
    from raydebug.demo.grpo import grpo_loss

    old = torch.tensor([[-1.0]])
    new = old + math.log(ratio)
    loss = grpo_loss(new, old, new, torch.tensor([advantage]), torch.ones(1, 1), clip=0.2, beta=0.5)
    assert loss.total.item() == pytest.approx(-gain)
    assert loss.kl.item() == pytest.approx(0, abs=1e-6)
    assert loss.clipped.item() == float(ratio != 1.0)


def test_kl_pulls_towards_the_reference(torch: Any) -> None:
    from raydebug.demo.grpo import grpo_loss

    new = torch.tensor([[-1.0]], requires_grad=True)
    loss = grpo_loss(new, new.detach(), torch.tensor([[-0.5]]), torch.zeros(1), torch.ones(1, 1), clip=0.2, beta=0.04)
    assert loss.total.item() == pytest.approx(0.04 * loss.kl.item())
    loss.total.backward()
    assert new.grad.item() < 0  # a step against the gradient raises it, towards -0.5


def test_batch_splits_and_joins_in_order(torch: Any) -> None:
    from raydebug.demo.batch import join, split

    batch = {"rewards": torch.arange(7.0), "answers": torch.arange(14).view(7, 2)}
    parts = split(batch, 3)
    assert [len(part["rewards"]) for part in parts] == [3, 2, 2]
    joined = join(parts)
    assert joined["rewards"].tolist() == batch["rewards"].tolist()
    assert joined["answers"].tolist() == batch["answers"].tolist()


def test_model_sees_no_token_ahead_and_generates_what_it_scores(torch: Any) -> None:
    from raydebug.demo import model, task

    torch.manual_seed(0)
    policy = model.CharTransformer()
    prompts = torch.tensor([task.encode("4213>"), task.encode("9081>")])
    answers, mask = model.generate(policy, prompts, torch.Generator().manual_seed(0))
    again, _ = model.generate(policy, prompts, torch.Generator().manual_seed(0))
    assert answers.tolist() == again.tolist()
    assert answers.shape == mask.shape == (2, task.ANSWER_LENGTH)
    log_probs = model.answer_log_probs(policy, prompts, answers)
    assert (log_probs < 0).all()
    changed = answers.clone()
    changed[:, -1] = (changed[:, -1] + 1) % len(task.VOCABULARY)
    torch.testing.assert_close(model.answer_log_probs(policy, prompts, changed)[:, :-1], log_probs[:, :-1])


def test_mask_ends_with_the_first_stop(torch: Any) -> None:
    from raydebug.demo import model, task

    class Scripted(torch.nn.Module):  # type: ignore[misc]
        """Says the script, whatever it is asked."""

        def forward(self, tokens: Any) -> Any:
            logits = torch.full((*tokens.shape, len(task.VOCABULARY)), -1e9)
            logits[..., task.encode("12.4.")[tokens.shape[1] - task.PROMPT_LENGTH]] = 0
            return logits

    answers, mask = model.generate(Scripted(), torch.tensor([task.encode("4213>")]), torch.Generator())
    assert task.decode(answers[0].tolist()) == "12.4."
    assert mask.tolist() == [[1, 1, 1, 0, 0]]
