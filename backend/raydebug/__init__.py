"""raydebug: a debugger for training jobs on Ray, in the Ray Dashboard.

The public names for training code live here and are imported lazily: ``import raydebug`` costs milliseconds and
brings in neither ray nor torch.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
