"""WorkerGroups: which actors are the ranks of one world, from Ray's own facts alone."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from raydebug.api.facts import ActorFact
from raydebug.api.topology import Group, GroupKind
from raydebug.hub.model.doing import short_class

MAX_DEAD_MEMBERS: Final = 256

_ROLE_MARK: Final = "_execute_with_func_generator"
"""verl binds each role's methods, those of its base class Worker among them, as ``{role}_{method}`` to a colocated
class; a class of one role has ``execute_with_func_generator`` itself."""
_FUSED_MARK: Final = "_fwmn_"
"""verl's fused workers: ``{role}_fwmn_{method}``."""


class Key(NamedTuple):
    """What the members of a group have in common."""

    job_id: str
    parent: str | None
    kind: GroupKind
    common: str

    def group_id(self) -> str:
        text = "\0".join((self.job_id, self.parent or "", self.kind, self.common))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Grouping(NamedTuple):
    """``groups`` by id; ``members``: group id -> its actors, without clipped ones; ``single``: those in no group."""

    groups: dict[str, Group]
    members: dict[str, list[ActorFact]]
    single: list[ActorFact]


def group_key(actor: ActorFact, parent: str | None) -> Key:
    """The group that an actor would belong to, if it has companions there."""
    if prefix := actor.env.get("WG_PREFIX"):
        # A WorkerGroup spans one placement group a node; its prefix is drawn anew for each.
        return Key(actor.job_id, parent, "verl", f"{prefix}\0{actor.env.get('WORLD_SIZE', '')}")
    if actor.module.startswith("ray.train.") and short_class(actor.class_name) == "RayTrainWorker":
        return Key(actor.job_id, parent, "ray_train", actor.placement_group_id or actor.class_name)
    return Key(actor.job_id, parent, "actors", actor.class_name)


def roles_of(methods: Iterable[str]) -> list[str]:
    """The roles of a colocated class by the names of its methods, longest first; [] for a class of one role."""
    roles = set()
    for method in methods:
        if method.endswith(_ROLE_MARK) and not method.startswith("_"):
            roles.add(method.removesuffix(_ROLE_MARK))
        elif _FUSED_MARK in method:
            roles.add(method.split(_FUSED_MARK, 1)[0])
    return sorted((role for role in roles if role), key=lambda role: (-len(role), role))


def split_role(method: str, roles: Sequence[str]) -> tuple[str | None, str]:
    """``actor_rollout_update_actor`` -> (``actor_rollout``, ``update_actor``). ``roles``: longest first."""
    for role in roles:
        for mark in (_FUSED_MARK, "_"):
            if method.startswith(role + mark):
                return role, method[len(role) + len(mark) :]
    return None, method


def declared_rank(actor: ActorFact) -> int | None:
    """The rank that its creator put into its runtime_env, None if none is there."""
    return _int(actor.env.get("RANK"))


def group_actors(
    actors: Iterable[ActorFact],
    parent_of: Mapping[str, str | None],
    methods: Mapping[tuple[str, str, str, str], Sequence[str]],
) -> Grouping:
    """Put actors into groups. ``parent_of``: actor id -> parent's actor id. ``methods``: of a class, where known.

    Actors that no framework declares a group form one when at least two of one class have one parent.
    """
    by_key: dict[Key, list[ActorFact]] = defaultdict(list)
    for actor in actors:
        by_key[group_key(actor, parent_of.get(actor.actor_id))].append(actor)
    names: dict[tuple[str, str], int] = defaultdict(int)
    groups: dict[str, Group] = {}
    members: dict[str, list[ActorFact]] = {}
    single: list[ActorFact] = []
    for key, found in sorted(by_key.items(), key=lambda item: min(a.start_ns or 2**63 for a in item[1])):
        if key.kind == "actors" and len(found) < 2:
            single.extend(found)
            continue
        kept, clipped = clip_dead(found, MAX_DEAD_MEMBERS)
        live = [actor for actor in kept if actor.state != "DEAD"]
        roles = sorted({role for actor in kept for role in roles_of(methods.get(actor.function, ()))})
        name = "+".join(roles) if roles else short_class(kept[0].class_name)
        names[key.job_id, name] += 1
        if (count := names[key.job_id, name]) > 1:
            name = f"{name}#{count}"
        declared = _int(kept[0].env.get("WORLD_SIZE")) if key.kind == "verl" else None
        group_id = key.group_id()
        groups[group_id] = Group(
            group_id=group_id,
            job_id=key.job_id,
            name=name,
            kind=key.kind,
            parent_actor_id=key.parent,
            world_size=declared if declared is not None else len(live) or len(kept),
            roles=roles,
            clipped=clipped,
        )
        members[group_id] = kept
    return Grouping(groups, members, single)


def clip_dead(actors: list[ActorFact], keep: int) -> tuple[list[ActorFact], int]:
    """All that live and the ``keep`` that died last; and how many were left out."""
    dead = [actor for actor in actors if actor.state == "DEAD"]
    if len(dead) <= keep:
        return actors, 0
    dead.sort(key=lambda actor: actor.end_ns or actor.changed_ns or 0, reverse=True)
    dropped = {actor.actor_id for actor in dead[keep:]}
    return [actor for actor in actors if actor.actor_id not in dropped], len(dropped)


def _int(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None
