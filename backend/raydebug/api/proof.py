"""How hub and helper show each other that they know the cluster secret, which never travels. Pure, stdlib only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal


def nonce() -> str:
    """32 random bytes, hex."""
    return secrets.token_hex(32)


def proof(secret: str, side: Literal["hub", "helper"], node_id: str, helper_nonce: str, hub_nonce: str) -> str:
    """HMAC-SHA256 over everything that ties it to this side, node and connection; see :mod:`raydebug.api.helper`."""
    message = "|".join((side, node_id, helper_nonce, hub_nonce))
    return hmac.new(secret.encode(), message.encode(), hashlib.sha256).hexdigest()


def same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode(), b.encode())
