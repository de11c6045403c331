"""How the debugger shows what verl's ranks hold: the real classes, on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

from raydebug.probe import children, handles, tensors, values

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
verl = pytest.importorskip("verl")


@pytest.fixture
def shown() -> Any:
    data = verl.DataProto.from_dict(
        tensors={"input_ids": torch.ones(4, 8, dtype=torch.long), "advantages": torch.arange(32.0).reshape(4, 8)},
        non_tensors={"uid": numpy.array(["a", "b", "c", "d"], dtype=object)},
        meta_info={"step": 3},
    )
    yield values.describe("data", data, "data")
    handles.forget()


def _inside(shown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    page = children.children(shown["variablesReference"])
    return {str(one["name"]).strip("'"): one for one in page["variables"]}


def test_a_batch_says_its_size_and_parts(shown: dict[str, Any]) -> None:
    assert shown["value"] == "DataProto[4]"
    parts = _inside(shown)
    assert parts["batch"]["summary"] == {"kind": "tensordict", "shape": [4], "length": 2}
    tensor = _inside(parts["batch"])["advantages"]
    assert tensor["evaluateName"] == "data.batch['advantages']"
    assert (tensor["summary"]["shape"], tensor["summary"]["dtype"]) == ([4, 8], "float32")
    assert _inside(parts["non_tensor_batch"])["uid"]["summary"]["shape"] == [4]
    assert _inside(parts["meta_info"])["step"]["value"] == "3"


def test_its_tensors_can_be_looked_into(shown: dict[str, Any]) -> None:
    tensor = _inside(_inside(shown)["batch"])["advantages"]
    found = tensors.inspect(tensor["variablesReference"], view="statistics")
    assert (found["count"], found["min"], found["max"], found["mean"]) == (32, 0.0, 31.0, 15.5)
    cells = tensors.inspect(tensor["variablesReference"], view="heatmap")["cells"]
    assert cells[0][:3] == [0.0, 1.0, 2.0]
