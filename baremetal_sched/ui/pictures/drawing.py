"""Templates of SVG into pictures, and numbers and names as pictures show them."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

#: What XML cannot hold, and the characters that turn the direction of the text around them.
_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def make_environment(**options: Any) -> Environment:
    """Return an environment of the templates of pages and pictures."""
    return Environment(
        loader=PackageLoader("baremetal_sched.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )


@cache
def _environment() -> Environment:
    environment = make_environment(finalize=_written)
    environment.filters.update(compact=compact, shortened=shortened)
    return environment


def draw(template: str, **values: Any) -> Markup:
    """Return the picture that a template in ``pictures/`` makes of ``values``. Texts are escaped by the template."""
    text = _environment().get_template(f"pictures/{template}.svg").render(values)
    return Markup(text)  # noqa: S704 - the template escapes


def _written(value: Any) -> Any:
    """Return a value as templates write it: numbers with at most two digits after the point, texts without what XML
    cannot hold."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return value if isinstance(value, Markup | int) else _UNSAFE.sub("\ufffd", value)


def shortened(text: str, most: int) -> str:
    """Return ``text`` with at most ``most`` characters, the last one an ellipsis if something is left out."""
    return text if len(text) <= most else text[: most - 1] + "…"


def compact(number: int) -> str:
    """Return ``number`` in at most five characters, up to a trillion: 9999, 10k, 1.2M."""
    if number < 10_000:
        return str(number)
    size, unit = next(
        ((size, unit) for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")) if number >= size), (1000, "k")
    )
    # Rounded down: more machines than there are would be a promise that cannot be kept.
    tenths = number * 10 // size
    return f"{tenths // 10}{unit}" if tenths >= 100 or tenths % 10 == 0 else f"{tenths / 10}{unit}"


def percent(share: float) -> str:
    """Return a share from 0 to 1 as text, with a digit after the point."""
    return f"{share * 100:.1f} %"
