"""A request to the bare metal API, as its views see it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

from flask import Request
from sqlalchemy.orm import Session
from werkzeug.utils import cached_property

from baremetal_sched.baremetal.api.errors import RoutingError
from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.policies.checks import service_project
from baremetal_sched.baremetal.api.route import BaremetalRoute
from baremetal_sched.baremetal.conductors.ownership import LiveMembers, Membership, live_members
from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.nodes.redaction import REPLACEMENTS, Redaction, Restriction
from baremetal_sched.baremetal.visibility import EVERYTHING, UNRESTRICTED, Access, Visibility
from baremetal_sched.db.keyring import keyring_of
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.patch import Patch
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.settings import Settings
from baremetal_sched.web.call import Call
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.http_errors import PathNotFound
from baremetal_sched.web.policy import Target

T = TypeVar("T")

#: Since when nodes have names, and names may be more than host names.
NAMES = 5
LOGICAL_NAMES = 10


#: The field whose rule is that of holds.
_OF_HOLDS = "maintenance_reason"


@lru_cache(maxsize=1000)
def _facts(caller: Caller) -> Target:
    """Facts of the caller for the target of rules, without its roles: the policy caches decisions by the target."""
    return {name: fact for name, fact in caller.credentials().items() if not isinstance(fact, list)}


class BaremetalCall(Call):
    """Adds the common parts of the views of this API. ``stripped_json``: the path ended in ``.json``, which was taken
    off."""

    stripped_json = False
    #: Names that cannot stand for a node in a path.
    sub_collections: Collection[str] = ()
    #: The hash of the password in the body, once it has been computed.
    hashed_password: str | None = None
    #: The body of a PATCH, once it has been parsed.
    patch: Patch | None = None
    #: Whether the view runs only to evaluate the PATCH.
    evaluates_ahead = False

    def __init__(self, http: Request, request_id: str, settings: Settings) -> None:
        super().__init__(http, request_id, settings)
        #: Arguments that the path has, by name.
        self.path_arguments: dict[str, str] = {}
        self._taken: dict[str, list[Any]] = {}
        #: What the transaction of this session found together: the node's name in the path, the node if its row is
        #: locked, and the live conductors.
        self._known: tuple[Session, str, Node | None, Membership] | None = None

    @property
    def named(self) -> Mapping[str, Any]:
        return {**self.path_arguments, **{name: values[0] for name, values in self._taken.items() if values}}

    @cached_property
    def target(self) -> Target:
        """The target of rules: facts of the caller, as in Ironic, and the project of services with more permissions."""
        return {**_facts(self.caller), **service_project(self.settings)}

    def target_of(self, kind: str, **facts: str | None) -> Target:
        """The same with facts of a "node", "allocation" or "runbook": its ``owner``, its ``lessee``. Values that are
        None are left out, so that they never match, not even the project of a caller without one."""
        return {**self.target, **{f"{kind}.{name}": fact for name, fact in facts.items() if fact is not None}}

    @cached_property
    def visible(self) -> Visibility:
        """The nodes that the caller may see by ``baremetal:node:get``."""
        if self.caller.unrestricted or self._is_public:
            return EVERYTHING

        def allows(owner: str | None, lessee: str | None) -> bool:
            return self.allows("baremetal:node:get", self.target_of("node", owner=owner, lessee=lessee))

        return Visibility.of(self.caller.project_id, allows)

    @property
    def _is_public(self) -> bool:
        """Return whether the route is for everyone: then what it is about is not for tenants."""
        return self.route is not None and self.route.public

    def listed(self, kind: str, parameter: str | None = None) -> Visibility:
        """Return whose things a list of this ``kind`` ("node", "port", "allocation", …) shows: everything, or those of
        the caller's project.

        Raises NotAllowed, WrongScope if the caller may list nothing, or asks by ``parameter`` for another project.
        """
        every, project = f"baremetal:{kind}:list_all", self.caller.project_id
        if self.caller.unrestricted or self.allows(every):
            return EVERYTHING
        if not project or any(name == parameter and value != project for name, value in self.query):
            self.require(every)
        self.require(f"baremetal:{kind}:list")
        return Visibility(project)

    def access(self, rule: str) -> Access:
        """The nodes that the caller may see, and may change by ``rule``."""
        if self.caller.unrestricted:
            return UNRESTRICTED

        def require(owner: str | None, lessee: str | None) -> None:
            self.require(rule, self.target_of("node", owner=owner, lessee=lessee))

        return Access(self.visible, require)

    @cached_property
    def redaction(self) -> Redaction:
        """The fields of visible nodes that are hidden from the caller."""
        shows_secrets, shows_instance_secrets = self.allows("show_password"), self.allows("show_instance_secrets")
        shows_any = shows_secrets or shows_instance_secrets
        keyring = keyring_of(self.settings.database.secrets_key_file if shows_any else None)
        return Redaction(tuple(self._restrictions()), shows_secrets, shows_instance_secrets, keyring)

    def _restrictions(self) -> Iterator[Restriction]:
        texts, project = reader(self).texts, self.caller.project_id
        if not texts.everything and not texts.includes(self.visible):
            yield Restriction(_OF_HOLDS, texts.as_owner, texts.as_lessee)
        if self.caller.unrestricted or self.allows("baremetal:node:get:filter_threshold"):
            return
        for field in (each for each in REPLACEMENTS if each != _OF_HOLDS):
            rule = f"baremetal:node:get:{field}"
            if self.allows(rule):
                continue
            as_owner = bool(project) and self.allows(rule, self.target_of("node", owner=project))
            as_lessee = bool(project) and self.allows(rule, self.target_of("node", lessee=project))
            yield Restriction(field, as_owner, as_lessee)

    @property
    def redaction_values(self) -> dict[str, str]:
        """The values of the parameters of queries that ``redaction`` is a part of."""
        return self.redaction.values(self.caller.project_id)

    def body(self) -> Any:
        """Return the JSON body; ``{}`` without one. Raises BadRequest if it is not JSON."""
        return self.json if self.raw_body else {}

    def arguments(self, known: Iterable[str], require: str | None = None) -> dict[str, Any]:
        """Return the arguments of the body and the query string: Ironic takes arguments of some requests from either.

        Raises InvalidValue for arguments that are not ``known``, or if ``require`` is missing.
        """
        body = self.body()
        if not isinstance(body, dict):
            raise InvalidValue(message=f"Expected an object as the body: {body}")
        arguments = {**dict(self.query), **body}
        for name, value in self.path_arguments.items():
            if name in arguments:
                raise InvalidValue(message=f"Expected one value for {name}: {[value, arguments[name]]}")
            arguments[name] = value
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            raise InvalidValue(message=f"Unexpected arguments: {', '.join(unknown)}")
        if require is not None and require not in arguments:
            raise InvalidValue(message=f"Missing mandatory parameter: {require}")
        return arguments

    def take(self, name: str, *, in_body: bool = True) -> str | None:
        """Return an argument that names the subject of the request, or None.

        It is removed from the query string and (with ``in_body``) the body. A second call, in a transaction that is run
        again, returns the same. Raises InvalidValue if the argument is given several times, or is not a string.
        """
        if name not in self._taken:
            values: list[Any] = [value for key, value in self.query if key == name]
            self.query = [pair for pair in self.query if pair[0] != name]
            body = self.body() if in_body else None
            if isinstance(body, dict) and name in body:
                values.append(body[name])
                self.json = {key: value for key, value in body.items() if key != name}
            self._taken[name] = values
        values = self._taken[name]
        if not values:
            return None
        if len(set(map(str, values))) > 1 or not isinstance(values[0], str):
            raise InvalidValue(message=f"Expected one UUID or name for {name}: {', '.join(map(str, values))}")
        return values[0]

    def refuse_arguments(self) -> None:
        """Raise InvalidValue if the request has a query string, or a JSON body that is not empty."""
        self.refuse_query()
        body = self.body()
        if body:
            names = ", ".join(sorted(body)) if isinstance(body, dict) else "body"
            raise InvalidValue(message=f"Unexpected arguments: {names}")

    @property
    def in_detail(self) -> bool:
        """Return whether the request is for the address of a list in detail."""
        return self.route is not None and self.route.path.endswith("/detail")

    def membership(self, session: Session) -> Membership:
        """The live conductors: now, or as they were when this transaction found the node with them."""
        if self._known is not None and self._known[0] is session:
            return self._known[3]
        return live_members(session, self.settings)

    @property
    def prefers_representation(self) -> bool:
        """Return whether the client asks for the result in an answer that would not show it otherwise."""
        return self.preferences.get("return") == "representation"

    @property
    def hostname_names(self) -> bool:
        """Return whether names of nodes must be host names at this microversion."""
        return self.version < LOGICAL_NAMES

    def uuid(self, text: str, name: str) -> str:
        """Return ``text`` from the path as a UUID. Raises InvalidValue, which calls it ``name``, if it is not a
        UUID."""
        canonical = canonical_uuid(text)
        if canonical is None:
            raise InvalidValue(message=f"Expected UUID for {name}: {text}")
        return canonical

    def ident(self, text: str, name: str) -> str:
        """Return ``text`` from the path if it is a UUID or a valid name. Raises InvalidValue, which calls it ``name``,
        otherwise."""
        if canonical_uuid(text) is None and not is_logical_name(text):
            raise InvalidValue(message=f"Expected UUID or name for {name}: {text}")
        return text

    def portgroup_ident(self, ident: str) -> str:
        """Return ``ident`` from the path if it can name a portgroup. Raises RoutingError otherwise."""
        if canonical_uuid(ident) is None and not is_logical_name(ident):
            raise RoutingError(400, f"Expected UUID or name for portgroup: {ident}")
        return ident

    def node_ident(self, ident: str) -> str:
        """Return ``ident`` from the path if it can name a node. Raises RoutingError or InvalidValue otherwise."""
        if ident in self.sub_collections:
            raise PathNotFound
        if canonical_uuid(ident) is None:
            if not is_logical_name(ident):
                if isinstance(self.route, BaremetalRoute) and self.route.ident_is_argument:
                    raise InvalidValue(message=f"Expected UUID or name for node_ident: {ident}")
                raise RoutingError(400, f"Expected UUID or name for node: {ident}")
            if NAMES <= self.version < LOGICAL_NAMES and not is_logical_name(ident, hostname_only=True):
                raise InvalidValue(message=f"Expected a logical name or UUID but received {ident}.")
        return ident

    def existing_node_uuid(self, reader: Reader, ident: str) -> str:
        """Return the UUID of the node that the path names. Raises NodeNotFound; RoutingError or InvalidValue for an
        invalid name."""
        return self.found(ident, lambda each: nodes.uuid_of(reader, each))

    def found(self, ident: str, find: Callable[[str], T]) -> T:
        """Return what ``find`` returns for the node that the path names. Raises like ``existing_node_uuid``."""
        self.node_ident(ident)
        canonical = canonical_uuid(ident)
        if self.version < NAMES and canonical is None:
            raise NodeNotFound(node=ident)
        if not self.stripped_json:
            return find(canonical or ident)
        try:
            return find(ident)
        except NodeNotFound:
            return find(f"{ident}.json")

    def node_uuid(self, reader: Reader, ident: str) -> str:
        """Return the same for a caller that looks the node up next: a UUID is not looked up twice."""
        canonical = canonical_uuid(ident)
        return canonical if canonical and not self.stripped_json else self.existing_node_uuid(reader, ident)

    def node(self, session: Session, ident: str) -> Node:
        """Return the node that the path names, for reading. Raises like ``existing_node_uuid``."""
        return self.found(ident, lambda each: nodes.find(session, each))

    def node_with_conductor(self, session: Session, ident: str) -> Node:
        """Return the node that the path names, for reading, if a live conductor serves it.

        Raises NoValidHost, NoConductors, and like ``existing_node_uuid``.
        """
        node = self._with_members(session, ident)
        self.membership(session).require(node.conductor_group, node.driver)
        return node

    def locked_node(self, session: Session, ident: str) -> Node:
        """Return the node that the path names, its row locked. Raises like ``existing_node_uuid``."""
        known = self._known
        if known is not None and known[:2] == (session, ident) and known[2] is not None:
            return known[2]
        return self._with_members(session, ident, for_update=True)

    def node_to_change(self, session: Session, ident: str) -> Node:
        """Return the node that the path names, its row locked, if a live conductor serves it and none works on it.

        Raises NodeLocked, and like ``node_with_conductor``.
        """
        node = self.locked_node(session, ident)
        nodes.require_changeable(node, self.membership(session))
        return node

    def _with_members(self, session: Session, ident: str, *, for_update: bool = False) -> Node:
        live = LiveMembers.of(self.settings)
        find = partial(nodes.find_with_members, session, live=live, for_update=for_update)
        node, members = self.found(ident, find)
        self._known = session, ident, node if for_update else None, members
        return node
