from __future__ import annotations

import subprocess
import sys

import pytest

from raydebug.api.helper import Title
from raydebug.helper import titles
from raydebug.helper.titles import TitleSampler, readable
from tests.support.cluster import wait_for


class Processes:
    """Process tables by hand: a file belongs to a process, not to its number."""

    def __init__(self) -> None:
        self.titles: dict[int, bytes] = {}
        self.files: list[int] = []
        self.dead: set[int] = set()

    def open(self, pid: int) -> int:
        if pid not in self.titles:
            raise FileNotFoundError(pid)
        self.files.append(pid)
        return 1000 + len(self.files) - 1

    def read(self, fd: int) -> bytes:
        return b"" if fd in self.dead else self.titles[self.files[fd - 1000]]


def test_titles_change(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Processes()
    table.titles = {10: b"ray::IDLE\0\0\0", 11: b"python\0train.py\0"}
    closed: list[int] = []
    monkeypatch.setattr(titles, "close", closed.append)
    sampler = TitleSampler(table.open, table.read)
    assert sampler.watch([10, 11, 12]) == [12]
    assert sampler.all() == [Title(10, "ray::IDLE", None), Title(11, "python train.py", None)]
    assert sampler.sample(1) is None
    table.titles[10] = b"ray::A.step\0"
    news = sampler.sample(2)
    assert news is not None
    assert news.changed == [Title(10, "ray::A.step", 2)]
    assert news.gone == []
    assert sampler.all()[0] == Title(10, "ray::A.step", 2)

    # the process ends; its number goes to another one
    table.dead.add(1000)
    assert sampler.sample(3) is None  # in exec a title is empty for an instant
    news = sampler.sample(3)
    assert news is not None
    assert (news.changed, news.gone) == ([], [10])
    assert 10 not in sampler
    assert closed == [1000]
    assert sampler.watch([10, 11]) == []
    assert sampler.all()[-1] == Title(10, "ray::A.step", None)

    sampler.watch([])
    assert len(sampler) == 0
    assert sorted(closed) == [1000, 1001, 1002]


def test_readable() -> None:
    assert readable(b"a\0b\0\0\0") == "a b"
    assert readable(b"\xff") == "�"


def test_a_real_process_that_ends() -> None:
    sampler = TitleSampler()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert sampler.watch([child.pid]) == []
        wait_for("its title", lambda: sampler.sample(1) or any("input()" in t.title for t in sampler.all()))
        child.kill()
    wait_for("its end", lambda: child.pid not in sampler or (sampler.sample(1) and None))
