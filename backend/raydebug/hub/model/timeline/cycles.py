"""The steps of a job, inferred from what its parents call again and again.

Of a parent's calls, in the order of their submission, *group calls* are made: the calls of one method of one group, on
distinct members, side by side. A stretch of group calls that comes again and again is a cycle, and each of its
occurrences is a step. What comes between (a validation, a checkpoint) belongs to the step before; what came before the
first is prologue (where that ends as a step ends, so much of it looks like the first step's begin). A cycle is believed
only

- with two different calls at least: one method over and over is polling, or a pool at work;
- when it came MIN_REPEATS times, and so often that a shuffled parent wouldn't do it: the less a call is expected, the
  more its return says, so that 4 repeats of seven methods are enough, and 8 of two aren't;
- when it is most of what happens from its first to its last occurrence (COVERS), and not the inner loop of something
  longer (``_is_whole``).

A loop that polls two methods can't be told from a small training loop: it counts, as inferred. Of several readings and
parents the one whose cycle holds most tasks counts, but what was found before is kept as long as it still holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from raydebug.hub.model.timeline.columns import Int64s, Mask

MIN_REPEATS: Final = 4
COVERS: Final = 0.6
CHANCE: Final = 9.0
"""Odds of chance, in nats, at which a cycle is believed; more where there is more to find one in. By trial: one random
sequence in thousands has a cycle."""
MAX_PERIOD: Final = 256
WINDOW: Final = 1024
"""Cycles are looked for among the first and the last so many group calls of a parent, then followed through all."""
MAX_PARENTS: Final = 4
SLACK: Final = 16
"""Calls of other threads of the parent among the calls of a group call, where the plain reading finds less."""
GAP: Final = 3
"""A gap between two occurrences counts as so many of them at most: a validation may be long."""

Floats = npt.NDArray[np.float64]


class Calls(NamedTuple):
    """Calls of actors' methods, in any order: columns of equal length, ``submit`` as Unix ns, the others codes.
    ``group``: what the callee belongs to, a WorkerGroup or a class."""

    parent: Int64s
    submit: Int64s
    group: Int64s
    method: Int64s
    member: Int64s


class StepSpan(NamedTuple):
    """``end_ns`` None: it is the last one."""

    parent: int
    number: int
    start_ns: int
    end_ns: int | None


class _Sequence(NamedTuple):
    """Group calls of a parent, by submission. ``symbols``: which method of which group, from 0 on; ``size``: on how
    many members; ``merged``: no symbol follows itself."""

    symbols: Int64s
    at: Int64s
    size: Int64s
    merged: bool = False


class _Cycle(NamedTuple):
    """``starts``: indices of the occurrences' first calls; ``rest``: of the one that isn't complete yet."""

    pattern: tuple[int, ...]
    starts: Int64s
    rest: int | None
    share: float
    tasks: int

    def at(self, sequence: _Sequence) -> list[int]:
        found: list[int] = sequence.at[self.starts].tolist()
        return found if self.rest is None else [*found, int(sequence.at[self.rest])]


def infer(calls: Calls, before: Sequence[StepSpan] = ()) -> list[StepSpan]:
    """The steps of a job, none where nothing repeats. ``before``: what was found last time; a step keeps its number
    while calls come in, and when the oldest are dropped."""
    best: tuple[bool, int] | None = None
    parent_of_best, starts_of_best = 0, list[int]()
    known = np.array([span.start_ns for span in before], np.int64)
    for parent, sequence in _parents(calls):
        found = _read(sequence, known)
        if found is None:
            continue
        starts, cycle = found
        rank = (_agrees(starts, known), cycle.tasks)
        if best is None or rank > best:
            best, parent_of_best, starts_of_best = rank, parent, starts
    if best is None:
        return []
    numbers = itertools.count(_first_number(starts_of_best, before))
    ends = [*starts_of_best[1:], None]
    return [
        StepSpan(parent_of_best, number, start, end)
        for number, start, end in zip(numbers, starts_of_best, ends, strict=False)
    ]


def _first_number(starts: list[int], before: Sequence[StepSpan]) -> int:
    numbers = {span.start_ns: span.number for span in before}
    for nth, start in enumerate(starts):
        if start in numbers:
            return max(1, numbers[start] - nth)
    earlier = [span.number for span in before if starts and span.start_ns < starts[0]]
    return max(earlier, default=0) + 1


def _agrees(starts: list[int], known: Int64s) -> bool:
    held = known[known >= starts[0]]
    return bool(held.size) and 2 * int(np.isin(held, starts).sum()) > held.size


# Group calls --------------------------------------------------------------------------------------------------------


class _Raw(NamedTuple):
    symbols: Int64s
    at: Int64s
    members: Int64s


def _parents(calls: Calls) -> Iterator[tuple[int, _Raw]]:
    """The parents with most calls, each with its calls by submission."""
    if calls.submit.size < 2 * MIN_REPEATS:
        return
    values, parent = _dense(calls.parent)
    counts = np.bincount(parent)
    most = np.argsort(-counts, kind="stable")[:MAX_PARENTS]
    _, symbol = _dense(calls.group * (int(calls.method.max()) + 1) + calls.method)
    for code in most.tolist():
        if counts[code] < 2 * MIN_REPEATS:
            return
        rows = np.flatnonzero(parent == code)
        at = calls.submit[rows]
        if (at[1:] < at[:-1]).any():
            order = np.argsort(at, kind="stable")
            rows, at = rows[order], at[order]
        yield int(values[code]), _Raw(symbol[rows], at, calls.member[rows])


def _dense(codes: Int64s) -> tuple[Int64s, Int64s]:
    """The values that occur, and for each row the index of its own."""
    low, high = int(codes.min()), int(codes.max())
    if high - low > 4 * codes.size + 1024:
        values, dense = np.unique(codes, return_inverse=True)
        return values.astype(np.int64), np.asarray(dense, np.int64).reshape(-1)
    there = np.zeros(high - low + 1, np.bool_)
    there[codes - low] = True
    index = np.cumsum(there) - 1
    return np.flatnonzero(there) + low, index[codes - low].astype(np.int64)


def _read(raw: _Raw, known: Int64s) -> tuple[list[int], _Cycle] | None:
    """The best cycle of a parent, by the plainest reading of its calls that explains them."""
    best: tuple[list[int], _Cycle] | None = None
    for sequence in _readings(raw):
        cycle = _best_cycle(sequence, known)
        if cycle is None:
            continue
        starts = cycle.at(sequence)
        if best is None or _reads_better(starts, cycle, *best, known):
            best = starts, cycle
        if best[1].share > 0.995 and best[1].tasks > 0.9 * raw.at.size:
            break
    return best


def _reads_better(starts: list[int], cycle: _Cycle, others: list[int], other: _Cycle, known: Int64s) -> bool:
    """Whether a less plain reading is worth it: the same steps, or more, with less between them; or far more tasks.
    Not fewer steps: ranks that are called in turn would be taken for one group call."""
    agrees, other_agrees = _agrees(starts, known), _agrees(others, known)
    if agrees != other_agrees:
        return agrees
    clearer = cycle.share > other.share + 0.002 and len(starts) >= len(others)
    return clearer or cycle.tasks > 1.1 * other.tasks


def _readings(raw: _Raw) -> Iterator[_Sequence]:
    """Calls of a group call stand side by side; those of another thread may come between; and a method may be called
    now more often, now less, in a row."""
    plain = _group_calls(raw, 0)
    yield plain
    loose = _group_calls(raw, SLACK)
    if loose.symbols.size < plain.symbols.size:
        yield loose
    first = np.ones(loose.symbols.size, np.bool_)
    first[1:] = loose.symbols[1:] != loose.symbols[:-1]
    if first.all():
        return
    size = np.add.reduceat(loose.size, np.flatnonzero(first))
    yield _Sequence(loose.symbols[first], loose.at[first], size, merged=True)


def _group_calls(raw: _Raw, slack: int) -> _Sequence:
    """A group call ends before a member that it has already, and where more than ``slack`` other calls come between."""
    count = raw.symbols.size
    order = np.argsort(raw.symbols, kind="stable")
    symbols, members = raw.symbols[order], raw.members[order]
    new = np.ones(count, np.bool_)
    new[1:] = (symbols[1:] != symbols[:-1]) | (np.diff(order) > slack + 1)
    # The next call of the same symbol on the same member, of each.
    pairs = np.lexsort((members, symbols))
    again = np.full(count, count, np.int64)
    same = (symbols[pairs][1:] == symbols[pairs][:-1]) & (members[pairs][1:] == members[pairs][:-1])
    again[pairs[:-1][same]] = pairs[1:][same]
    end = np.minimum.accumulate(again[::-1])[::-1]
    breaks = np.where(new, np.arange(count), count)
    following = np.append(np.minimum.accumulate(breaks[::-1])[::-1][1:], count)
    begins = _chain(np.minimum(end, following))
    sizes = np.diff(np.append(begins, count))
    by_time = np.argsort(order[begins], kind="stable")
    rows = order[begins][by_time]
    return _Sequence(raw.symbols[rows], raw.at[rows], sizes[by_time])


def _chain(end: Int64s) -> Int64s:
    """0, where what begins there ends, and so on."""
    steps, at, found = end.tolist(), 0, []
    while at < len(steps):
        found.append(at)
        at = steps[at]
    return np.array(found, np.int64)


# Cycles -------------------------------------------------------------------------------------------------------------


def _best_cycle(sequence: _Sequence, known: Int64s) -> _Cycle | None:
    if sequence.symbols.size < 2 * MIN_REPEATS:
        return None
    nats = _nats(sequence.symbols)
    best: _Cycle | None = None
    for pattern in _candidates(sequence.symbols):
        cycle = _follow(sequence, _turned(sequence, pattern, known), nats)
        if cycle is not None and (best is None or _is_better(cycle, best)):
            best = cycle
    return best


def _is_better(cycle: _Cycle, than: _Cycle) -> bool:
    """``than`` is not longer. It is an inner loop where the longer one holds it once; where it is held more often, the
    longer one is a few steps and what comes after them; else they are two loops."""
    held = _times(than.pattern, cycle.pattern)
    if held == 0:
        return cycle.tasks > than.tasks
    return held == 1 and len(set(cycle.pattern)) > len(set(than.pattern))


def _times(inner: tuple[int, ...], outer: tuple[int, ...]) -> int:
    """How often a cycle holds another one, in any of its rotations, whatever else comes between."""
    length = len(inner)
    outer = tuple(symbol for symbol in outer if symbol in inner)
    around = outer + outer[: length - 1]
    rotations = {inner[at:] + inner[:at] for at in range(length)}
    found = at = 0
    while at < len(outer):
        if around[at : at + length] in rotations:
            found, at = found + 1, at + length
        else:
            at += 1
    return found


def _nats(symbols: Int64s) -> Floats:
    """-ln of how often each symbol comes."""
    return -np.log(np.maximum(np.bincount(symbols), 1) / symbols.size)


def _candidates(symbols: Int64s) -> list[tuple[int, ...]]:
    """Stretches that follow themselves at once, shortest first; no two are rotations of each other."""
    windows = [symbols] if symbols.size <= 2 * WINDOW else [symbols[:WINDOW], symbols[-WINDOW:]]
    # What comes every second step parts all stretches: looked for without what is rare, too.
    windows += [often for window in windows if (often := _without_rare(window)).size < window.size]
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for period in range(2, min(MAX_PERIOD, len(windows[0]) // 2) + 1):
        for window in windows:
            if window.size < 2 * period:
                continue
            equal = window[:-period] == window[period:]
            running = np.cumsum(equal)
            if running[-1] < period or (running[period:] - running[:-period]).max(initial=running[period - 1]) < period:
                continue
            pattern = _stretch(window, equal, period)
            if pattern is not None and len(set(pattern)) > 1 and _is_primitive(pattern):
                found.setdefault(_canonical(pattern), pattern)
    return list(found.values())


def _without_rare(symbols: Int64s) -> Int64s:
    counts = np.bincount(symbols)
    return symbols[counts[symbols] >= 0.75 * np.median(counts[counts > 1])] if (counts > 1).any() else symbols


def _stretch(window: Int64s, equal: Mask, period: int) -> tuple[int, ...] | None:
    """The cycle of this period that comes first: it begins where the prologue ends. Where there is none, since the
    oldest calls are gone, it begins where it does after most of its interruptions."""
    edges = np.flatnonzero(np.diff(equal.view(np.int8), prepend=0, append=0))
    begins, lengths = edges[::2], edges[1::2] - edges[::2]
    if lengths.size == 0 or lengths.max() < period:
        return None
    long = begins[lengths >= min(lengths.max(), (MIN_REPEATS - 1) * period)]
    pattern = tuple(window[long[0] : long[0] + period].tolist())
    if long[0] > 0:
        return pattern
    others = [tuple(window[at : at + period].tolist()) for at in begins[lengths >= period][1:].tolist()]
    votes = {other: others.count(other) for other in others if _canonical(other) == _canonical(pattern)}
    if votes:
        most = max(votes, key=lambda one: votes[one])
        if votes[most] > 1 and 2 * votes[most] > len(others):
            return most
    return pattern


def _canonical(pattern: tuple[int, ...]) -> tuple[int, ...]:
    least = min(pattern)
    return min(pattern[at:] + pattern[:at] for at, symbol in enumerate(pattern) if symbol == least)


def _is_primitive(pattern: tuple[int, ...]) -> bool:
    """Whether it isn't a shorter one several times."""
    length = len(pattern)
    return not any(
        length % part == 0 and pattern == pattern[:part] * (length // part) for part in range(1, length // 2 + 1)
    )


def _turned(sequence: _Sequence, pattern: tuple[int, ...], known: Int64s) -> tuple[int, ...]:
    """The rotation under which a cycle begins where it did before; at first, the one that comes first."""
    if known.size == 0:
        return _first_turn(sequence.symbols, pattern)
    at = np.minimum(np.searchsorted(sequence.at, known), sequence.at.size - 1)
    at = at[sequence.at[at] == known]
    if at.size == 0:
        return pattern
    first = int(np.bincount(sequence.symbols[at]).argmax())
    turns = [pattern[turn:] + pattern[:turn] for turn, symbol in enumerate(pattern) if symbol == first]
    if len(turns) < 2:
        return turns[0] if turns else pattern
    starts = [_begins(sequence.symbols, turn) for turn in turns]
    return turns[max(range(len(turns)), key=lambda one: int(np.isin(at, starts[one]).sum()))]


def _first_turn(symbols: Int64s, pattern: tuple[int, ...]) -> tuple[int, ...]:
    places, plain = _side_by_side(symbols, pattern)
    if plain.size == 0:
        return pattern
    length = len(pattern)
    rotations = {pattern[at:] + pattern[:at] for at in range(length)}
    begin = max(0, int(plain[0]) - 4 * length)
    ours = tuple(symbols[places[begin : plain[0] + length]].tolist())
    for at in range(int(plain[0]) - begin):
        if ours[at : at + length] in rotations:
            # Where it is the very first call nothing says that a step begins there: the oldest calls may be gone.
            return ours[at : at + length] if places[begin + at] else pattern
    return pattern


def _follow(sequence: _Sequence, pattern: tuple[int, ...], nats: Floats) -> _Cycle | None:
    """A cycle through all of a parent's group calls, if it is one to be believed."""
    length = len(pattern)
    expected = nats[list(pattern)]
    if sequence.merged:
        # After a call the same one can't come.
        expected = expected + np.log1p(-np.exp(-np.roll(nats[list(pattern)], 1)) + 1e-12)
    needed = CHANCE + 2 * math.log(sequence.symbols.size)

    def told(starts: Int64s, share: float) -> float:
        return float((starts.size - 1) * expected.sum() - _choice(share) * length * starts.size / share)

    places, plain = _side_by_side(sequence.symbols, pattern)
    if told(*_densest(places[plain], length)[:2]) < needed / 2:
        return None
    starts, rest = _with_extras(sequence.symbols[places], pattern, plain)
    starts = places[starts]
    found, share, last = _densest(starts, length)
    if found.size < MIN_REPEATS or told(found, share) < needed:
        return None
    if not _is_whole(sequence.symbols[found[0] : found[-1] + length], pattern, found.size, share):
        return None
    going = None if rest is None or last < starts.size - 1 else int(places[rest])
    tasks = int(sequence.size[found[0] : found[-1] + length].mean() * length * found.size)
    return _Cycle(pattern, found, going, share, tasks)


def _choice(share: float) -> float:
    """What it says, in nats a call, which calls belong to the cycle and which come between."""
    return -share * math.log(share) - (1 - share) * math.log1p(-share) if share < 1 else 0.0


def _is_whole(symbols: Int64s, pattern: tuple[int, ...], repeats: int, share: float) -> bool:
    """Not the inner loop of a longer cycle: nearly all that happens, or nearly all kinds of what happens not rarely."""
    if share >= 0.85:
        return True
    kinds = np.count_nonzero(np.bincount(symbols) >= max(2, repeats / 16))
    return len(set(pattern)) >= 0.75 * int(kinds)


def _densest(starts: Int64s, length: int) -> tuple[Int64s, float, int]:
    """Those of the occurrences between which most is explained; how much; and which is the last."""
    if starts.size == 0:
        return starts, 1.0, -1
    gaps = np.minimum(np.diff(starts) - length, GAP * length)
    nth = np.arange(starts.size)
    place = np.append(0, np.cumsum(gaps + length))
    before = length * nth - COVERS * place
    after = length * (nth + 1) - COVERS * (place + length)
    last = int(np.argmax(after - np.minimum.accumulate(before)))
    first = int(np.argmin(before[: last + 1]))
    share = length * (last - first + 1) / (place[last] + length - place[first])
    return starts[first : last + 1], float(share), last


def _side_by_side(symbols: Int64s, pattern: tuple[int, ...]) -> tuple[Int64s, Int64s]:
    """Where a pattern's symbols are; and where among these it begins, with no other of them between its own."""
    used = np.zeros(int(symbols.max()) + 1, np.bool_)
    used[list(pattern)] = True
    places = np.flatnonzero(used[symbols])
    ours = symbols[places]
    here = np.flatnonzero(ours[: max(0, ours.size - len(pattern) + 1)] == pattern[0])
    for at in range(1, len(pattern)):
        here = here[ours[here + at] == pattern[at]]
    return places, _apart(here, len(pattern))


def _begins(symbols: Int64s, pattern: tuple[int, ...]) -> Int64s:
    places, plain = _side_by_side(symbols, pattern)
    return places[plain]


def _with_extras(ours: Int64s, pattern: tuple[int, ...], plain: Int64s) -> tuple[Int64s, int | None]:
    """Where a pattern begins, also where its own symbols come once more between; and where the last one does that isn't
    complete yet."""
    found = [plain]
    ends = np.append(0, plain + len(pattern))
    begins = np.append(plain, ours.size)
    longest = 0
    going: tuple[int, int] | None = None
    for gap in np.flatnonzero(begins > ends).tolist():
        more, abandoned, going = _walk(ours[ends[gap] : begins[gap]].tolist(), pattern)
        found.append(np.array(more, np.int64) + ends[gap])
        is_last = gap == plain.size
        if gap:
            longest = max(longest, abandoned, going[1] if going and not is_last else 0)
        if going is not None:
            going = (int(ends[gap]) + going[0], going[1]) if is_last else None
    starts = np.sort(np.concatenate(found))
    # A validation may begin as a step does: the last one counts when it is longer than what has ended so before.
    return starts, going[0] if going and going[1] > longest else None


def _apart(here: Int64s, length: int) -> Int64s:
    """Those that don't overlap, from the first one on."""
    if (np.diff(here) >= length).all():
        return here
    taken, free = [], 0
    for at in here.tolist():
        if at >= free:
            taken.append(at)
            free = at + length
    return np.array(taken, np.int64)


def _walk(symbols: list[int], pattern: tuple[int, ...]) -> tuple[list[int], int, tuple[int, int] | None]:
    """Where a pattern begins that has calls too many; how far the furthest came that then began anew; and the one that
    goes on at the end: where it begins, how far it is."""
    starts: list[int] = []
    begin, done, furthest = 0, 0, 0
    for at, symbol in enumerate(symbols):
        if done and at - begin >= 2 * len(pattern):
            furthest, done = max(furthest, done), 0
        if symbol == pattern[done]:
            begin = begin if done else at
            done += 1
            if done == len(pattern):
                starts.append(begin)
                done = 0
        elif symbol == pattern[0]:
            furthest, begin, done = max(furthest, done), at, 1
    return starts, furthest, (begin, done) if done else None
