"""Bars in the rows of a table, beside the numbers that they show."""

from markupsafe import Markup

from baremetal_sched.ui.pictures.markup import element

_WIDTH, _HEIGHT = 160, 14


def bar(part: int, whole: int, *, alone: int = 0) -> Markup:
    """Return a bar that is as long as ``part`` of ``whole``; ``alone``, of the part, is a second bar within it.

    It is hidden from screen readers, which read the numbers in the same row of the table. What is more than nothing is
    seen, however small.
    """
    return element(
        "svg",
        element("rect", class_="bar-ground", width=_WIDTH, height=_HEIGHT, rx=2),
        element("rect", class_="bar", width=_length(part, whole), height=_HEIGHT, rx=2),
        element("rect", class_="bar-alone", y=_HEIGHT - 5, width=_length(min(alone, part), whole), height=5),
        xmlns="http://www.w3.org/2000/svg",
        class_="bar-picture",
        aria_hidden="true",
        focusable="false",
        width=_WIDTH,
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
    )


def _length(part: int, whole: int) -> float:
    if part <= 0 or whole <= 0:
        return 0.0
    return max(1.0, min(part / whole, 1.0) * _WIDTH)
