"""Bodies of claims: what is to be claimed, for whom, and for how long it may wait."""

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from baremetal_sched.compute.hosts.host_choice import HostRequest
from baremetal_sched.db.transaction import Database
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.explain.context import VERSION
from baremetal_sched.scheduling.api import asked as parts
from baremetal_sched.scheduling.api.policies import CLAIM, CLAIM_ALL
from baremetal_sched.scheduling.claim_requests import Request
from baremetal_sched.scheduling.claims import NewClaim
from baremetal_sched.scheduling.decisions import Decisions
from baremetal_sched.scheduling.schemas.claims import CLAIM_BY_FLAVOR, CLAIM_BY_QUERY, CLAIM_LIKE_ALLOCATION
from baremetal_sched.web.call import Call


class SchedulingCall(Call):
    """A request, with what views need that have several transactions, or that wait."""

    database: Database
    decisions: Decisions


#: Members that say nothing of what is to be claimed.
_COMMON = ("consumer", "wait", "even_if_impossible")

#: Returns what is asked for, which flavors, images and nodes in the database decide.
_Resolve = Callable[[Session], Request]


@dataclass(frozen=True)
class ClaimBody:
    """A body that was read. ``digest`` identifies it: the same body from the same caller has the same.

    ``project_of_nodes``: only nodes that this project may use; None: any node.
    """

    uuid: str
    project: str
    user: str
    consumer_type: str | None
    wait: int
    even_if_impossible: bool
    digest: str
    project_of_nodes: str | None
    resolve: _Resolve

    def new_claim(self, session: Session) -> NewClaim:
        """Return the claim. Raises what flavors, images and nodes are refused with."""
        request = self.resolve(session)
        return NewClaim(self.uuid, request, self.project, self.user, self.consumer_type, self.digest)


def read(call: Call) -> ClaimBody:
    """Return the body of the call. Raises BadRequest, InvalidValue, BadQuery, NotAllowed."""
    asked = parts.body_of(call)
    claims_all = call.allows(CLAIM_ALL)
    # Nothing belongs to the project of a caller that has none.
    of_nodes = None if claims_all else call.caller.project_id or ""
    resolve = _resolving(asked, of_nodes, unrestricted=call.caller.unrestricted)
    wait, most = int(asked.get("wait", 0)), call.settings.scheduling.max_wait
    if wait > most:
        raise InvalidValue(message=f"A claim may wait for {most} seconds at most ([scheduling] max_wait).")
    consumer = asked.get("consumer", {})
    unknown = call.settings.placement
    project = consumer.get("project_id") or call.caller.project_id or unknown.incomplete_consumer_project_id
    user = consumer.get("user_id") or call.caller.user_id or unknown.incomplete_consumer_user_id
    call.require(CLAIM, {"project_id": project})
    return ClaimBody(
        uuid=canonical_uuid(consumer.get("uuid", "")) or str(uuid.uuid4()),
        project=project,
        user=user,
        consumer_type=consumer.get("type"),
        wait=wait,
        even_if_impossible=asked.get("even_if_impossible", False),
        digest=_digest(asked, project, user),
        project_of_nodes=of_nodes,
        resolve=resolve,
    )


def _resolving(asked: dict[str, Any], project: str | None, *, unrestricted: bool) -> _Resolve:
    """Check the body, and return how what it asks for is found out."""
    if "query" in asked:
        CLAIM_BY_QUERY.check(asked)
        request = _by_query(asked["query"], project)
        return lambda session: request
    if "flavor" in asked:
        CLAIM_BY_FLAVOR.check(asked)
        return lambda session: parts.server_request(session, asked, project)
    CLAIM_LIKE_ALLOCATION.check(asked)
    values = parts.allocation_values({name: value for name, value in asked.items() if name not in _COMMON})
    return lambda session: parts.allocation_request(session, values, project, unrestricted=unrestricted)


def _by_query(query: str, project: str | None) -> HostRequest:
    """Return the request of a query, in which the order of different parameters does not matter."""
    pairs = parts.pairs_of(query)
    parts.parse_query(pairs)
    kept = sorted((pair for pair in pairs if pair[0] != "limit"), key=lambda pair: pair[0])
    return HostRequest(urlencode(kept, safe=":,!"), served=False, version=VERSION, project=project)


def _digest(asked: dict[str, Any], project: str, user: str) -> str:
    consumer = {**asked.get("consumer", {}), "uuid": None, "project_id": project, "user_id": user}
    return hashlib.sha256(json.dumps({**asked, "consumer": consumer}, sort_keys=True).encode()).hexdigest()
