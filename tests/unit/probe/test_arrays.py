"""Arrays, tensors and frames: by metadata, on request by their data, never by waiting for a device."""

from __future__ import annotations

import json
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from raydebug.probe import arrays, children, handles, tensors, values

try:
    import torch
except ImportError:
    torch = None
needs_torch = pytest.mark.skipif(torch is None, reason="torch isn't installed")


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    handles.forget()


def inspect(value: Any, view: str = "statistics", **options: Any) -> dict[str, Any]:
    found = tensors.inspect(handles.put(value), view, **options)
    json.dumps(found, allow_nan=False)
    return found


def opened(value: Any) -> list[dict[str, Any]]:
    page = children.children(values.describe("x", value, "x")["variablesReference"])
    found: list[dict[str, Any]] = page["variables"]
    return found


def test_an_array_is_its_metadata_first() -> None:
    found = values.describe("x", np.zeros((20, 3), "float32"), "x")
    assert found["value"] == "ndarray[20×3] float32"
    assert found["summary"] == {"kind": "array", "shape": [20, 3], "dtype": "float32", "nbytes": 240}
    assert found["indexedVariables"] == 20
    assert values.describe("x", np.arange(3))["value"] == "ndarray[3] int64 [0, 1, 2]"
    assert values.describe("x", np.float32(0.1))["value"] == "0.1"
    rows = opened(np.arange(6).reshape(2, 3))
    assert [(row["evaluateName"], row["value"]) for row in rows] == [
        ("x[0]", "ndarray[3] int64 [0, 1, 2]"),
        ("x[1]", "ndarray[3] int64 [3, 4, 5]"),
    ]
    assert opened(np.array(5))[0]["value"] == "5"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 3, 5), (0, 4)])
def test_every_view_of_every_array(dtype: str, shape: tuple[int, ...]) -> None:
    value = np.ones(shape, dtype)
    found = inspect(value)
    assert (found["count"], found["total"]) == (value.size, value.size)
    if value.size:
        assert (found["min"], found["max"], found["mean"], found["std"]) == (1, 1, 1, 0)
        assert math.isclose(found["l2"], math.sqrt(value.size))
        assert sum(found["histogram"]["bins"]) == value.size
    for view in ("heatmap", "table", "slice"):
        inspect(value, view)


def test_statistics_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "CHUNK", 1000)
    values_ = np.random.default_rng(1).normal(1e6, 3, (70, 41, 13))
    found = inspect(values_)
    for name, truth in (
        ("min", values_.min()),
        ("max", values_.max()),
        ("mean", values_.mean()),
        ("std", values_.std()),
    ):
        assert math.isclose(found[name], truth, rel_tol=1e-9), name
    assert math.isclose(found["l2"], float(np.linalg.norm(values_)), rel_tol=1e-9)
    assert found["histogram"]["bins"] == np.histogram(values_, 32)[0].tolist()
    values_[0, 0, :5] = [np.nan, np.inf, -np.inf, 0, np.nan]
    found = inspect(values_)
    assert (found["nan"], found["inf"], found["zeros"]) == (2, 2, 1)
    assert math.isclose(found["mean"], float(np.mean(values_[np.isfinite(values_)])), rel_tol=1e-9)
    assert inspect(np.full(3, np.nan))["min"] is None


def test_no_more_than_is_shown() -> None:
    value = np.arange(200 * 300, dtype="float64").reshape(200, 300)
    for reduce, expected in (("stride", 0), ("min", 0), ("max", 3 * 300 + 4), ("mean", (0 + 3 * 300 + 4) / 2)):
        found = inspect(value, "heatmap", reduce=reduce)
        assert found["block"] == [4, 5]
        assert (len(found["cells"]), len(found["cells"][0])) == (50, 60)
        assert found["cells"][0][0] == expected
    window = inspect(value, "heatmap", rows=[10, 12], columns=[1, 4])
    assert window["cells"] == value[10:12, 1:4].tolist()
    assert inspect(np.stack([value, -value]), "heatmap", index=[1], rows=[1, 2], columns=[0, 1])["cells"] == [[-300]]
    assert inspect(np.array([[1.0, np.nan, np.inf]]), "heatmap")["cells"] == [[1.0, "nan", "inf"]]
    assert inspect(value, "slice", index=[3], start=5, count=2)["values"] == [905, 906]
    table = inspect(value, "table", rows=[1, 3], columns=[0, 2])
    assert table["cells"] == [["300.0", "301.0"], ["600.0", "601.0"]]
    assert len(inspect(np.zeros((10_000, 1000)), "table")["cells"]) == tensors.MOST_ROWS


def test_what_is_no_array() -> None:
    for value in ([1, 2], "text", np.array(["a"]), np.array([None])):
        with pytest.raises(tensors.UnreadableError):
            inspect(value)
    with pytest.raises(ValueError, match="view"):
        inspect(np.zeros(3), "hologram")


@needs_torch
def test_tensors() -> None:
    found = values.describe("x", torch.zeros(20, 3, requires_grad=True), "x")
    assert found["value"] == "Tensor[20×3] float32 grad"
    assert found["summary"]["device"] == "cpu"
    assert found["summary"]["requires_grad"] is True
    parameter = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    rows = opened(parameter)
    assert [row["name"] for row in rows] == ["0", "1", "attributes"]
    state = torch.get_rng_state()
    assert inspect(parameter)["mean"] == 2.5
    assert torch.equal(state, torch.get_rng_state())
    assert parameter.grad is None
    layer = opened(torch.nn.Sequential(torch.nn.Linear(2, 3)))
    assert (layer[0]["name"], layer[0]["evaluateName"]) == ("0", "x._modules['0']")
    assert layer[0]["value"] == "Linear(weight 3×2, bias 3)"


