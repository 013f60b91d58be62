"""What bodies and query strings ask for: machines by a query of placement, by a flavor and an image, or as a bare metal
allocation does. Explanations and claims read them alike."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.allocations.allocation_choice import Wanted
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE, TraitEntry
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.compute.hosts.host_choice import HostRequest
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.explain.context import VERSION
from baremetal_sched.placement.candidates.request import query as queries
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.query_values import candidates_schema
from baremetal_sched.placement.schemas.common import validation_error
from baremetal_sched.scheduling import dry_run
from baremetal_sched.web import body
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BadRequest

#: Parameters of a query that a group may have of its own.
_GROUPED = ("resources", "required", "member_of", "in_tree")

Pairs = Sequence[tuple[str, str]]


def body_of(call: Call) -> dict[str, Any]:
    """Return the body of the call, an object. Raises BadRequest, InvalidValue."""
    call.refuse_query()
    asked = call.json
    if not isinstance(asked, dict):
        raise InvalidValue(message="The body has to be an object with query, with flavor, or with resource_class.")
    return asked


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Return names and values of a query string. Raises BadRequest if it is not UTF-8 or holds a NUL."""
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadRequest(message="The query is not valid UTF-8.") from None
    for name, value in pairs:
        body.check_text(name)
        body.check_text(value)
    return pairs


def parse_query(pairs: Pairs) -> CandidateRequest:
    """Return the request of a query as the placement API reads it. Raises BadQuery, InvalidValue."""
    wrong = _mistake(pairs)
    if wrong is not None:
        raise InvalidValue(message=wrong)
    request: CandidateRequest = queries.parse(list(pairs), VERSION)
    return request


def _mistake(pairs: Pairs) -> str | None:
    """Return a sentence about the first mistake in a query; None if there is none."""
    schema = candidates_schema(VERSION)
    for name, value in pairs:
        wrong = validation_error({name: value}, schema, query=True)
        if wrong is None:
            continue
        known = [*_GROUPED, *schema["properties"]]
        if name in known or re.match("|".join(schema["patternProperties"]), name):
            # Behind the first line is the schema.
            return f"The parameter {name} of the query is not valid: {wrong.partition(chr(10))[0]}."
        return (
            f"The query has no parameter {name!r}, only {', '.join(known)}, of which the first {len(_GROUPED)} may end "
            "with the name of a group."
        )
    return None


def server_request(session: Session, asked: Mapping[str, Any], project: str | None) -> HostRequest:
    """Return what a server of this flavor and image asks for; ``project``: who has to see them, None: anyone.

    Raises what ``dry_run.host_request`` raises.
    """
    volume = asked.get("boot_from_volume", False)
    request = dry_run.DryRunRequest(asked["flavor"], asked.get("image"), volume, limit=1, project=project)
    return dry_run.host_request(session, request)


def allocation_values(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an allocation that are given and not empty. Raises InvalidValue."""
    values = {name: value for name, value in load(ALLOCATION_CREATE, dict(asked), "body").items() if value}
    if values.get("node"):
        raise InvalidValue(message="An allocation for a given node is not explained: ask for the node's availability.")
    if not values.get("resource_class"):
        raise InvalidValue(message="The body has to have query, flavor, or the resource_class of an allocation.")
    return values


def allocation_request(
    session: Session, values: Mapping[str, Any], project: str | None, *, unrestricted: bool = False
) -> Wanted:
    """Return what an allocation of ``project`` asks for; None: of one who may use all nodes, like the ``owner`` that is
    given, if any, unless the caller is ``unrestricted``. Raises InvalidValue."""
    owner = values.get("owner")
    if project is None:
        any_node = unrestricted or owner is None
        named, eligible = EVERYTHING, EVERYTHING if any_node else Visibility(owner)
    else:
        # As of their own allocations, whose owner is their project.
        named = eligible = Visibility(project)
        if owner not in (None, project):
            raise InvalidValue(message="The owner has to be your own project.")
    nodes = allocations.uuids_of(session, values.get("candidate_nodes", ()), named)
    entries = [TraitEntry(text) for text in values.get("traits", ())]
    return Wanted(values["resource_class"], entries, nodes, owner, values.get("name"), eligible=eligible)
