"""The end that a request names: at every door the same texts, limits, errors and rule."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oslo_policy import policy
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import use
from baremetal_sched.db.clock import seconds_of
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement import ends
from baremetal_sched.placement.ends import LONGEST, AskedEnd, End
from baremetal_sched.web.call import Call

SET_END_ALL = "scheduling:claims:set_end_all"

#: The rule about the limits of ends, which the scheduling API has.
END_RULES = (
    policy.RuleDefault(
        SET_END_ALL,
        "(role:admin and system_scope:all) or role:service",
        description="Set any end of a claim, a server or an allocation, or none: beyond the default and the limits of "
        "``[scheduling]``, and while others wait",
        scope_types=["system", "project"],
    ),
)


#: A number as text: Python reads others, too.
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


def asked_end(values: Mapping[str, Any]) -> AskedEnd:
    """Return the end that a request names among these values: ``until`` (a time in ISO 8601, or None) or ``for``
    (seconds, a number or its text), and the ``booking`` (a UUID) under which it claims. Raises InvalidValue."""
    booking = values.get("booking")
    if booking is not None:
        uuid = canonical_uuid(booking) if isinstance(booking, str) else None
        if uuid is None:
            raise InvalidValue(message=f"booking must be the UUID of a booking, and not {str(booking)[:64]!r}.")
        return replace(asked_end({**values, "booking": None}), booking=uuid)
    named = {"until", "for"} & values.keys()
    if len(named) > 1:
        raise InvalidValue(message="Give until or for, not both.")
    until, seconds = values.get("until"), values.get("for")
    if seconds is None:
        return AskedEnd(at=seconds_of("until", None if until is None else str(until)), is_named=bool(named))
    try:
        number = float(seconds)
        is_number = _NUMBER.fullmatch(seconds) if isinstance(seconds, str) else not isinstance(seconds, bool)
        if not is_number or not 0 < number <= LONGEST:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            message=f"for must be a number of seconds above 0, at most {LONGEST}, and not {str(seconds)[:64]!r}."
        ) from None
    return AskedEnd(seconds=number, is_named=True)


def granted_end(
    call: Call,
    session: Session,
    asked: AskedEnd,
    began_at: float | None = None,
    *,
    project: str = "",
    waits: bool = False,
    locks: bool = True,
) -> End | None:
    """Return the end of a request that the caller makes; None if it has none. ``began_at`` as in ``ends.granted``. If
    it names a booking, this must be one of the ``project`` of the consumer, and the limits of claims do not apply;
    ``waits`` and ``locks`` as in ``use.end_under``.

    Raises EndsNotServed, InvalidValue, NotAllowed if it names none although the settings have a default, and like
    ``use.end_under``.
    """
    if asked.booking is not None:
        return use.end_under(session, call.settings, asked, project, waits=waits, locks=locks)
    # In their own scope: the compute API knows administrators of projects only.
    caller = call.unscoped or call.caller
    if asked == AskedEnd(is_named=True) and call.settings.scheduling.default_claim:
        call.policy.require(caller, SET_END_ALL, call.target)
    is_bound = not asked.is_named or not call.policy.allows(caller, SET_END_ALL, call.target)
    return ends.granted(session, call.settings, asked, began_at, is_bound=is_bound)
