"""Reads, from outside and without attaching a debugger, the exception in which a Python process is frozen.

With RAY_DEBUG_POST_MORTEM=1 a crashed Ray task waits for a debugger inside Ray's ``except`` block. The user's frames
have left its stack, but live on in the traceback of the exception being handled. Attaching just to look would change
the task's state, so the exception is read out of the process's memory, as py-spy reads stacks.

``python -m raydebug.helper.postmortem PID THREAD_ID`` does it in a process of its own.
"""

from .memory import PostmortemError
from .read import Frame, FrozenException, read_exception

__all__ = ["Frame", "FrozenException", "PostmortemError", "read_exception"]
