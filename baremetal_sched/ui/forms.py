"""The parameters of a list, as the form of a page submits them."""

from collections.abc import Collection
from typing import Any

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery

#: In a form, an empty conductor group means any; this is the one without a name. No group can have it for a name.
DEFAULT_GROUP = "(default)"


class FormQuery(BaremetalQuery):
    """The parameters of a form, in which the conductor group without a name is written as DEFAULT_GROUP."""

    def text(self, name: str) -> str | None:
        text = super().text(name)
        return "" if name == "conductor_group" and text is not None and text.lower() == DEFAULT_GROUP else text


def submitted(call: BaremetalCall, known: Collection[str]) -> FormQuery:
    """Return the parameters of the request, of which only those in ``known`` are allowed.

    Controls that were left empty do not count. Traits may be separated by blanks too. Raises InvalidValue.
    """
    call.refuse_unknown(known)
    call.query = [(name, _tidy(name, value)) for name, value in call.query if value.strip()]
    return FormQuery(call, known)


def _tidy(name: str, value: str) -> str:
    if name in TRAIT_FILTERS:
        return ",".join(value.replace(",", " ").split())
    return value.strip()


def without(pairs: Collection[tuple[str, str]], *names: str) -> dict[str, Any]:
    """Return the parameters except for ``names``, for an address; repeated ones as lists."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in names:
            found.setdefault(name, []).append(value)
    return found
