"""Group Relative Policy Optimization, as pure functions of tensors.

Source: Shao et al. 2024, "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models", arXiv
2402.03300, section 4.1. For each prompt a group of G answers o_1 … o_G is sampled from the old policy and rewarded with
r_1 … r_G. Each token t of answer i has the advantage

    A_i = (r_i - mean(r)) / std(r)

and the policy minimises

    L = - 1/B Σ_i 1/|o_i| Σ_t { min( ρ_it A_i, clip(ρ_it, 1 - ε, 1 + ε) A_i ) - β KL_it }

    ρ_it  = π(o_it) / π_old(o_it)
    KL_it = π_ref(o_it) / π(o_it) - log( π_ref(o_it) / π(o_it) ) - 1

KL_it is Schulman's "k3" estimate of KL(π || π_ref): unbiased and never negative.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


def group_advantages(rewards: torch.Tensor, group_size: int, epsilon: float = 1e-4) -> torch.Tensor:
    """Rewards [B] -> advantages [B]; answers to one prompt lie side by side, ``group_size`` of them.

    A group whose rewards are all equal has nothing to teach: its advantages are zero. ``epsilon`` only keeps the
    division finite there.
    """
    groups = rewards.view(-1, group_size)
    centred = groups - groups.mean(1, keepdim=True)
    return (centred / (groups.std(1, keepdim=True, unbiased=False) + epsilon)).flatten()


def kl_estimate(log_probs: torch.Tensor, ref_log_probs: torch.Tensor) -> torch.Tensor:
    """The k3 estimate of KL(policy || ref) per token. Both [B, A], in nats -> [B, A], in nats, never negative."""
    ratio = ref_log_probs - log_probs
    return ratio.exp() - ratio - 1


def answer_mean(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over each answer's own tokens, then over answers. values, mask [B, A] -> a scalar."""
    return ((values * mask).sum(1) / mask.sum(1)).mean()


class Loss(NamedTuple):
    """Scalars. ``total`` carries the gradient; ``kl``: nats a token; ``clipped``: share of tokens that were clipped."""

    total: torch.Tensor
    kl: torch.Tensor
    clipped: torch.Tensor


def grpo_loss(
    log_probs: torch.Tensor,
    old_log_probs: torch.Tensor,
    ref_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip: float,
    beta: float,
) -> Loss:
    """The loss of the module's formula. Log-probabilities and mask [B, A], advantages [B]; ``clip``: ε, ``beta``: β."""
    ratio = (log_probs - old_log_probs).exp()
    bounded = ratio.clamp(1 - clip, 1 + clip)
    gain = torch.minimum(ratio * advantages.unsqueeze(1), bounded * advantages.unsqueeze(1))
    kl = kl_estimate(log_probs, ref_log_probs)
    return Loss(
        total=-answer_mean(gain - beta * kl, mask),
        kl=answer_mean(kl.detach(), mask),
        clipped=answer_mean((ratio != bounded).float(), mask),
    )
