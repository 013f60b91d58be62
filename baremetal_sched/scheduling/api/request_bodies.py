"""Bodies and query strings that ask for machines: by a query of placement, by a flavor and an image, or as a bare metal
allocation does. Claims and explanations read them alike."""

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.ends import asked_end, granted_end
from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.matching.node_request import NodeRequest, uuids_of
from baremetal_sched.baremetal.matching.request import MachineRequest
from baremetal_sched.baremetal.matching.spreading import MEMBERS, STRICT_END, Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE, TraitEntry
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility, usable_by
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.schemas.form import Form
from baremetal_sched.db.transaction import Database
from baremetal_sched.documents.schema import canonical_uuid, load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement.candidates.request import query as queries
from baremetal_sched.placement.ends import AskedEnd, End
from baremetal_sched.placement.query_values import candidates_schema
from baremetal_sched.placement.schemas.common import validation_error
from baremetal_sched.scheduling import dry_run
from baremetal_sched.scheduling.api.policies import CLAIM, CLAIM_ALL
from baremetal_sched.scheduling.api.webhook_makers import Makers
from baremetal_sched.scheduling.claims import NewClaim
from baremetal_sched.scheduling.decisions import Decisions
from baremetal_sched.scheduling.schemas.answers import said
from baremetal_sched.scheduling.schemas.claims import CLAIM_BY_FLAVOR, CLAIM_BY_QUERY, CLAIM_LIKE_ALLOCATION
from baremetal_sched.scheduling.schemas.ends import ENDS
from baremetal_sched.scheduling.schemas.explanations import ASKED, QUERY, SERVER, WANTED
from baremetal_sched.web import body
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BadRequest

#: Parameters of a query that a group may have of its own.
_GROUPED = ("resources", "required", "member_of", "in_tree")

_SCHEMA = candidates_schema(QUERY_VERSION)
_SENTENCES = {
    "group_policy": "Whether groups with a suffix may have the same provider (none), or not (isolate).",
    "limit": "Accepted, but has no effect; use wanted.",
    "root_required": "Traits of the root of the tree.",
    "same_subtree": "Groups that must be in one subtree.",
    "resources": "Amounts by class, with or without a suffix.",
    "required": "Required traits, forbidden traits (!), and lists of traits of which one is required (in:), with or "
    "without a suffix.",
    "member_of": "Aggregates, with or without a suffix.",
    "in_tree": "A provider of the tree, with or without a suffix.",
}
_GROUPS = {
    pattern: said(_SENTENCES[pattern.strip("^").partition("(")[0]], each)
    for pattern, each in _SCHEMA["patternProperties"].items()
}
#: The parameters of a query by name, and as groups together those whose names have suffixes.
QUERY_PARAMETERS = {
    **{name: said(_SENTENCES[name], each) for name, each in _SCHEMA["properties"].items()},
    "groups": said(
        "The conditions on providers, with the suffix of a group or without one.",
        {"type": "object", "patternProperties": _GROUPS, "additionalProperties": False},
    ),
}

Pairs = Sequence[tuple[str, str]]


def body_of(call: Call) -> dict[str, Any]:
    """Return the body of the call, an object. Raises BadRequest, InvalidValue."""
    document = call.json
    if not isinstance(document, dict):
        raise InvalidValue(message="The body must be an object with query, with flavor, or with resource_class.")
    return document


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


def query_request(pairs: Pairs, project: str | None) -> TreeRequest:
    """Return the request of a query as the placement API reads it, without its limit.

    ``project``: only nodes that it may use count; None: all do. The order of different parameters does not matter.
    Raises BadQuery, InvalidValue.
    """
    wrong = _mistake(pairs)
    if wrong is not None:
        raise InvalidValue(message=wrong)
    queries.parse(list(pairs), QUERY_VERSION)
    kept = sorted((pair for pair in pairs if pair[0] != "limit"), key=lambda pair: pair[0])
    return TreeRequest(urlencode(kept, safe=":,!"), served=False, version=QUERY_VERSION, project=project)


