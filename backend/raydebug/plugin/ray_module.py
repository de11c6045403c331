"""Found by Ray's dashboard and node agents as ``ray.dashboard.modules.raydebug_module``.

A module that raises at import stops the whole dashboard from starting, and a node's agent takes the node with it:
whatever goes wrong here is logged, and Ray goes on without us. The classes are bound to names because Ray finds them
through ``__subclasses__()``, which holds no references.
"""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def _load(name: str) -> type | None:
    try:
        from importlib import import_module

        found: type = import_module("raydebug.plugin." + name).module_class()
        return found
    except KeyboardInterrupt:
        raise
    except BaseException:
        _log.exception(
            "raydebug's %s module could not be loaded; Ray goes on without it. To mend it: `pip install raydebug` in "
            "Ray's own environment on this node, or, to be rid of this file, `raydebug remove-plugin` or delete %s",
            name,
            __file__,
        )
        return None


RaydebugHead = _load("head")
RaydebugAgent = _load("agent")
