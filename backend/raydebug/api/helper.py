"""Messages between hub and node helper: binary msgpack frames on a websocket that the hub dials.

Handshake, before anything else: helper sends :class:`Challenge`; hub answers :class:`Answer` with its own nonce; helper
checks the proof and sends :class:`Hello` with its own. ``proof`` = HMAC-SHA256(cluster secret, label | node_id |
helper nonce | hub nonce), hex, label ``hub`` or ``helper``. Whoever gets a wrong proof closes the socket.
"""

from __future__ import annotations

import msgspec


class Challenge(msgspec.Struct, frozen=True, kw_only=True, tag="challenge"):
    protocol: int
    version: str
    node_id: str
    nonce: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    protocol: int
    version: str
    nonce: str
    proof: str


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """Facts about the node, for the doctor. ``ptrace``: None where py-spy works, else why it doesn't and what to do."""

    proof: str
    pid: int
    start_ns: int
    python_version: str
    ray_version: str | None
    debugpy_version: str | None
    pyspy_version: str | None
    ptrace: str | None
    env: dict[str, str]
    """The variables of Ray's agent that matter to the doctor (RAY_DEBUG…), as set in its environment."""


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    reason: str


class Watch(msgspec.Struct, frozen=True, kw_only=True, tag="watch"):
    """Hub -> helper: the processes of this node to watch, all of them; replaces the set before."""

    pids: list[int]


class Title(msgspec.Struct, frozen=True, array_like=True):
    """A process's title (``ray::Class.method`` while a sync actor runs a method) and since when it was seen.

    ``since_ns`` is exact to the sampling period; None for the first look at a process that was there before.
    """

    pid: int
    title: str
    since_ns: int | None


class Titles(msgspec.Struct, frozen=True, kw_only=True, tag="titles"):
    """Helper -> hub: titles that changed; after a Watch also those of new pids. ``gone``: pids that ended."""

    changed: list[Title]
    gone: list[int]


class Dump(msgspec.Struct, frozen=True, kw_only=True, tag="dump"):
    """Hub -> helper: the stacks of a process, by py-spy. ``locals``: with the reprs of local variables."""

    id: int
    pid: int
    locals: bool = False


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """``line`` may be 0. ``locals``: name -> repr, as py-spy read it."""

    function: str
    file: str
    line: int
    locals: dict[str, str] | None = None


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """``thread_id``: the operating system's (Linux tid), else None. ``ident``: Python's ``threading.get_ident()``.
    ``frames``: innermost first."""

    thread_id: int | None
    ident: int | None = None
    name: str | None
    active: bool
    frames: list[Frame]


class Stacks(msgspec.Struct, frozen=True, kw_only=True, tag="stacks"):
    """Helper -> hub: the answer to a Dump. ``error`` says why there are none, and what to do."""

    id: int
    pid: int
    threads: list[Thread]
    error: str | None = None


class ReadException(msgspec.Struct, frozen=True, kw_only=True, tag="read_exception"):
    """Hub -> helper: the exception in which a thread of a process is frozen (post-mortem). ``ident``: the Thread's."""

    id: int
    pid: int
    ident: int


class FrozenException(msgspec.Struct, frozen=True, kw_only=True, tag="frozen_exception"):
    """Helper -> hub: the answer to a ReadException, read from the process's memory without attaching.

    ``type_name`` as a traceback prints it; ``frames``: outermost first; ``user_frame``: the innermost one of user code.
    ``error`` says why there is nothing, and what to do.
    """

    id: int
    pid: int
    type_name: str | None = None
    message: str | None = None
    frames: list[Frame] = []
    user_frame: Frame | None = None
    error: str | None = None


HubToHelper = Answer | Watch | Dump | ReadException | Refused


class WantEvents(msgspec.Struct, frozen=True, kw_only=True, tag="want_events"):
    """Hub -> helper: relay the node's task events; of ``epoch`` only what came after number ``after``."""

    epoch: str
    after: int


class AckEvents(msgspec.Struct, frozen=True, kw_only=True, tag="ack_events"):
    """Hub -> helper: what came up to ``number`` is taken, and need not be held any longer."""

    epoch: str
    number: int


class Events(msgspec.Struct, frozen=True, kw_only=True, tag="events"):
    """Helper -> hub, once it was asked: task events as workers sent them (serialized AddEventsRequests).

    Numbered from ``first`` on; a number that never comes was dropped. ``epoch`` is the helper's life. ``problem``: why
    no events can come from this node, None where they can. ``dropped_agent``, ``dropped_helper``: events dropped since
    the agent, or the helper, started.
    """

    epoch: str
    first: int
    data: list[bytes]
    problem: str | None
    dropped_agent: int
    dropped_helper: int


class StepMark(msgspec.Struct, frozen=True, array_like=True):
    """A process said that training step ``number`` begins at ``at_ns``. Known by its socket's credentials.

    ``parent_pid``: who started it; the worker, where it is a process that user code forked.
    """

    pid: int
    number: int
    at_ns: int
    parent_pid: int = 0


class Steps(msgspec.Struct, frozen=True, kw_only=True, tag="steps"):
    """Helper -> hub, after WantEvents: steps that the node's processes declared, all that are held at first.

    ``dropped``: what workers had to drop, and what was let go.
    """

    marks: list[StepMark]
    dropped: int


HelperToHub = Challenge | Hello | Titles | Stacks | FrozenException | Refused | Events | Steps
