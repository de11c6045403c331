"""``raydebug eval`` and ``raydebug continue``: on many workers at once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

import click
import msgspec

from raydebug.api.debug import DebugThread

from .client import Client, connect, connection_options, print_json
from .debugging import (
    Clock,
    attach,
    debugger,
    known,
    outcome_of,
    own_traceback,
    run,
    session_of,
    standing,
    stopped,
    user_frame,
)
from .eval_text import Evaluated, Resumed, eval_lines, resumed_lines
from .live import Live, LiveError
from .progress import progress
from .screen import console, show, width_of
from .targets import Chosen, resolve

DEFAULT_S: Final = 30.0
_AT_ONCE: Final = 48
"""The hub takes 64 commands of a connection at once."""

_target_help: Final = "A worker id prefix, GROUP:RANK, GROUP, site:ID or all-paused."


@click.command(name="eval")
@click.argument("expression", metavar="EXPR")
@click.option("--on", "target", metavar="TARGET", required=True, help=_target_help)
@connection_options
@click.option("--timeout", type=click.FloatRange(min=0.1), default=DEFAULT_S, show_default=True, help="Seconds.")
@click.option("--running", is_flag=True, help="While it runs: on a thread beside it, without a frame.")
@click.option("--all-threads", is_flag=True, help="In each stopped thread, not in the oldest of each worker alone.")
@click.option("--json", "as_json", is_flag=True, help="A list of worker_id, rank, ok, value, type, error.")
def evaluate(
    expression: str,
    target: str,
    address: str | None,
    token: str | None,
    timeout: float,
    running: bool,
    all_threads: bool,
    as_json: bool,
) -> None:
    """Evaluate EXPR, an expression or statements, in the innermost user frame of where the workers of TARGET stand.

    All at once. Workers are attached if need be and stay so; they go on standing. A rank whose value isn't the
    majority's is marked as odd. The timeout ends the waiting, not the evaluation. Exits with 1 if any failed.
    """
    if running and all_threads:
        raise click.UsageError("--running and --all-threads exclude each other: no thread stands then.")
    if not expression.strip():
        raise click.UsageError("EXPR is empty.")
    asked = _Asked(expression=expression, timeout=timeout, running=running, all_threads=all_threads)
    rows = run(_evaluate(connect(address, token), target, asked))
    if as_json:
        print_json([row.as_json() for row in rows])
    else:
        out = console()
        show(out, eval_lines(rows, width_of(out)))
    if not all(row.ok for row in rows):
        raise SystemExit(1)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    expression: str
    timeout: float
    running: bool = False
    all_threads: bool = False


async def _evaluate(client: Client, target: str, asked: _Asked) -> list[Evaluated]:
    async with debugger(client) as live:
        chosen = resolve(target, known(live))
        done = 0
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(worker: Chosen) -> list[Evaluated]:
            nonlocal done
            async with turn:
                rows = await _on_worker(live, worker, asked)
            done += 1
            return rows

        async with progress(lambda: f"evaluating: {done} of {len(chosen)} answered"):
            return [row for rows in await asyncio.gather(*map(one, chosen)) for row in rows]


async def _on_worker(live: Live, worker: Chosen, asked: _Asked) -> list[Evaluated]:
    try:
        if asked.running:
            await attach(live, worker.worker_id)
            return [await _in_frame(live, worker, asked, None, None)]
        threads = await standing(live, worker)
        if not asked.all_threads:
            threads = threads[:1]
        frames = [await user_frame(live, worker.worker_id, thread) for thread in threads]
    except LiveError as error:
        return [_row(worker, error=f"{error.body.message} {_hint(error)}".strip())]
    work = [_in_frame(live, worker, asked, frame, thread) for frame, thread in zip(frames, threads, strict=True)]
    return list(await asyncio.gather(*work))


def _hint(error: LiveError) -> str:
    """What to do, where the hint isn't a traceback."""
    if error.body.code == "running":
        return "--running evaluates while it runs."
    return error.body.hint if "\n" not in error.body.hint else ""