def _mistake(pairs: Pairs) -> str | None:
    """Return a sentence about the first mistake in a query; None if there is none."""
    for name, value in pairs:
        wrong = validation_error({name: value}, _SCHEMA, query=True)
        if wrong is None:
            continue
        known = [*_GROUPED, *_SCHEMA["properties"]]
        if name in known or re.match("|".join(_SCHEMA["patternProperties"]), name):
            # Behind the first line is the schema.
            return f"The parameter {name} of the query is not valid: {wrong.partition(chr(10))[0]}."
        return (
            f"The query has no parameter {name!r}, only {', '.join(known)}. The first {len(_GROUPED)} may end with the "
            "name of a request group."
        )
    return None


# -- requests ----------------------------------------------------------------------------------------------------------

#: Returns a request, for which flavors, images and nodes are read from the database.
Resolve = Callable[[Session], MachineRequest]


@dataclass(frozen=True)
class RequestForms:
    """The forms of bodies that ask for a machine.

    ``besides``: members that do not belong to the request. ``whole``: whether ``like_allocation`` is the form of a
    whole body, and not only of these.
    """

    by_query: Form
    by_flavor: Form
    like_allocation: Form
    besides: tuple[str, ...]
    whole: bool


_OF_CLAIMS = ("consumer", "wait", "even_if_impossible", *ENDS, *MEMBERS)
CLAIMS = RequestForms(CLAIM_BY_QUERY, CLAIM_BY_FLAVOR, CLAIM_LIKE_ALLOCATION, _OF_CLAIMS, whole=True)
EXPLANATIONS = RequestForms(QUERY, SERVER, WANTED, tuple(ASKED), whole=False)


def read_request(
    document: Mapping[str, Any], forms: RequestForms, project: str | None, *, unrestricted: bool
) -> Resolve:
    """Check the document, and return how its request is made.

    ``project`` is that of the caller; None: the caller may use all nodes, flavors and images; ``unrestricted``:
    also without regard to the owner that an allocation names. Raises BadRequest, InvalidValue, BadQuery.
    """
    resolve = _read_one(document, forms, project, unrestricted=unrestricted)
    several, strict_end = Several.of(document), document.get(STRICT_END, False)
    return lambda session: replace(resolve(session), several=several, strict_end=strict_end)


def _read_one(document: Mapping[str, Any], forms: RequestForms, project: str | None, *, unrestricted: bool) -> Resolve:
    """Return how the request is made of all but its group."""
    if "query" in document:
        forms.by_query.check(document)
        request = query_request(pairs_of(document["query"]), project)
        return lambda session: request
    if "flavor" in document:
        forms.by_flavor.check(document)
        volume = document.get("boot_from_volume", False)
        flavor = dry_run.DryRunRequest(document["flavor"], document.get("image"), volume, limit=1, project=project)
        return lambda session: dry_run.machine_request(session, flavor)
    own = {name: value for name, value in document.items() if name not in forms.besides}
    others = {name: document[name] for name in document.keys() - own.keys()}
    forms.like_allocation.check(document if forms.whole else others)
    values = _allocation_values(own)
    return lambda session: _allocation_request(session, values, project, unrestricted=unrestricted)


def _allocation_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an allocation that are given and not empty. Raises InvalidValue."""
    values = {name: value for name, value in load(ALLOCATION_CREATE, dict(document), "body").items() if value}
    if values.get("node"):
        raise InvalidValue(message="An allocation for a given node is not explained: ask for the node's availability.")
    if not values.get("resource_class"):
        raise InvalidValue(message="The body must have query, flavor, or the resource_class of an allocation.")
    return values


def _allocation_request(
    session: Session, values: Mapping[str, Any], project: str | None, *, unrestricted: bool = False
) -> NodeRequest:
    """Return the request of an allocation of ``project``; None: of a caller who may use all nodes. An ``owner`` that is
    given restricts it to that owner's nodes, unless the caller is ``unrestricted``. Raises InvalidValue."""
    owner = values.get("owner")
    if project is None:
        any_node = unrestricted or owner is None
        named, eligible = EVERYTHING, EVERYTHING if any_node else Visibility(owner)
    else:
        # As of their own allocations, whose owner is their project.
        named = eligible = Visibility(project)
        if owner not in (None, project):
            raise InvalidValue(message="The owner must be your own project.")
    nodes = uuids_of(session, values.get("candidate_nodes", ()), named)
    entries = [TraitEntry(text) for text in values.get("traits", ())]
    return NodeRequest(values["resource_class"], entries, nodes, owner, values.get("name"), eligible=eligible)


