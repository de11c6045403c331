"""From a worker to its node's helper: small messages over a unix socket, sent or dropped at once.

SOCK_SEQPACKET keeps messages whole: a send takes all of one or nothing. What could not be sent is counted, and the
count goes with the next message. Only the standard library is used; Ray is asked once where the socket is.
"""

from __future__ import annotations

import os
import socket
import struct
import time

RETRY_S = 5.0
"""After this long without a helper it is looked for again."""


class Link:
    """One per process; a fork gets a connection of its own, since the helper knows a process by its credentials.

    ``off_until``: before that (``time.monotonic``) there is no use in trying.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self.off_until = 0.0
        self._socket: socket.socket | None = None
        self._pid = 0

    def send(self, message: bytes) -> bool:
        """Send if that is possible at once; False, and counted, if not."""
        if self._pid != os.getpid():
            self._socket, self._pid = None, os.getpid()
        # The second try is for a helper that was started again.
        if self._socket is not None and (sent := self._try(self._socket, message)) is not None:
            return sent
        connection = self._socket = self._connect()
        if connection is not None and (sent := self._try(connection, message)) is not None:
            return sent
        self.dropped += 1
        self.off_until = time.monotonic() + RETRY_S
        return False

    def _try(self, connection: socket.socket, message: bytes) -> bool | None:
        """None where the connection is over."""
        try:
            # User code may have set SIGPIPE to end the process.
            connection.send(message, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            self.dropped += 1
            return False
        except OSError:
            connection.close()
            self._socket = None
            return None
        return True

    def _connect(self) -> socket.socket | None:
        path = helper_path()
        if path is None:
            return None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.setblocking(False)
            connection.connect(path)
            size = struct.calcsize("3i")
            peer = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            if peer[1] != os.geteuid():
                raise PermissionError(path)
        except OSError:
            connection.close()
            return None
        return connection

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def helper_path() -> str | None:
    """Where this node's helper listens for workers; None outside Ray, or before ``ray.init``."""
    import sys

    if "ray" not in sys.modules:
        return None
    try:
        from raydebug.api.names import WORKER_SOCKET
        from raydebug.api.places import socket_file
        from raydebug.ray_compat import own_node

        node = own_node()
        if node is None:
            return None
        session_dir, node_id = node
        return socket_file(session_dir, WORKER_SOCKET.format(node8=node_id[:8]), os.geteuid())
    except Exception:
        # Whatever a Ray that we don't know raises, it must not reach the training.
        return None


link = Link()
"""Of this process."""
