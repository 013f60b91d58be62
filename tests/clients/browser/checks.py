"""Checks for every page, whatever it shows; ``checks.js`` looks, in the page."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_CHECKS = Path(__file__).with_name("checks.js").read_text().strip()


def ask(page: Page, name: str) -> Any:
    """Return what a function of ``checks.js`` says of the page."""
    # Scripts of the page are forbidden; this one comes from outside.
    return page.evaluate(f"{_CHECKS}.{name}()")


def contrast(page: Page) -> list[str]:
    """Return the texts whose contrast with what is behind them is below 4.5."""
    found: list[str] = ask(page, "contrast")
    return found


def structure(page: Page) -> list[str]:
    """Return what a screen reader, or a strict Content-Security-Policy, would miss."""
    found: list[str] = ask(page, "structure")
    return found


def width(page: Page) -> list[str]:
    """Return what does not fit into the window, and what scrolls without being within reach of the keyboard."""
    found: list[str] = ask(page, "width")
    return found


def focused(page: Page) -> dict[str, Any] | None:
    """Return ``tag``, ``name``, ``href`` of the element with the focus, and whether that can be ``seen``; None if no
    element has it."""
    found: dict[str, Any] | None = ask(page, "focused")
    return found
