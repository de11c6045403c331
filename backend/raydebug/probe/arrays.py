"""Arrays, tensors and frames by shape, dtype and device first; their data only where that is cheap and can't wait.

numpy, torch and pandas are whatever the program has loaded: nothing is imported. A CUDA tensor's data is left alone
until its stream is idle: reading it would wait for the stream, in C code that no timeout ends.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from . import text
from .text import module, short

# Values printed after the metadata, of a small array.
FEW = 8


def number(value: Any) -> Any:
    """A number as JSON has it: what isn't finite is text, what is complex too."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return short(value, 100)[0]


def array_class() -> Any:
    return getattr(module("numpy"), "ndarray", None)


def is_array(value: Any) -> bool:
    cls = array_class()
    return cls is not None and issubclass(type(value), cls)


def is_numpy_scalar(value: Any) -> bool:
    cls = getattr(module("numpy"), "generic", None)
    return cls is not None and issubclass(type(value), cls)


def is_tensor(value: Any) -> bool:
    cls = getattr(module("torch"), "Tensor", None)
    return cls is not None and issubclass(type(value), cls)


def is_plain_tensor(value: Any) -> bool:
    """Neither a DTensor nor another wrapper: indexing one of those may start a collective."""
    torch = module("torch")
    nn = getattr(torch, "nn", None)
    plain = (torch.Tensor, getattr(nn, "Parameter", None), getattr(nn, "Buffer", None))
    return type(value) in plain


def _pandas(name: str, value: Any) -> bool:
    cls = getattr(module("pandas"), name, None)
    return cls is not None and issubclass(type(value), cls)


def is_dataframe(value: Any) -> bool:
    return _pandas("DataFrame", value)


def is_series(value: Any) -> bool:
    return _pandas("Series", value) or _pandas("Index", value)


def is_model(value: Any) -> bool:
    cls = getattr(getattr(module("torch"), "nn", None), "Module", None)
    return cls is not None and issubclass(type(value), cls)


def named(value: Any, name: str, package: str) -> bool:
    """Whether the class or a base is ``package.….name``, for packages that are not looked into."""
    bases = type(value).__mro__
    return any(base.__name__ == name and str(base.__module__).split(".")[0] == package for base in bases)


def is_tensordict(value: Any) -> bool:
    return module("tensordict") is not None and named(value, "TensorDictBase", "tensordict")


def is_batch(value: Any) -> bool:
    return module("verl") is not None and named(value, "DataProto", "verl")


def is_device_array(value: Any) -> bool:
    """Of cupy, jax and the like: printing one waits for its device."""
    return hasattr(type(value), "__cuda_array_interface__") or str(type(value).__module__).startswith("jaxlib")


@contextlib.contextmanager
def quiet_torch() -> Iterator[None]:
    """No autograd graph grows from what is looked at."""
    torch = module("torch")
    if torch is None or not hasattr(torch, "no_grad"):
        yield
        return
    with torch.no_grad():
        yield


def plain(value: Any, call: str) -> Any:
    """A property of a tensor or array that may raise: None then."""
    try:
        return getattr(value, call)
    except Exception:
        return None


def pending(tensor: Any) -> bool:
    """Whether reading the tensor's data would wait, or might: all but an idle CUDA stream counts as that."""
    if not bool(plain(tensor, "is_cuda")):
        return False
    try:
        idle = module("torch").cuda.current_stream(tensor.device).query()
    except Exception:
        return True
    return idle is not True


def has_data(tensor: Any) -> bool:
    meta = bool(plain(tensor, "is_meta")) or str(plain(tensor, "device")) == "meta"
    return not meta and not named(tensor, "FakeTensor", "torch")


def shape_of(value: Any) -> list[int] | None:
    try:
        return [int(size) for size in value.shape]
    except Exception:
        return None  # of a nested tensor, or one with symbolic sizes


def count_of(shape: list[int] | None) -> int | None:
    return None if shape is None else math.prod(shape)


def dtype_name(value: Any) -> str | None:
    dtype = plain(value, "dtype")
    return None if dtype is None else short_dtype(dtype)


def short_dtype(dtype: Any) -> str:
    try:
        return str(dtype)[:200].removeprefix("torch.")
    except Exception:
        return "?"


_TESTS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("tensor", is_tensor),
    ("array", is_array),
    ("dataframe", is_dataframe),
    ("series", is_series),
    ("tensordict", is_tensordict),
    ("batch", is_batch),
    ("model", is_model),
    ("device", is_device_array),
    ("scalar", is_numpy_scalar),
)
_families: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def family(value: Any) -> str:
    """Which of these a value is, "" for none: by its class, which exists only once its package is loaded."""
    kind = type(value)
    meta: Any = type(kind)
    plain_class = meta.__hash__ is type.__hash__ and meta.__eq__ is type.__eq__
    known = _families.get(kind) if plain_class else None
    if known is None:
        known = next((name for name, test in _TESTS if test(value)), "")
        if plain_class:
            _families[kind] = known
    return known


