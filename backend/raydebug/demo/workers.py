"""The roles: what each rank of a WorkerGroup can do.

A role's methods that are decorated with :func:`register` become methods ``{role}_{method}`` of the actor that hosts it
(see ``groups``), as in verl.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from typing import Final, TypeVar

import torch
import torch.distributed as dist
from torch import nn

from raydebug.demo.batch import Batch, split
from raydebug.demo.grpo import grpo_loss
from raydebug.demo.model import CharTransformer, answer_log_probs, generate
from raydebug.demo.options import Options, Point
from raydebug.demo.task import decode, score

LEARNING_RATE: Final = 2e-3
CLIP: Final = 0.2
BETA: Final = 0.02
MAX_GRAD_NORM: Final = 1.0
MINI_BATCHES: Final = 2
"""Updates per batch of rollouts: from the second on the policy has moved, and the clip has something to do."""

COLLECTIVE_TIMEOUT: Final = datetime.timedelta(days=1)
"""Somebody who debugs one rank keeps the others waiting in a collective; the default of 30 minutes would end them."""

REGISTERED: Final = "registered_with_worker_group"

Method = TypeVar("Method", bound=Callable[..., object])
Weights = dict[str, torch.Tensor]


def register(method: Method) -> Method:
    """Mark a method that the WorkerGroup may call."""
    setattr(method, REGISTERED, True)
    return method


class Worker:
    """One rank of a WorkerGroup; knows its place from the environment that the group gave it."""

    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])
        self.world_size = int(os.environ["WORLD_SIZE"])
        torch.set_num_threads(1)

    @register
    def execute_with_func_generator(self, func: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Run ``func(worker, …)`` on this rank. verl's base class gives it to every role."""
        return func(self, *args, **kwargs)

    @register
    def execute_func_rank_zero(self, func: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Run ``func(…)``; meant for rank 0 alone. verl's base class gives it to every role."""
        return func(*args, **kwargs)


class ActorRolloutWorker(Worker):
    """The policy that is trained (actor), data parallel over gloo, and the copy that generates (rollout)."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.options = options

    @register
    def init_model(self) -> None:
        dist.init_process_group("gloo", timeout=COLLECTIVE_TIMEOUT)
        torch.manual_seed(self.options.seed)
        self.actor = CharTransformer()
        self.rollout = CharTransformer()
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=LEARNING_RATE)
        # Ranks sample different answers, so each has a stream of its own.
        self.sampling = torch.Generator().manual_seed(self.options.seed * 1_000 + self.rank)
        for parameter in self.actor.parameters():
            dist.broadcast(parameter.data, src=0)
        self.update_weights()

    @register
    def generate_sequences(self, batch: Batch) -> Batch:
        """prompts -> answers, mask; by the rollout copy."""
        answers, mask = generate(self.rollout, batch["prompts"], self.sampling)
        return {"answers": answers, "mask": mask}

    @register
    def compute_log_prob(self, batch: Batch) -> Batch:
        """prompts, answers -> old_log_probs, under the actor as it is before this step's updates."""
        with torch.no_grad():
            return {"old_log_probs": answer_log_probs(self.actor, batch["prompts"], batch["answers"])}

    @register
    def update_actor(self, batch: Batch, step: int) -> dict[str, float]:
        """Take the step's optimizer steps, all ranks in lockstep, on this rank's share of the batch.

        Returns kl (nats a token), clipped (share of tokens), and grad_norm of the averaged gradient, as means over the
        mini-batches.
        """
        here = Point(step, self.rank)
        measured = []
        for index, part in enumerate(split(batch, MINI_BATCHES)):
            log_probs = answer_log_probs(self.actor, part["prompts"], part["answers"])
            loss = grpo_loss(
                log_probs,
                part["old_log_probs"],
                part["ref_log_probs"],
                part["advantages"],
                part["mask"],
                clip=CLIP,
                beta=BETA,
            )
            self.optimizer.zero_grad()
            loss.total.backward()
            # Between backward and the all-reduce: the others wait in the collective, as in a real hang.
            if index == 0 and here in self.options.breakpoints:
                breakpoint()
            if index == 0 and here in self.options.crashes:
                raise RuntimeError(f"crash planted by --crash {here}")
            self._average_gradients()
            grad_norm = nn.utils.clip_grad_norm_(self.actor.parameters(), MAX_GRAD_NORM)
            self.optimizer.step()
            measured.append(torch.stack([loss.kl, loss.clipped, grad_norm]))
        kl, clipped, grad_norm = torch.stack(measured).mean(0).tolist()
        return {"kl": kl, "clipped": clipped, "grad_norm": grad_norm}

    @register
    def update_weights(self) -> None:
        """Hand the actor's weights to the rollout copy."""
        self.rollout.load_state_dict(self.actor.state_dict())

    @register
    def get_weights(self) -> Weights:
        return {name: tensor.clone() for name, tensor in self.actor.state_dict().items()}

    def _average_gradients(self) -> None:
        """All-reduce the gradients as one flat vector: a single collective per optimizer step."""
        gradients = [parameter.grad for parameter in self.actor.parameters()]
        flat = nn.utils.parameters_to_vector(gradients)
        dist.all_reduce(flat)
        flat /= self.world_size
        for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(mean.view_as(gradient))


class RefPolicyWorker(Worker):
    """The frozen policy that the actor shall not stray from; the TaskRunner renews it now and then."""

    @register
    def init_model(self) -> None:
        self.model = CharTransformer().requires_grad_(False)

    @register
    def load_weights(self, weights: Weights) -> None:
        self.model.load_state_dict(weights)

    @register
    def compute_ref_log_prob(self, batch: Batch) -> Batch:
        """prompts, answers -> ref_log_probs."""
        return {"ref_log_probs": answer_log_probs(self.model, batch["prompts"], batch["answers"])}


class RewardModelWorker(Worker):
    """Checks the answers: the task's reward is a rule, not a network."""

    @register
    def compute_rm_score(self, batch: Batch) -> Batch:
        """prompts, answers -> rewards."""
        prompts, answers = batch["prompts"].tolist(), batch["answers"].tolist()
        scores = [score(decode(prompt), decode(answer)) for prompt, answer in zip(prompts, answers, strict=True)]
        return {"rewards": torch.tensor(scores)}
