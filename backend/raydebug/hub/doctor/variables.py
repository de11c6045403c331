"""Rules about environment variables.

Read in Ray 2.41.0, 2.49.2 and 2.60.0 (``ray/util/rpdb.py``, ``ray/util/debugpy.py``), which agree: ``RAY_DEBUG`` knows
the values ``1`` (the default) and ``legacy``, ``RAY_DEBUG_POST_MORTEM`` only ``1``, and no code of Ray's reads
``RAY_DEBUGGER_HOST``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from raydebug.api.doctor import Check

from .facts import EnvAt

_SET_AT = {
    "node": "before `ray start` on that node, then restart it",
    "runtime_env": "in the runtime_env's env_vars",
    "shell": "in this shell",
}


def check_variables(places: Sequence[EnvAt]) -> list[Check]:
    """One line for each trouble, one ``ok`` line for each place that has none."""
    nodes = [place for place in places if place.kind == "node"]
    checks = []
    for place in places:
        found = list(_check_place(place, nodes if place.kind == "runtime_env" else []))
        checks += found or [_ok(place)]
    return checks


def _ok(place: EnvAt) -> Check:
    message = "no variable of Ray's debugger is in the way"
    if place.env.get("RAY_DEBUG_POST_MORTEM") == "1":
        message = "RAY_DEBUG_POST_MORTEM=1: a task that raises waits for a debugger"
        if place.kind == "shell":
            # The usual surprise: the job is started from here, but its workers' environment is that of `ray start`.
            message = (
                "RAY_DEBUG_POST_MORTEM=1 reaches workers only of a Ray that is started from this shell; "
                "for a running one it belongs in the job's runtime_env"
            )
    return Check(check="variables", level="ok", where=place.where, message=message)


def _check_place(place: EnvAt, beneath: Sequence[EnvAt]) -> Iterator[Check]:
    env = place.env
    at = _SET_AT[place.kind]
    mode, post_mortem = env.get("RAY_DEBUG"), env.get("RAY_DEBUG_POST_MORTEM")

    if conflict := _conflict(place, beneath):
        yield Check(
            check="legacy_post_mortem",
            level="error",
            where=place.where,
            message=f"{conflict}: a crash then waits in a pdb session for `ray debug` on its node, and no debugger can "
            "attach to it",
            fix=f"unset RAY_DEBUG (or set RAY_DEBUG=1) {at}",
        )
    elif mode == "legacy":
        yield Check(
            check="legacy",
            level="warning",
            where=place.where,
            message="RAY_DEBUG=legacy: breakpoint() opens a pdb session for `ray debug` instead of debugpy",
            fix=f"unset RAY_DEBUG {at}",
        )
    if mode not in (None, "1", "legacy"):
        # Seen in 2.60: the call returns within microseconds.
        yield Check(
            check="debug_off",
            level="warning",
            where=place.where,
            message=f"RAY_DEBUG={mode}: Ray knows the values 1 and legacy, with any other breakpoint() does nothing",
            fix=f"unset RAY_DEBUG {at}",
        )
    if "RAY_DEBUG_POSTMORTEM" in env:
        yield Check(
            check="post_mortem_misspelt",
            level="warning",
            where=place.where,
            message="RAY_DEBUG_POSTMORTEM is set, but Ray reads RAY_DEBUG_POST_MORTEM: a crash doesn't stop",
            fix=f"set RAY_DEBUG_POST_MORTEM=1 and unset RAY_DEBUG_POSTMORTEM {at}",
        )
    if post_mortem not in (None, "", "0", "1"):
        yield Check(
            check="post_mortem_value",
            level="warning",
            where=place.where,
            message=f"RAY_DEBUG_POST_MORTEM={post_mortem}: Ray compares with 1, any other value is off",
            fix=f"set RAY_DEBUG_POST_MORTEM=1 {at}",
        )
    if "RAY_DEBUGGER_HOST" in env:
        yield Check(
            check="debugger_host",
            level="warning",
            where=place.where,
            message="RAY_DEBUGGER_HOST is set as some guides advise, but Ray ignores it: debugpy listens on the node's "
            "own IP anyway (`ray start --ray-debugger-external` is for the legacy debugger alone)",
            fix=f"unset RAY_DEBUGGER_HOST {at}; nodes must reach each other, browsers only the dashboard's port",
        )


def _conflict(place: EnvAt, beneath: Sequence[EnvAt]) -> str | None:
    """How the two variables meet at ``place``, on its own or laid over a node's environment."""
    env = place.env
    if _conflicts(env):
        return f"RAY_DEBUG={env['RAY_DEBUG']} and RAY_DEBUG_POST_MORTEM=1 are both set"
    for node in beneath:
        both = {**node.env, **env}
        # Where the node alone conflicts, its own line says so.
        if _conflicts(both) and not _conflicts(node.env):
            mode = "this runtime_env" if "RAY_DEBUG" in env else node.where
            crash = "this runtime_env" if "RAY_DEBUG_POST_MORTEM" in env else node.where
            return f"RAY_DEBUG={both['RAY_DEBUG']} (set in {mode}) meets RAY_DEBUG_POST_MORTEM=1 (set in {crash})"
    return None


def _conflicts(env: Mapping[str, str]) -> bool:
    """Seen in 2.60: with any value but 1 a crash waits in a pdb session of the legacy debugger, not in debugpy."""
    return env.get("RAY_DEBUG", "1") != "1" and env.get("RAY_DEBUG_POST_MORTEM") == "1"
