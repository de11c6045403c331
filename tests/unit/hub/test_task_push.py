"""What a node's helper says of its events: what is missing is noticed, whatever lost it."""

from __future__ import annotations

import pytest

from raydebug.api.helper import Events
from raydebug.hub.sources.task_push import _Node


def events(first: int = 1, count: int = 0, epoch: str = "a", agent: int = 0, helper: int = 0) -> Events:
    return Events(
        epoch=epoch, first=first, data=[b""] * count, problem=None, dropped_agent=agent, dropped_helper=helper
    )


@pytest.fixture
def node() -> _Node:
    """One of which 1 and 2 have come."""
    found = _Node()
    assert found.lost(events(1, 2))  # what came before isn't here
    found.next = 3
    return found


def test_in_order_nothing_is_missing(node: _Node) -> None:
    assert not node.lost(events(3, 2))
    assert not node.lost(events())


@pytest.mark.parametrize(
    "told",
    [
        events(4, 1),
        events(1, 1, epoch="b"),
        events(3, 1, agent=5),
        events(3, 1, helper=5),
        events(agent=5),
        events(helper=5),
    ],
)
def test_what_is_missing_is_noticed_once(node: _Node, told: Events) -> None:
    assert node.lost(told)
    node.next = told.first + len(told.data)
    assert not node.lost(told) or told.data


def test_drops_of_a_helper_that_is_gone_stay_counted(node: _Node) -> None:
    node.lost(events(3, 1, agent=2, helper=5))
    node.lost(events(1, 1, epoch="b", agent=2, helper=1))
    node.lost(events(2, 1, epoch="b", agent=4, helper=1))
    assert node.dropped == 4 + 5 + 1