async def _in_frame(
    live: Live, worker: Chosen, asked: _Asked, frame_id: int | None, thread: DebugThread | None
) -> Evaluated:
    clock = Clock()
    session = session_of(live, worker.worker_id)
    since = session.console_end if session else 0
    frame = {} if frame_id is None else {"frameId": frame_id}
    name = thread.name if thread is not None and asked.all_threads else None

    def failed(message: str, traceback: str = "") -> Evaluated:
        printed = own_traceback(traceback, thread)
        return _row(worker, error=message, traceback=printed, took_ms=clock.ms, thread=name)

    async def work() -> Evaluated:
        said: dict[str, Any] = await live.debug(
            worker.worker_id, "evaluate", expression=asked.expression, context="repl", **frame
        )
        if said.get("waiting"):
            said = await outcome_of(live, worker.worker_id, said["evaluation"], since)
            if said["kind"] == "error":
                return failed(_last_line(said["text"]), said["text"])
        value = said["result"] if "result" in said else said["text"]
        return _row(worker, value=value, type=said.get("type", ""), took_ms=clock.ms, thread=name)

    try:
        return await asyncio.wait_for(work(), asked.timeout)
    except asyncio.TimeoutError:
        return failed(f"still running after {asked.timeout:g} s")
    except LiveError as error:
        return failed(error.body.message, error.body.hint)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it failed")


def _row(worker: Chosen, **more: Any) -> Evaluated:
    return Evaluated(
        worker_id=worker.worker_id,
        rank=worker.rank,
        group=worker.group,
        label=worker.label,
        ok="error" not in more,
        **more,
    )


# Continue ----------------------------------------------------------------------------------------------------------


@click.command(name="continue")
@click.argument("target", metavar="TARGET")
@connection_options
@click.option("--detach", is_flag=True, help="And end the sessions: the next breakpoint() waits as if nobody had come.")
@click.option("--json", "as_json", is_flag=True, help="A list of worker_id, rank, ok, threads, detached, error.")
def resume(target: str, address: str | None, token: str | None, detach: bool, as_json: bool) -> None:
    """Let all stopped threads of TARGET go on: a worker id prefix, GROUP:RANK, GROUP, site:ID or all-paused.

    Of site:ID only the threads that stand there. Workers stay attached, so that their next breakpoint() stops at
    once, unless --detach is given: that ends the sessions of those that run, too. Exits with 1 if any failed, or there
    was nothing to do.
    """
    rows = run(_resume(connect(address, token), target, detach))
    if as_json:
        print_json([row.as_json() for row in rows])
    else:
        out = console()
        show(out, resumed_lines(rows, detach, width_of(out)))
    if not all(row.ok for row in rows) or not any(row.threads or row.detached for row in rows):
        raise SystemExit(1)


async def _resume(client: Client, target: str, detach: bool) -> list[Resumed]:
    async with debugger(client) as live:
        chosen = resolve(target, known(live))
        done = 0
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(worker: Chosen) -> Resumed:
            nonlocal done
            async with turn:
                row = await _let_go(live, worker, detach)
            done += 1
            return row

        async with progress(lambda: f"continuing: {done} of {len(chosen)} workers"):
            return list(await asyncio.gather(*map(one, chosen)))


async def _let_go(live: Live, worker: Chosen, detach: bool) -> Resumed:
    def row(threads: int, error: str | None = None, detached: bool = False) -> Resumed:
        return Resumed(
            worker_id=worker.worker_id,
            rank=worker.rank,
            group=worker.group,
            label=worker.label,
            ok=error is None,
            threads=threads,
            error=error,
            detached=detached,
        )

    gone = 0
    try:
        if detach and _has_session(live, worker.worker_id):
            threads = stopped(live, worker)
            await live.debug(worker.worker_id, "detach")
            return row(len(threads), detached=True)
        if not worker.paused:
            # It runs already: no reason to fail, nor to attach.
            return row(0)
        threads = await standing(live, worker)
        if detach:
            await live.debug(worker.worker_id, "detach")
            return row(len(threads), detached=True)
        if worker.site is None:
            await live.debug(worker.worker_id, "continue", threadId=threads[0].threadId, all=True)
            gone = len(threads)
        else:
            for thread in threads:
                with contextlib.suppress(_GoneOnError):
                    await _continue_one(live, worker, thread.threadId)
                    gone += 1
    except LiveError as error:
        return row(gone, error.body.message)
    return row(gone)


def _has_session(live: Live, worker_id: str) -> bool:
    """One that runs, or one that waits for another debugger to leave."""
    session = live.tables.get("sessions", {}).get(worker_id)
    return session_of(live, worker_id) is not None or (session is not None and session.held_by is not None)


class _GoneOnError(Exception):
    """Somebody else let it go meanwhile."""


async def _continue_one(live: Live, worker: Chosen, thread_id: int) -> None:
    try:
        await live.debug(worker.worker_id, "continue", threadId=thread_id)
    except LiveError as error:
        if error.body.code in ("running", "gone"):
            raise _GoneOnError from error
        raise
