"""WorkerGroups from Ray's own facts."""

from __future__ import annotations

from raydebug.api.facts import ActorFact
from raydebug.hub.model.groups import MAX_DEAD_MEMBERS, Grouping, group_actors, roles_of, split_role
from tests.unit.hub import facts

COLOCATED = "create_colocated_worker_cls.<locals>.WorkerDict"


def verl(prefix: str, rank: int, world: int = 2, **changes: object) -> ActorFact:
    env = {"WG_PREFIX": prefix, "RANK": str(rank), "WORLD_SIZE": str(world), "WG_BACKEND": "ray"}
    return facts.actor(COLOCATED, env=env, **changes)


def grouped(actors: list[ActorFact], methods: list[str] | None = None) -> Grouping:
    known = {actor.function: methods or [] for actor in actors}
    return group_actors(actors, {actor.actor_id: "runner" for actor in actors}, known)


def test_verl_groups_by_prefix_with_the_roles_of_its_methods() -> None:
    methods = [
        "__init__",
        "actor_execute_func_rank_zero",
        "actor_execute_with_func_generator",
        "actor_update_actor",
        "critic_execute_with_func_generator",
        "critic_compute_values",
    ]
    found = grouped([verl("aB3dEf", 0), verl("aB3dEf", 1), verl("Zz9Yx8", 0), verl("Zz9Yx8", 1)], methods)
    assert [(g.name, g.kind, g.world_size, g.roles) for g in found.groups.values()] == [
        ("actor+critic", "verl", 2, ["actor", "critic"]),
        ("actor+critic#2", "verl", 2, ["actor", "critic"]),
    ]
    assert not found.single


def test_a_verl_group_of_one_rank_is_a_group() -> None:
    (group,) = grouped([verl("aB3dEf", 0, world=1)], ["execute_with_func_generator", "generate"]).groups.values()
    assert (group.name, group.world_size, group.roles) == ("WorkerDict", 1, [])


def test_a_world_that_isnt_complete_keeps_its_declared_size() -> None:
    (group,) = grouped([verl("aB3dEf", 0, world=64)]).groups.values()
    assert group.world_size == 64


def test_ray_train_groups_by_placement_group() -> None:
    module = "ray.train.v2._internal.execution.worker_group.worker"
    workers = [facts.actor("RayTrainWorker", module=module, placement_group_id=pg) for pg in ("p1", "p1", "p2")]
    found = grouped([*workers, facts.actor("SynchronizationActor", module="ray.train.v2._internal.x")])
    assert [(g.kind, g.world_size) for g in found.groups.values()] == [("ray_train", 2), ("ray_train", 1)]
    assert [actor.class_name for actor in found.single] == ["SynchronizationActor"]


def test_plain_actors_of_one_class_and_parent_form_a_group_from_two_on() -> None:
    workers = [facts.actor("Rollout"), facts.actor("Rollout"), facts.actor("Buffer")]
    found = grouped(workers)
    assert [(g.name, g.kind, g.world_size) for g in found.groups.values()] == [("Rollout", "actors", 2)]
    assert [actor.class_name for actor in found.single] == ["Buffer"]


def test_different_parents_are_different_groups() -> None:
    a, b, c, d = (facts.actor("Rollout") for _ in range(4))
    parents = {a.actor_id: "x", b.actor_id: "x", c.actor_id: "y", d.actor_id: "y"}
    assert len(group_actors([a, b, c, d], parents, {}).groups) == 2


def test_old_dead_members_are_clipped_and_counted() -> None:
    dead = [facts.actor("Job", state="DEAD", end_ns=n) for n in range(1, MAX_DEAD_MEMBERS + 6)]
    live = [facts.actor("Job")]
    found = grouped(dead + live)
    (group_id,) = found.groups
    kept = found.members[group_id]
    assert found.groups[group_id].clipped == 5
    assert found.groups[group_id].world_size == 1
    assert live[0] in kept
    assert not {actor.end_ns for actor in kept} & set(range(1, 6))


def test_the_id_of_a_group_outlives_its_members() -> None:
    first, second, third = verl("aB3dEf", 0), verl("aB3dEf", 1), verl("aB3dEf", 1)
    assert list(grouped([first, second]).groups) == list(grouped([first, third]).groups)


def test_roles() -> None:
    assert roles_of(["execute_with_func_generator", "generate"]) == []
    assert roles_of(["ref_execute_with_func_generator", "actor_rollout_execute_with_func_generator"]) == [
        "actor_rollout",
        "ref",
    ]
    assert roles_of(["actor_fwmn_update", "critic_fwmn_values"]) == ["critic", "actor"]


def test_the_longest_role_wins() -> None:
    roles = ["actor_rollout", "actor"]
    assert split_role("actor_rollout_generate", roles) == ("actor_rollout", "generate")
    assert split_role("actor_update", roles) == ("actor", "update")
    assert split_role("actor_fwmn_update", ["actor"]) == ("actor", "update")
    assert split_role("save", roles) == (None, "save")


def test_a_rank_that_is_no_number_is_unknown() -> None:
    actor = facts.actor(COLOCATED, env={"WG_PREFIX": "x", "RANK": "<script>", "WORLD_SIZE": "-1"})
    (group,) = grouped([actor]).groups.values()
    assert group.world_size == 1
