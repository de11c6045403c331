"""raydebug: a debugger for training jobs on Ray, in the Ray Dashboard.

The public names for training code live here and are imported lazily: ``import raydebug`` costs milliseconds and
brings in neither ray nor torch.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raydebug.worker.steps import step

__version__ = "0.1.0"

__all__ = ["__version__", "step"]

_WHERE = {"step": "raydebug.worker.steps"}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = globals()[name] = getattr(importlib.import_module(_WHERE[name]), name)
    return found
