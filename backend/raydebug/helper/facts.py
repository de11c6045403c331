"""What the helper tells about its node, for the doctor. Ray is never imported here: it would cost 60 MB."""

from __future__ import annotations

import importlib.metadata
import os
import platform

from raydebug.api.helper import Hello

from .stacks import probe_ptrace

VARIABLES = ("RAY_DEBUG", "RAY_DEBUG_POST_MORTEM", "RAY_DEBUG_POSTMORTEM", "RAY_DEBUGGER_HOST")


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


class Facts:
    """Looked up once: installing something needs a restart of Ray to count, and so of the helper."""

    def __init__(self, start_ns: int) -> None:
        self.start_ns = start_ns
        self.ray_version = version_of("ray")
        self.debugpy_version = version_of("debugpy")
        self.pyspy_version = version_of("py-spy")
        self.env = {name: os.environ[name] for name in VARIABLES if name in os.environ}

    def hello(self, proof: str) -> Hello:
        return Hello(
            proof=proof,
            pid=os.getpid(),
            start_ns=self.start_ns,
            python_version=platform.python_version(),
            ray_version=self.ray_version,
            debugpy_version=self.debugpy_version,
            pyspy_version=self.pyspy_version,
            ptrace=probe_ptrace(),
            env=self.env,
        )