def odd_tensors() -> dict[str, Any]:
    if torch is None:
        return {}
    ones = torch.ones(2, 3)
    return {
        "bfloat16": ones.bfloat16(),
        "bool": ones.bool(),
        "complex": torch.complex(ones, ones),
        "0-d": torch.tensor(3.0),
        "empty": torch.empty(0, 4),
        "transposed": torch.arange(6.0).reshape(2, 3).T,
        "expanded": torch.ones(1, 1).expand(5, 5),
        "sparse": ones.to_sparse(),
        "csr": ones.to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8),
        "jagged": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    }


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_odd_tensors_break_nothing() -> None:
    for name, tensor in odd_tensors().items():
        assert values.describe("x", tensor, "x")["type"] == f"{type(tensor).__module__}.{type(tensor).__qualname__}", (
            name
        )
        opened(tensor)
        found = inspect(tensor)
        assert found["nan"] == 0, name
        for view in ("heatmap", "table", "slice"):
            inspect(tensor, view)
    with pytest.raises(tensors.UnreadableError, match="meta"):
        inspect(torch.ones(3, device="meta"))


@needs_torch
def test_statistics_of_a_tensor_are_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "CHUNK", 100)
    tensor = torch.randn(17, 5, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64).transpose(0, 2)
    found = inspect(tensor)
    assert math.isclose(found["std"], float(tensor.std(correction=0)), rel_tol=1e-9)
    assert math.isclose(found["l2"], float(tensor.norm()), rel_tol=1e-9)
    assert found["histogram"]["bins"] == np.histogram(tensor.numpy(), 32)[0].tolist()
    assert inspect(tensor[:, :, 0], "heatmap", reduce="max", cells=2)["cells"][0][0] == float(tensor[:5, :3, 0].max())


class StuckError(Exception):
    """What a real tensor would do is wait for ever."""


class Stream:
    idle = False

    def query(self) -> bool:
        return self.idle


class StandIn:
    """A CUDA tensor whose stream is busy: every way to its data is a failure of the test."""

    is_cuda, is_meta, is_nested, is_quantized, is_leaf, requires_grad = True, False, False, False, True, False
    itemsize, dtype, device, layout, grad, grad_fn = 4, "torch.float32", "cuda:0", "torch.strided", None, None

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __getitem__(self, index: int) -> StandIn:
        return StandIn(*self.shape[1:])

    def __getattr__(self, name: str) -> Any:
        raise StuckError(name)

    def __repr__(self) -> str:
        raise StuckError("repr")

    def detach(self) -> StandIn:
        raise StuckError("detach")


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> type[Stream]:
    class Own(Stream):
        pass

    cuda = types.SimpleNamespace(current_stream=lambda device: Own(), is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=StandIn, cuda=cuda, nn=None))
    monkeypatch.delitem(arrays._families, StandIn, raising=False)
    return Own


def test_a_busy_cuda_tensor_is_metadata(fake_cuda: type[Stream]) -> None:
    found = values.describe("x", {"batch": [StandIn(2, 2)]}, "x")
    assert found["value"] == "{'batch': [StandIn[2×2] float32 cuda:0]}"
    found = values.describe("x", StandIn(2, 2), "x")
    assert found["summary"] == {
        "kind": "tensor",
        "shape": [2, 2],
        "dtype": "float32",
        "device": "cuda:0",
        "nbytes": 16,
        "requires_grad": False,
        "pending": True,
    }
    rows = opened(StandIn(2, 2))
    assert [row["value"] for row in rows[:2]] == ["StandIn[2] float32 cuda:0"] * 2
    for view in tensors.VIEWS:
        with pytest.raises(tensors.UnreadableError, match="pending"):
            inspect(StandIn(2, 2), view)
    fake_cuda.idle = True
    assert "pending" not in values.describe("x", StandIn(300), "x")["summary"]
    with pytest.raises(StuckError):
        inspect(StandIn(2, 2))


def test_a_stream_that_cannot_be_asked_counts_as_busy(fake_cuda: type[Stream], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Stream) -> bool:
        raise RuntimeError("CUDA error")

    monkeypatch.setattr(Stream, "query", fails)
    assert values.describe("x", StandIn(2), "x")["summary"]["pending"]


@needs_torch
def test_a_repr_that_reads_a_busy_tensor_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Batch:
        def __init__(self) -> None:
            self.tensor = torch.ones(3)

        def __repr__(self) -> str:
            return f"Batch({self.tensor.sum().item()})"

    batch = Batch()
    assert values.describe("x", batch)["value"] == "Batch(3.0)"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert values.describe("x", batch)["value"] == "Batch(3.0)"
    monkeypatch.setattr(arrays, "pending", lambda tensor: True)
    assert values.describe("x", batch)["value"].endswith("its repr raised RuntimeError>")


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(1000), "b": ["text " * 50] * 1000, 3: 1.5})
    found = values.describe("x", frame, "x")
    assert found["value"] == "DataFrame[1000×3]"
    columns = opened(frame)
    assert [v["evaluateName"] for v in columns] == ["x['a']", "x['b']", "x.iloc[:, 2]"]
    table = inspect(frame, "table", rows=[5, 7])
    assert table["names"] == ["a", "b", "3"]
    assert table["labels"] == ["5", "6"]
    assert table["cells"][0][0] == "5"
    assert all(len(cell) <= tensors.MOST_CELL + 1 for row in table["cells"] for cell in row)
    assert inspect(frame["a"])["max"] == 999
    assert opened(frame["a"])[1]["value"] == "1"
    inspect(frame["b"], "table")
    inspect(frame.iloc[:0], "table")