# -- claims ------------------------------------------------------------------------------------------------------------


class SchedulingCall(Call):
    """A request, with the values that views with several transactions, or with waiting, need."""

    database: Database
    decisions: Decisions
    makers: Makers
    #: The other APIs, by name.
    apis: Mapping[str, Api]

    @cached_property
    def baremetal(self) -> BaremetalCall:
        """The same request as one to the bare metal API, whose rules decide who may delete allocations."""
        return cast(BaremetalCall, self.apis["baremetal"].request_of(self))

    @cached_property
    def compute(self) -> ComputeCall:
        """The same request as one to the compute API, whose rules decide who may delete servers."""
        return cast(ComputeCall, self.apis["compute"].request_of(self))


@dataclass(frozen=True)
class ClaimBody:
    """The body of a claim. ``digest`` identifies it: the same body from the same caller has the same. ``is_named``:
    the caller gave the UUID, and may have given it before. ``asked``: its end."""

    uuid: str
    is_named: bool
    project: str
    user: str
    consumer_type: str | None
    wait: int
    even_if_impossible: bool
    asked: AskedEnd
    digest: str
    resolve: Resolve

    def new_claim(self, call: Call, session: Session) -> NewClaim:
        """Return the claim. Raises like ``granted_end``, and for flavors, images and nodes that cannot be used."""
        owner = (self.project, self.user, self.consumer_type)
        end = self.end(call, session)
        return NewClaim(self.uuid, self.resolve(session), *owner, end, self.digest)

    def end(self, call: Call, session: Session) -> End | None:
        """Return the end of the claim. Raises like ``granted_end``."""
        return granted_end(call, session, self.asked, project=self.project, waits=bool(self.wait))


def read_claim(call: Call) -> ClaimBody:
    """Return the body of the call. Raises BadRequest, InvalidValue, BadQuery, NotAllowed."""
    document = body_of(call)
    # Nothing belongs to the project of a caller that has none.
    of_nodes = None if call.allows(CLAIM_ALL) else call.caller.project_id or ""
    resolve = read_request(document, CLAIMS, of_nodes, unrestricted=call.caller.unrestricted)
    wait, most = int(document.get("wait", 0)), call.settings.scheduling.max_wait
    if wait > most:
        raise InvalidValue(message=f"A claim may wait for {most} seconds at most ([scheduling] max_wait).")
    consumer = document.get("consumer", {})
    project, user = owner_of(call, consumer)
    call.require(CLAIM, {"project_id": project})
    named = canonical_uuid(consumer.get("uuid", ""))
    return ClaimBody(
        uuid=named or str(uuid.uuid4()),
        is_named=named is not None,
        project=project,
        user=user,
        consumer_type=consumer.get("type"),
        wait=wait,
        even_if_impossible=document.get("even_if_impossible", False),
        asked=asked_end(document),
        digest=digest_of({**document, "consumer": {**consumer, "uuid": None, "project_id": project, "user_id": user}}),
        resolve=resolve,
    )


def owner_of(call: Call, given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the project and the user of what is requested: those that are ``given``, or else the caller's."""
    unknown = call.settings.placement
    project = given.get("project_id") or call.caller.project_id or unknown.incomplete_consumer_project_id
    return project, given.get("user_id") or call.caller.user_id or unknown.incomplete_consumer_user_id


def require_levels(call: Call, session: Session, several: Several | None, project: str | None) -> None:
    """Raise InvalidValue if the request names a level in which no machine that the project may use (None: none at all)
    has a domain. The message lists the levels for callers who may see domains."""
    if several is not None:
        seen = () if project is None else (usable_by(project),)
        naming.require_levels(session, several.levels, seen, lists_levels=sees_domains(call))


def digest_of(document: Mapping[str, Any]) -> str:
    """Return what identifies a body: the same for equal documents."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
