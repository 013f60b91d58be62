"""Lookups, heartbeats and inspection reports of the agents on machines."""

import hmac
import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import structlog
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.allowed_hosts import AddressRefused, allowed_hosts
from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.node_masking import MASK
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Port
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import AgentNotKnown, MachineNotKnown
from baremetal_sched.machines import agent_info, states
from baremetal_sched.machines.machine import set_internal
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Provision states in which an agent may be running.
LOOKUP_STATES = frozenset(
    {
        *(states.DEPLOYING, states.DEPLOYWAIT, states.CLEANING, states.CLEANWAIT, states.INSPECTING),
        *(states.INSPECTWAIT, states.RESCUING, states.RESCUEWAIT, states.SERVICEWAIT),
    }
)
#: Provision states in which heartbeats are recorded, and those in which a heartbeat resumes the work.
_HEARTBEAT_STATES = frozenset(
    {
        *(states.DEPLOYING, states.DEPLOYHOLD, states.CLEANING, states.CLEANHOLD, states.RESCUING),
        *(states.SERVICING, states.SERVICEHOLD),
    }
)
_RESUMED_STATES = frozenset({states.DEPLOYWAIT, states.CLEANWAIT, states.RESCUEWAIT, states.SERVICEWAIT})

STATUSES = ("start", "end", "error")

_INVALID_TOKEN = "Invalid or missing agent token received."  # noqa: S105 - a message about one
_TOKEN = "agent_secret_token"  # noqa: S105 - its name
_LONGEST_URL = 255
#: The most nodes, and addresses, that a line of the log names.
_MOST_NAMED = 20
#: Facts of a heartbeat that are stored besides its time and the address.
_KEPT = ("agent_version", "agent_verify_ca", "agent_status", "agent_status_message")


@dataclass(frozen=True)
class Heartbeat:
    """An agent's report about itself. ``callback_url`` is its own URL, empty if it has none."""

    callback_url: str
    agent_token: str | None = None
    agent_version: str | None = None
    agent_verify_ca: str | None = None
    agent_status: str | None = None
    agent_status_message: str | None = None


@contextmanager
def logged(event: str, node: str | None, addresses: Collection[str] = ()) -> Iterator[None]:
    """Log why an agent is refused, which its answer does not say, as anyone may have sent the request."""
    try:
        yield
    except (AgentNotKnown, InvalidValue) as error:
        about = {"node": node, "addresses": list(addresses)[:_MOST_NAMED], "nodes": error.details.get("nodes", [])}
        reason = error.details.get("reason") or str(error)
        log.warning(event, reason=reason, **{name: value for name, value in about.items() if value})
        raise


def look_up(session: Session, node_uuid: str | None, addresses: Collection[str], settings: Settings) -> Node:
    """Return the node whose UUID or port addresses the agent knows, with its row locked.

    Raises AgentNotKnown, without a reason, if there is no node of this kind or if no agent can be running on it.
    """
    ids = _ids(session, Node.uuid == node_uuid) if node_uuid else _ids_by_ports(session, addresses)
    node = _only(session, ids)
    if settings.api.restrict_lookup and node.provision_state not in LOOKUP_STATES | _more_states(node, settings):
        raise _not_expected(node)
    return node


def _not_expected(node: Node) -> AgentNotKnown:
    reason = f"the node is in provision state '{node.provision_state}', in which no agent is expected"
    return AgentNotKnown(reason=reason, nodes=[node.uuid])


def _more_states(node: Node, settings: Settings) -> frozenset[str]:
    """Return the other provision states in which an agent may be running on the machine of ``node``."""
    return agent_info.FAST_TRACK if agent_info.is_on_fast_track(node.driver_info or {}, settings) else frozenset()


def _ids(session: Session, condition: ColumnElement[bool]) -> set[int]:
    return set(session.scalars(select(Node.id).where(condition)))


def _ids_by_ports(session: Session, addresses: Iterable[str]) -> set[int]:
    return set(session.scalars(select(Port.node_id).where(Port.address.in_(addresses)).distinct()))


def _only(session: Session, ids: Collection[int]) -> Node:
    node = session.get(Node, next(iter(ids)), with_for_update=True) if len(ids) == 1 else None
    if node is None:
        raise _not_one(session, ids)
    return node


def _not_one(session: Session, ids: Collection[int]) -> AgentNotKnown:
    uuids = list(session.scalars(select(Node.uuid).where(Node.id.in_(ids)).order_by(Node.uuid).limit(_MOST_NAMED)))
    if not uuids:
        return AgentNotKnown(reason="no node is known by this UUID and these addresses together")
    return AgentNotKnown(reason="its addresses belong to several nodes", nodes=uuids)


