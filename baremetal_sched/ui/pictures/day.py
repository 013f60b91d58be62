"""A day of a resource class: machines in use, free ones on top of these, and a line of the requests that wait."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from baremetal_sched.ui.pictures.drawing import draw

#: Samples of a day, seconds between two of them, and the width of each.
SAMPLES, EVERY, _STEP = 144, 600, 2
_HEIGHT = 48


@dataclass(frozen=True)
class DaySample:
    """How many machines were free and in use at a time (seconds since 1970), and how many requests waited."""

    at: int
    free: int
    in_use: int
    waiting: int


def day(ident: str, title: str, samples: Sequence[DaySample], begins: int) -> Markup:
    """Return the picture of the day that begins at this time; ``samples`` are in order. Where there is none, it is
    empty."""
    most = max((max(each.free + each.in_use, each.waiting) for each in samples), default=0) or 1

    def level(number: int) -> float:
        return _HEIGHT - number * (_HEIGHT - 2) / most

    used = "".join(
        f"M{left} {_HEIGHT}V{level(number):.1f}H{right}V{_HEIGHT}Z"
        for left, right, number in _runs(samples, begins, [each.in_use for each in samples])
    )
    machines = "".join(
        f"M{left} {_HEIGHT}V{level(number):.1f}H{right}V{_HEIGHT}Z"
        for left, right, number in _runs(samples, begins, [each.in_use + each.free for each in samples])
    )
    waiting = "".join(
        f"M{left} {level(number):.1f}H{right}"
        for left, right, number in _runs(samples, begins, [each.waiting for each in samples])
    )
    return draw(
        "day",
        ident=ident,
        title=title,
        description=_description(samples),
        width=SAMPLES * _STEP,
        height=_HEIGHT,
        used=used,
        machines=machines,
        waiting=waiting,
    )


def _runs(samples: Sequence[DaySample], begins: int, numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield from where to where a number above zero stayed the same, without a gap."""
    left = right = number = 0
    for sample, own in zip(samples, numbers, strict=True):
        place = min(max((sample.at - begins) // EVERY, 0), SAMPLES - 1) * _STEP
        if place != right or own != number:
            if number:
                yield left, right, number
            left, number = place, own
        right = place + _STEP
    if number:
        yield left, right, number


def _description(samples: Sequence[DaySample]) -> str:
    if not samples:
        return "Nothing is known of the last day yet."
    last, free = samples[-1], [each.free for each in samples]
    used, waiting = (max(getattr(each, name) for each in samples) for name in ("in_use", "waiting"))
    return (
        f"At the last count {last.free} free, {last.in_use} in use, {last.waiting} waiting. "
        f"In the last day {min(free)} to {max(free)} free, at most {used} in use, at most {waiting} waiting."
    )
