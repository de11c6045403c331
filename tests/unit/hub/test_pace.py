"""How often sources ask."""

from __future__ import annotations

from raydebug.hub.sources.pace import Pace


def test_what_is_cheap_is_asked_at_the_shortest_period() -> None:
    pace = Pace(least_s=0.1)
    assert pace.period_s == 0.1
    assert [pace.pause_after(0.002) for _ in range(9)] == [0.1] * 9


def test_slow_answers_of_a_busy_machine_change_nothing() -> None:
    pace = Pace(least_s=0.1)
    pace.pause_after(0.002)
    assert [pace.pause_after(took) for took in (1.5, 0.3, 0.003, 2, 2, 0.004)] == [0.1] * 6


def test_what_is_dear_each_time_takes_its_share_and_no_more() -> None:
    pace = Pace(least_s=0.1, share=0.05, most_s=60)
    for _ in range(5):
        pace.pause_after(0.2)
    assert abs(pace.period_s - 4) < 1e-9
    for _ in range(5):
        pace.pause_after(30)
    assert pace.period_s == 60
    pace.pause_after(0.001)
    assert pace.period_s == 0.1