def give_token(node: Node, settings: Settings) -> str:
    """Return a new token for the agent on the machine of ``node`` (its row locked); asterisks if a token was issued
    before.

    Raises NodeLocked.
    """
    if (node.driver_internal_info or {}).get(_TOKEN):
        return MASK
    nodes.require_unlocked(node)
    token = secrets.token_urlsafe()
    set_internal(node, agent_secret_token=token, **_track(node, settings))
    node.touch()
    return token


#: Management interfaces that know the address of the controller, so that agents need not look for it.
_KNOW_THEIR_CONTROLLER = ("redfish",)


def config(node: Node, token: str | None, settings: Settings) -> dict[str, Any]:
    """Return what ironic-python-agent 13 reads of the answer to its lookup: its token, and the operator's options."""
    agent, metrics, statsd = settings.agent, settings.metrics, settings.metrics_statsd
    containers = settings.agent_containers
    return {
        "heartbeat_timeout": settings.api.ramdisk_heartbeat_timeout,
        "agent_token": token,
        "agent_token_required": True,
        "agent_md5_checksum_enable": agent.allow_md5_checksum,
        "agent_skip_bmc_detect": node.management_interface in _KNOW_THEIR_CONTROLLER,
        "enable_bios_bootloader_install": agent.enable_bios_bootloader_install,
        "tls_min_version": agent.tls_minimum_version,
        "tls_cipher_suites": agent.tls_ciphers,
        "disable_deep_image_inspection": settings.conductor.disable_deep_image_inspection,
        "permitted_image_formats": settings.conductor.permitted_image_formats,
        "metrics": {
            "backend": metrics.agent_backend,
            "prepend_host": metrics.agent_prepend_host,
            "prepend_uuid": metrics.agent_prepend_uuid,
            "prepend_host_reverse": metrics.agent_prepend_host_reverse,
            "global_prefix": metrics.agent_global_prefix,
        },
        "metrics_statsd": {"statsd_host": statsd.agent_statsd_host, "statsd_port": statsd.agent_statsd_port},
        "agent_containers": {
            name: getattr(containers, name)
            for name in (
                *("allow_arbitrary_containers", "allowed_containers", "container_steps_file"),
                *("runner", "pull_options", "run_options"),
            )
        },
    }


def _track(node: Node, settings: Settings) -> dict[str, bool]:
    return {agent_info.FAST: True} if agent_info.is_on_fast_track(node.driver_info or {}, settings) else {}


def note_report(node: Node, settings: Settings) -> None:
    """Record that the agent on the machine of ``node`` (its row locked) has reported an inspection."""
    set_internal(node, **_heard_of(node, settings))


def _heard_of(node: Node, settings: Settings) -> dict[str, Any]:
    return {agent_info.LAST_HEARTBEAT: utcnow().isoformat(), **_track(node, settings)}


def beat(session: Session, node: Node, heartbeat: Heartbeat, membership: Membership, settings: Settings) -> None:
    """Record a heartbeat of the agent on the machine of ``node`` (its row locked), and resume work that waits for it.

    Raises InvalidValue if it is not the expected agent, NodeLocked, NoValidHost, NoConductors.
    """
    _check(node, heartbeat, settings)
    membership.require(node.conductor_group, node.driver)
    known = node.driver_internal_info or {}
    _authenticate(known, heartbeat)
    if not known.get(agent_info.URL):
        # After a conflict the first heartbeat is to be repeated soon; later ones are repeated anyway.
        nodes.require_unlocked(node)
    waits = node.provision_state in _RESUMED_STATES
    noted = _HEARTBEAT_STATES | _more_states(node, settings)
    if node.reservation is not None or not (waits or node.provision_state in noted):
        return
    said = {name: value for name in _KEPT if (value := getattr(heartbeat, name))}
    said |= {agent_info.URL: heartbeat.callback_url, **_heard_of(node, settings)}
    set_internal(node, **said)
    node.touch()
    if waits and not node.maintenance:
        state_machine.begin_to_wait(node)
        provision.resume(session, node, membership)


