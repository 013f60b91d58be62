"""One line of the table of pages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from baremetal_sched.web.route import Route, View


@dataclass(frozen=True)
class Page:
    """A page at ``path`` below ``/ui``. ``policy``: the rule of the API whose data it shows, which must be met.

    ``label``: its name in the navigation; None: it is not there. ``checks_policy``: its view checks the rule, as that
    depends on what is shown. ``transaction``: as that of a route.
    """

    path: str
    view: View
    policy: str
    label: str | None = field(default=None, kw_only=True)
    checks_policy: bool = field(default=False, kw_only=True)
    transaction: Literal["read", "select"] = field(default="read", kw_only=True)


def routes_of(pages: Iterable[Page]) -> Iterator[Route]:
    """Return the routes of the pages: each is asked for by GET or HEAD."""
    for page in pages:
        for method in ("GET", "HEAD"):
            yield Route(
                method,
                page.path,
                page.view,
                transaction=page.transaction,
                policy=page.policy,
                checks_policy=page.checks_policy,
            )
