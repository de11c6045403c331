"""The one door: who is asking, may this request pass, does a session's right still hold.

What a request shows decides, in this order: a page of another site is refused; a credential of ours (raydebug's
token, a grant) counts as what it is, in every mode, and a wrong one is refused everywhere; a Host that isn't known is
refused without a credential of ours; then how the request came decides. So a viewer's link opens as viewer also for
somebody who holds Ray's token, or where RAYDEBUG_OPEN=1: a link shows what its maker meant it to show.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from raydebug.api.access import GrantMade, GrantRequest, Grants
from raydebug.api.names import PEER_HEADER, ROUTE_HEADER, TOKEN_HEADER, URL_PREFIX
from raydebug.hub.access import rules
from raydebug.hub.access.audit import AuditLog
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.errors import AccessError, forbidden
from raydebug.hub.access.grants import GrantBook
from raydebug.hub.access.hosts import host_allowed, origin_matches
from raydebug.hub.access.rules import Action
from raydebug.hub.access.token import TokenFile, token_print

Route = Literal["shell", "ray-auth", "open"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request, as far as access cares. ``trusted``: it came over the gateway's socket, whose headers count."""

    headers: Mapping[str, str]
    peer: str
    trusted: bool

    @property
    def route(self) -> Route:
        if self.trusted:
            value = self.headers.get(ROUTE_HEADER)
            if value == "shell":
                return "shell"
            if value == "ray-auth":
                return "ray-auth"
        return "open"

    @property
    def host(self) -> str:
        """The Host the browser used. The gateway lets X-Forwarded-Host pass from trusted proxies alone."""
        forwarded = self.headers.get("X-Forwarded-Host") if self.trusted else None
        return (forwarded or self.headers.get("Host", "")).split(",")[0].strip()

    @property
    def who(self) -> str:
        return self.headers.get(PEER_HEADER, self.peer) if self.trusted else self.peer

    @property
    def base_url(self) -> str:
        """Where the browser sees us, for links."""
        forwarded = self.headers.get("X-Forwarded-Proto") if self.trusted else None
        return f"{'https' if forwarded == 'https' else 'http'}://{self.host}"