def summary(value: Any) -> dict[str, Any] | None:
    """The part of a Summary for arrays and the like; None for anything else."""
    found = family(value)
    if found in ("", "scalar"):
        return None
    if found == "tensor":
        return tensor_summary(value)
    if found == "array":
        nbytes = plain(value, "nbytes")
        return {
            "kind": "array",
            "shape": shape_of(value),
            "dtype": short_dtype(value.dtype),
            "nbytes": nbytes if isinstance(nbytes, int) else None,
        }
    if found == "dataframe":
        return {"kind": "dataframe", "shape": shape_of(value)}
    if found == "series":
        return {"kind": "series", "shape": shape_of(value), "dtype": dtype_name(value)}
    if found == "tensordict":
        return {"kind": "tensordict", "shape": batch_size(value), "length": len(tensordict_items(value) or ())}
    if found == "batch":
        batch = object.__getattribute__(value, "__dict__").get("batch")
        return {"kind": "batch", "shape": batch_size(batch) if batch is not None else None}
    if found == "model":
        return {"kind": "model", "length": len(parts_of(value, "_modules"))}
    return {"kind": "array", "shape": shape_of(value), "dtype": dtype_name(value), "device": "device"}


def tensor_summary(value: Any) -> dict[str, Any]:
    shape, dtype, device = shape_of(value), dtype_name(value), plain(value, "device")
    size = plain(value, "itemsize")
    count = count_of(shape)
    grad = plain(value, "requires_grad")
    found: dict[str, Any] = {
        "kind": "tensor",
        "shape": shape,
        "dtype": dtype,
        "device": None if device is None else str(device),
        "nbytes": count * size if count is not None and isinstance(size, int) else None,
        "requires_grad": grad if isinstance(grad, bool) else None,
    }
    if pending(value):
        found["pending"] = True
    return found


def batch_size(value: Any) -> list[int] | None:
    try:
        return [int(size) for size in value.batch_size]
    except Exception:
        return None


def tensordict_items(value: Any) -> dict[str, Any] | None:
    """What a TensorDict holds, without its own methods: those of a lazy one compute."""
    try:
        inside = object.__getattribute__(value, "__dict__").get("_tensordict")
    except Exception:
        return None
    if is_tensordict(inside):
        return tensordict_items(inside)
    return inside if isinstance(inside, dict) else None


def parts_of(model: Any, what: str) -> dict[str, Any]:
    """``_modules``, ``_parameters`` or ``_buffers`` of a torch module."""
    found = object.__getattribute__(model, "__dict__").get(what)
    return found if isinstance(found, dict) else {}


def _preview(value: Any, shape: list[int] | None, wait: bool) -> str:
    count = count_of(shape)
    if count is None or count > FEW or wait:
        return ""
    try:
        return " " + short(value.tolist(), 200)[0]
    except BaseException:
        return ""


def _size(shape: list[int] | None) -> str:
    return "×".join(map(str, shape or []))


def value_text(value: Any) -> str | None:
    """The text of an array or the like; None: it is none."""
    found = summary(value)
    if found is None:
        if family(value) != "scalar" or not _simple(value):
            return None
        whole = text.hexed() and value.dtype.kind in "iu"
        return text.integer(int(value), as_hex=True) if whole else str(value)
    kind, shape = found["kind"], found.get("shape")
    name = type(value).__name__
    size = _size(shape)
    if kind == "tensor":
        parts = [str(found["dtype"])]
        if not str(found["device"]).startswith("cpu"):
            parts.append(str(found["device"]))
        if found["requires_grad"]:
            parts.append("grad")
        readable = is_plain_tensor(value) and has_data(value)
        with quiet_torch():
            values = _preview(value, shape, found.get("pending", False) or not readable)
        head = f"{name}[{size}]" if shape != [] else f"{name}[]"
        return f"{head} {' '.join(parts)}{values}"
    if kind in ("array", "series"):
        head = f"{name}[{size}] {found['dtype']}"
        readable = is_array(value) and found["dtype"] != "object"
        return head + _preview(value, shape, not readable)
    if kind == "dataframe":
        return f"{name}[{size}]"
    if kind == "model":
        if found["length"]:
            return f"{name}({found['length']} modules)"
        own = list(parts_of(value, "_parameters").items())[:8]
        return f"{name}({', '.join(f'{key} {_size(shape_of(part))}'.strip() for key, part in own)})"
    if kind == "tensordict":
        return f"{name}[{size}] {found['length']} keys"
    return f"{name}[{size}]" if size else name


def _simple(value: Any) -> bool:
    """A numpy scalar that is a number."""
    return getattr(value.dtype, "kind", "V") in "biufc"


def guard_device() -> Any:
    """Entered around a value's own code. In this thread alone, what would read a busy CUDA tensor's data raises."""
    torch = module("torch")
    cuda = getattr(torch, "cuda", None)
    mode = getattr(module("torch.utils._python_dispatch"), "TorchDispatchMode", None)
    try:
        used = cuda is not None and cuda.is_initialized()
    except Exception:
        used = False
    if torch is None or mode is None or not used:
        return quiet_torch()
    return _device_guard(torch, mode)


@contextlib.contextmanager
def _device_guard(torch: Any, mode: Any) -> Iterator[None]:
    if not _guards:
        _guards.append(_guard_class(mode))
    with torch.no_grad(), _guards[0]():
        yield


_guards: list[Any] = []


def _guard_class(mode: Any) -> Any:
    class Guard(mode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            for value in (*args, *kwargs.values()):
                for tensor in value if isinstance(value, (list, tuple)) else (value,):
                    if is_tensor(tensor) and pending(tensor):
                        raise RuntimeError("its CUDA stream is busy")
            return function(*args, **kwargs)

    return Guard


text.special.append(value_text)
text.guard.append(guard_device)
