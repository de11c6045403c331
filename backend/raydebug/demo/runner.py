"""The TaskRunner: one actor that drives the WorkerGroups through GRPO, as verl's does."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import ray
import torch

import raydebug
from raydebug.demo.batch import Batch
from raydebug.demo.groups import Role, WorkerGroup
from raydebug.demo.grpo import group_advantages
from raydebug.demo.options import Options
from raydebug.demo.task import encode, sample_prompts
from raydebug.demo.workers import ActorRolloutWorker, RefPolicyWorker, RewardModelWorker

PROMPTS: Final = 16
"""Prompts a step, rounded up so that each rank has the same number."""

GROUP_SIZE: Final = 16
"""Answers per prompt: the group of GRPO."""

REF_PERIOD: Final = 25
"""Steps until ref becomes a copy of the actor again: the outer loop of GRPO (Shao et al. 2024, Algorithm 1)."""


class StepReport(NamedTuple):
    """``reward``: mean over the step's answers, 0 to 1. ``kl``: nats a token, to ref. ``seconds``: the whole step."""

    step: int
    reward: float
    kl: float
    grad_norm: float
    seconds: float


class TaskRunner:
    """Made a Ray actor by :func:`start`."""

    def run(self, options: Options) -> Iterator[StepReport]:
        post_mortem = {"RAY_DEBUG_POST_MORTEM": "1"} if options.crashes else {}
        actor_rollout = WorkerGroup(
            {"actor_rollout": Role(ActorRolloutWorker, {"options": options})}, options.ranks, post_mortem
        )
        ref = WorkerGroup({"ref": Role(RefPolicyWorker)}, 1)
        reward = WorkerGroup({"reward": Role(RewardModelWorker)}, 1)
        actor_rollout.execute_all("actor_rollout_init_model")
        ref.execute_all("ref_init_model")

        rng = random.Random(options.seed)
        prompts = -(-PROMPTS // options.ranks) * options.ranks
        steps = itertools.count(1) if options.steps is None else range(1, options.steps + 1)
        for step in steps:
            start = time.perf_counter()
            if options.declare_steps:
                raydebug.step(step)
            if step % REF_PERIOD == 1:
                ref.execute_all("ref_load_weights", actor_rollout.execute_rank_zero("actor_rollout_get_weights"))
            batch = prompt_batch(rng, prompts)
            batch |= actor_rollout.compute("actor_rollout_generate_sequences", batch)
            batch |= reward.compute("reward_compute_rm_score", batch)
            batch |= actor_rollout.compute("actor_rollout_compute_log_prob", batch)
            batch |= ref.compute("ref_compute_ref_log_prob", batch)
            batch["advantages"] = group_advantages(batch["rewards"], GROUP_SIZE)
            measured = actor_rollout.scatter("actor_rollout_update_actor", batch, step)
            actor_rollout.execute_all("actor_rollout_update_weights")
            yield StepReport(
                step=step,
                reward=batch["rewards"].mean().item(),
                kl=sum(rank["kl"] for rank in measured) / len(measured),
                grad_norm=measured[0]["grad_norm"],  # of the averaged gradient: the same on every rank
                seconds=time.perf_counter() - start,
            )


def prompt_batch(rng: random.Random, prompts: int) -> Batch:
    """Column prompts [prompts * GROUP_SIZE, P]: each prompt repeated side by side, once per answer of its group."""
    tokens = torch.tensor([encode(prompt) for prompt in sample_prompts(rng, prompts)])
    return {"prompts": tokens.repeat_interleave(GROUP_SIZE, dim=0)}


def start(options: Options) -> Iterator[StepReport]:
    """Train on the cluster that this process is connected to; each step's report as soon as it is done."""
    runner = ray.remote(num_cpus=0)(TaskRunner).remote()
    for ready in runner.run.options(num_returns="streaming").remote(options):
        report: StepReport = ray.get(ready)
        yield report
