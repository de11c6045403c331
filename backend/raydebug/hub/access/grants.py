"""Rights given away: made, found by their token, revoked. Kept in a file beside the token, without the tokens."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from raydebug.api.access import Grant, GrantRequest
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.errors import AccessError, forbidden
from raydebug.hub.access.files import fingerprint, private_directory, read_private, write_private
from raydebug.hub.access.rules import at_least, too_low
from raydebug.hub.access.token import new_token, token_print

logger = logging.getLogger(__name__)

GRANTS_FILE: Final = "grants.json"
_MAX_LIVE: Final = 1000
_MAX_ENDED: Final = 200
_MAX_NAME: Final = 100
_MAX_SECONDS: Final = 10 * 365 * 86_400.0


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """``parent``: the grant whose holder made this one; it ends with it."""

    grant: Grant
    token_print: str
    parent: str | None = None
    revoked_ns: int | None = None

    def ended(self, now_ns: int) -> bool:
        return self.revoked_ns is not None or (self.grant.expires_ns is not None and self.grant.expires_ns <= now_ns)


class GrantBook:
    """All grants. Several hubs of one session directory may share the file: it is read again when it changed."""

    def __init__(self, session_dir: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._path = private_directory(session_dir) / GRANTS_FILE
        self._now_ns = now_ns
        self._seen: tuple[int, int, int] | None = None
        self._records: dict[str, Record] = {}
        self._by_print: dict[str, Record] = {}
        self._reload()

    def find(self, token: str) -> Record | None:
        """The grant of this token, live or ended. Looked up by the token's hash, so timing tells nothing of it."""
        self._reload()
        return self._by_print.get(token_print(token))

    def live(self, grant_id: str) -> bool:
        self._reload()
        record = self._records.get(grant_id)
        return record is not None and not record.ended(self._now_ns())

    def listed(self, caller: Caller) -> list[Grant]:
        """The live grants, oldest first; of a caller who holds a grant, those that came from it."""
        self._reload()
        now = self._now_ns()
        return [r.grant for r in self._records.values() if not r.ended(now) and self._within(r, caller)]

    def make(self, caller: Caller, request: GrantRequest) -> tuple[Grant, str]:
        """A new grant and its token. It never exceeds its maker's rights."""
        name = "".join(c for c in request.name.strip() if c.isprintable())
        if not name or len(name) > _MAX_NAME:
            raise AccessError(400, "bad_parameter", f"name: expected 1 to {_MAX_NAME} characters")
        if not at_least(caller.role, request.role):
            raise too_low(caller.role, request.role)
        now = self._now_ns()
        grant = Grant(
            grant_id=secrets.token_hex(4),
            role=request.role,
            name=name,
            jobs=_jobs(caller, request),
            made_ns=now,
            expires_ns=_expiry(caller, request, now),
            made_by=caller.label,
        )
        token = new_token()
        with self._changing() as records:
            if sum(not r.ended(now) for r in records.values()) >= _MAX_LIVE:
                raise AccessError(409, "too_many_grants", f"There are {_MAX_LIVE} grants.", "Revoke some first.")
            records[grant.grant_id] = Record(grant=grant, token_print=token_print(token), parent=caller.grant_id)
        return grant, token

    def revoke(self, caller: Caller, grant_id: str) -> list[str]:
        """End a grant and those made with it; their ids."""
        self._reload()
        now = self._now_ns()
        record = self._records.get(grant_id)
        if record is None or record.ended(now) or not self._within(record, caller):
            raise AccessError(404, "unknown_grant", f"There is no live grant {grant_id}.", "See `raydebug grant list`.")
        with self._changing() as records:
            ending = {grant_id}
            for other in records.values():  # makers come before what they made
                if other.parent in ending:
                    ending.add(other.grant.grant_id)
            for name in ending:
                if not records[name].ended(now):
                    records[name] = msgspec.structs.replace(records[name], revoked_ns=now)
        return sorted(ending)

    def _within(self, record: Record, caller: Caller) -> bool:
        """Whether the grant came from the caller's own, or the caller's rights rest on no grant."""
        if caller.grant_id is None:
            return True
        parent = record.parent
        while parent is not None:
            if parent == caller.grant_id:
                return True
            above = self._records.get(parent)
            parent = above.parent if above else None
        return False

    def _reload(self) -> None:
        seen = fingerprint(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        records: list[Record] = []
        if seen is not None:
            try:
                records = msgspec.json.decode(read_private(self._path), type=list[Record])
            except (OSError, msgspec.DecodeError) as error:
                logger.error("the grants can't be read, none is valid: %s", error)
        self._records = {record.grant.grant_id: record for record in records}
        self._by_print = {record.token_print: record for record in records}

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Record]]:
        """Change the records and save them, alone."""
        lock = os.open(self._path.with_name(".grants.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._reload()
            records = dict(self._records)
            yield records
            now = self._now_ns()
            ended = [name for name, record in records.items() if record.ended(now)]
            for name in ended[: max(0, len(ended) - _MAX_ENDED)]:
                del records[name]
            write_private(self._path, msgspec.json.encode(list(records.values())))
            self._reload()
        finally:
            os.close(lock)


def _jobs(caller: Caller, request: GrantRequest) -> list[str] | None:
    if request.jobs is None:
        return None if caller.jobs is None else sorted(caller.jobs)
    if not request.jobs:
        raise AccessError(400, "bad_parameter", "jobs: expected at least one job, or none named for all of them")
    if caller.jobs is not None and not set(request.jobs) <= caller.jobs:
        raise forbidden("exceeds_maker", "A grant can't cover jobs that its maker's doesn't.")
    return sorted(set(request.jobs))


def _expiry(caller: Caller, request: GrantRequest, now_ns: int) -> int | None:
    if request.expires_s is None:
        return caller.expires_ns
    if not 0 < request.expires_s <= _MAX_SECONDS:
        raise AccessError(400, "bad_parameter", "expires_s: expected more than 0 s and at most ten years")
    expires = now_ns + int(request.expires_s * 1e9)
    if caller.expires_ns is not None and expires > caller.expires_ns:
        raise forbidden("exceeds_maker", "A grant can't outlive its maker's.")
    return expires
