"""Elements of SVG, escaped by construction."""

import re

from markupsafe import Markup, escape

#: What XML cannot hold, and the characters that turn the direction of the text around them.
_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Return the element with these children: texts, which are escaped, and elements.

    A trailing underscore of an attribute's name is dropped and others become hyphens; attributes that are None are left
    out. ``viewBox`` and ``markerWidth`` keep their capitals.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(Markup(name.rstrip("_").replace("_", "-")), _safe(value))  # noqa: S704 - names of ours
        for name, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(_safe(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), written, inside)  # noqa: S704 - names of ours


def _safe(value: object) -> Markup:
    return value if isinstance(value, Markup) else escape(_UNSAFE.sub("\ufffd", _text(value)))


def _text(value: object) -> str:
    """Numbers with two digits after the point at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def image(ident: str, title: str, description: str, width: int, height: int, *children: str) -> Markup:
    """Return a whole picture, ``width`` by ``height``, with the name and the description that screen readers say.

    ``ident`` is unique on the page and has letters, digits and hyphens only.
    """
    return element(
        "svg",
        element("title", title, id=f"{ident}-title"),
        element("desc", description, id=f"{ident}-desc"),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        id=ident,
        class_="picture",
        role="img",
        aria_labelledby=f"{ident}-title",
        aria_describedby=f"{ident}-desc",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


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
