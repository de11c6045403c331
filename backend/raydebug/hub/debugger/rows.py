"""A session as viewers see it."""

from __future__ import annotations

from raydebug.api.debug import DebugSession
from raydebug.hub.debugger.session import Session


def row_of(session: Session) -> DebugSession:
    target = session.target
    return DebugSession(
        worker_id=target.worker_id,
        worker_type=target.worker_type,
        job_id=target.job_id,
        actor_id=target.actor_id,
        node_id=target.node_id,
        pid=target.pid,
        group=target.group,
        rank=target.rank,
        state=session.state,
        note=session.note,
        held_by=session.held_by,
        keeper=session.channel.kept if session.channel is not None else True,
        python=session.python,
        debugpy=session.debugpy,
        attached_ns=session.attached_ns,
        attached_by=session.by,
        post_mortem=session.post_mortem,
        tracing=session.tracing,
        lost_ns=session.lost_ns,
        threads=[thread.row() for _, thread in sorted(session.threads.items())],
        breakpoints=session.breakpoints.rows(),
        functions=session.breakpoints.wanted.functions,
        filters=session.breakpoints.wanted.filters,
        types=session.breakpoints.wanted.types,
        available_filters=session.available_filters,
        evaluations=list(session.evaluations.values()),
        console_end=session.console.end,
        messages_end=session.log.end,
        capabilities=session.capabilities,
    )