class Access:
    def __init__(
        self,
        session_dir: Path,
        *,
        fixed_token: str | None = None,
        everybody_debugger: bool = False,
        own_names: frozenset[str] = frozenset(),
        allowed_hosts: tuple[str, ...] = (),
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._now_ns = now_ns
        self._token = TokenFile(session_dir, fixed_token)
        self._book = GrantBook(session_dir, now_ns)
        self._own_names = own_names
        self._allowed_hosts = allowed_hosts
        self.everybody_debugger = everybody_debugger
        self.audit = AuditLog(session_dir, now_ns=now_ns)
        self._listeners: list[Callable[[], None]] = []

    # Requests ----------------------------------------------------------------------------------------------------

    def admit(self, asked: Asked, action: Action) -> Caller:
        """Who asks; raises AccessError if this may not pass."""
        try:
            caller = self._identify(asked)
            if caller.shell_only and action not in rules.PUBLIC_IN_TOKEN_MODE:
                raise forbidden("ray_token_needed", "This needs Ray's token.", "Sign in to the Ray Dashboard.")
            rules.require(caller.role, action)
        except AccessError as error:
            self.audit.refused(asked.who, action, error.body.code)
            raise
        return caller

    def sign_in(self, caller: Caller, token: str) -> Caller:
        """The same connection with a credential of ours, as a websocket's Hello brings it."""
        try:
            return self._by_token(token, caller.peer)
        except AccessError as error:
            self.audit.refused(caller.peer, "stream", error.body.code)
            raise

    def require(self, caller: Caller, action: Action) -> None:
        """For a message of a session: its right may have ended since."""
        try:
            if not self.alive(caller):
                raise forbidden("session_ended", "The right this session rests on has ended.", "Open a new link.")
            rules.require(caller.role, action)
        except AccessError as error:
            self.audit.refused(caller.peer, action, error.body.code)
            raise

    def alive(self, caller: Caller) -> bool:
        """Whether what the caller's rights rest on still holds."""
        if caller.grant_id is not None:
            return self._book.live(caller.grant_id)
        if caller.token_print is not None:
            return self._token.is_current(caller.token_print)
        return True

    def on_change(self, listener: Callable[[], None]) -> None:
        """``listener`` is called after a right was taken away here (expiry and rotation aren't told)."""
        self._listeners.append(listener)

    def _identify(self, asked: Asked) -> Caller:
        headers = asked.headers
        origin = headers.get("Origin")
        if origin is not None and not origin_matches(origin, asked.host):
            raise forbidden(
                "foreign_origin",
                "A page of another site asked; only raydebug's own page may.",
                "Behind a proxy that changes Host: name it in RAYDEBUG_TRUSTED_PROXIES, or let it keep Host.",
            )
        route = asked.route
        token = headers.get(TOKEN_HEADER, "").strip()
        if not token and route == "open":
            scheme, _, value = headers.get("Authorization", "").partition(" ")
            if scheme.lower() == "bearer":
                token = value.strip()
        if token:
            caller = self._by_token(token, asked.who)
            return msgspec.structs.replace(caller, shell_only=route == "shell")
        if not host_allowed(asked.host, self._own_names, self._allowed_hosts):
            name = asked.host[:100] or "(none)"
            raise forbidden(
                "unknown_host",
                f"The name {name!r} isn't known to be this server's.",
                f"Set RAYDEBUG_ALLOWED_HOSTS={asked.host.rsplit(':', 1)[0][:100]} where the head is started, "
                "or use the IP address.",
            )
        if route == "shell":
            return Caller(role="anonymous", how="none", peer=asked.who, shell_only=True)
        if route == "ray-auth":
            return Caller(role="debugger", how="ray_token", peer=asked.who)
        if self.everybody_debugger:
            return Caller(role="debugger", how="open", peer=asked.who)
        return Caller(role="anonymous", how="none", peer=asked.who)

    def _by_token(self, token: str, peer: str) -> Caller:
        if self._token.matches(token):
            return Caller(role="debugger", how="token", peer=peer, token_print=token_print(token))
        record = self._book.find(token)
        if record is None:
            raise forbidden("wrong_token", "The token is wrong.", "`raydebug url` on the head prints the right link.")
        grant = record.grant
        if record.ended(self._now_ns()):
            what = "revoked" if record.revoked_ns is not None else "expired"
            raise forbidden(f"grant_{what}", f"This link was {what}." if what == "revoked" else "This link expired.")
        return Caller(
            role=grant.role,
            how="grant",
            peer=peer,
            name=grant.name,
            jobs=None if grant.jobs is None else frozenset(grant.jobs),
            grant_id=grant.grant_id,
            expires_ns=grant.expires_ns,
        )

    # Grants: the same for REST and websocket ---------------------------------------------------------------------

    def make_grant(self, caller: Caller, request: GrantRequest, base_url: str) -> GrantMade:
        self.require(caller, "grants")
        grant, token = self._book.make(caller, request)
        self.audit.write(
            "grant",
            caller,
            grant_id=grant.grant_id,
            granted=grant.role,
            name=grant.name,
            jobs=grant.jobs,
            expires_ns=grant.expires_ns,
        )
        return GrantMade(grant=grant, token=token, link=f"{base_url}{URL_PREFIX}#token={token}")

    def list_grants(self, caller: Caller) -> Grants:
        self.require(caller, "grants")
        return Grants(grants=self._book.listed(caller))

    def revoke_grant(self, caller: Caller, grant_id: str) -> Grants:
        """End a grant; what is left. Live sessions on it end at once."""
        self.require(caller, "grants")
        self.audit.write("revoke", caller, grant_ids=self._book.revoke(caller, grant_id))
        for listener in self._listeners:
            listener()
        return self.list_grants(caller) if self.alive(caller) else Grants(grants=[])