def _check(node: Node, heartbeat: Heartbeat, settings: Settings) -> None:
    """Raise InvalidValue unless the heartbeat is complete and consistent with the known facts about the agent."""
    url = heartbeat.callback_url
    if url:
        _check_address(url, settings)
    known = (node.driver_internal_info or {}).get(agent_info.URL)
    if known is not None and known != url:
        raise InvalidValue(message='Detected change in ramdisk provided "callback_url"')
    if heartbeat.agent_token is None:
        raise InvalidValue(message="Agent token is required for heartbeat processing.")
    if heartbeat.agent_status is not None and heartbeat.agent_status not in STATUSES:
        raise InvalidValue(message=f"Agent status is invalid. Valid states are {','.join(STATUSES)}.")
    if heartbeat.agent_version is None and heartbeat.agent_status is None:
        raise InvalidValue(message="The heartbeat lacks agent_version. Update the agent.")
    if settings.agent.require_tls and urlsplit(url).scheme == "http":
        raise InvalidValue(message="TLS is required by configuration")


def _check_address(url: str, settings: Settings) -> None:
    """Raise InvalidValue unless the URL can be an agent's; one of this machine or a link-local address cannot."""
    try:
        allowed_hosts(settings).require_literal(_host(url))
    except (ValueError, AddressRefused) as error:
        raise InvalidValue(message=f'An issue with the supplied "callback_url" has been detected: {error}.') from None


def _host(url: str) -> str:
    """Return the host of an agent's URL. Raises ValueError if that is malformed."""
    if len(url) > _LONGEST_URL:
        raise ValueError(f"it may have at most {_LONGEST_URL} characters")
    # urlsplit leaves line breaks and tabs out.
    if any(letter.isspace() or not letter.isprintable() for letter in url):
        raise ValueError("it may have no blanks and no line breaks")
    address = urlsplit(url)
    if "@" in address.netloc:
        raise ValueError("it may have no user and no password")
    try:
        is_port = address.port != 0
    except ValueError:
        is_port = False
    if not is_port:
        raise ValueError("what comes after the host is no port")
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError("it is not an address of HTTP")
    return address.hostname


def _authenticate(known: dict[str, Any], heartbeat: Heartbeat) -> None:
    if not known.get(_TOKEN):
        raise InvalidValue(message=_INVALID_TOKEN)
    _compare(known, heartbeat.agent_token)


def require_token(node: Node, token: Any) -> None:
    """Raise InvalidValue unless the agent on the machine of ``node`` sent its token.

    An agent that reports before a token was issued has none: the answer to its report contains it.
    """
    known = node.driver_internal_info or {}
    if known.get(_TOKEN):
        _compare(known, token if isinstance(token, str) else None)


def _compare(known: dict[str, Any], token: str | None) -> None:
    if not hmac.compare_digest(known[_TOKEN].encode(), (token or "").encode()):
        raise InvalidValue(message=_INVALID_TOKEN)


def find_inspected(
    session: Session, node_uuid: str | None, addresses: Collection[str], bmc_addresses: Collection[str]
) -> Node:
    """Return the node whose inspection waits for an agent that knows its UUID, the addresses of its ports or that of
    its BMC, with its row locked.

    All known facts must lead to the same node. Raises MachineNotKnown if no facts are known, AgentNotKnown unless
    exactly one node matches; neither says why.
    """
    known = []
    if node_uuid:
        known.append(_ids(session, Node.uuid == node_uuid))
    by_ports = _ids_by_ports(session, addresses) if addresses else set()
    if len(by_ports) > 1:
        raise _not_one(session, by_ports)
    by_bmc = _ids_by_bmc(session, bmc_addresses) if bmc_addresses else set()
    known += [ids for ids in (by_ports, by_bmc) if ids]
    if not known:
        raise MachineNotKnown
    node = _only(session, set.intersection(*known))
    if node.provision_state != states.INSPECTWAIT:
        raise _not_expected(node)
    return node


def _ids_by_bmc(session: Session, addresses: Collection[str]) -> set[int]:
    """Return the nodes whose inspection waits and whose ``driver_info`` contains one of these addresses."""
    query = select(Node.id, Node.driver_info).where(Node.provision_state == states.INSPECTWAIT)
    sought = set(addresses)
    return {node_id for node_id, info in session.execute(query) if sought & _bmc_addresses(info or {})}


def _bmc_addresses(driver_info: dict[str, Any]) -> set[str]:
    """Return the hosts in all values whose keys look like addresses: ``redfish_address``, ``ipmi_address`` …"""
    found = set()
    for name, value in driver_info.items():
        if name.endswith("_address") and isinstance(value, str):
            try:
                host = urlsplit(value).hostname if "//" in value else value
            except ValueError:
                continue
            found.add((host or "").strip("[]"))
    return found - {""}
