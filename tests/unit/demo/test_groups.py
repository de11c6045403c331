"""What verl's conventions say about a colocated class, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest


def test_each_role_brings_its_methods_with_its_name_before_them(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from raydebug.demo.groups import Role, create_colocated_worker_cls
    from raydebug.demo.workers import RefPolicyWorker, RewardModelWorker

    worker_cls = create_colocated_worker_cls({"ref": Role(RefPolicyWorker), "reward": Role(RewardModelWorker)})
    assert worker_cls.__qualname__ == "create_colocated_worker_cls.<locals>.WorkerDict"
    bound = {name for name in vars(worker_cls) if name.startswith(("ref_", "reward_"))}
    assert bound == {
        "ref_compute_ref_log_prob",
        "ref_execute_func_rank_zero",
        "ref_execute_with_func_generator",
        "ref_init_model",
        "ref_load_weights",
        "reward_compute_rm_score",
        "reward_execute_func_rank_zero",
        "reward_execute_with_func_generator",
    }
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    worker: Any = worker_cls()
    assert worker.ref_execute_with_func_generator(lambda ref, n: (type(ref), ref.rank + n), 2) == (RefPolicyWorker, 5)
    assert worker.reward_execute_func_rank_zero(lambda n: n * 2, 4) == 8
