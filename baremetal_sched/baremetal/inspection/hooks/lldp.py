"""``local-link-connection``: which port of which switch is at the other end, as that says by LLDP."""

from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks import tlv
from baremetal_sched.baremetal.inspection.hooks.interfaces import ALL, mac_of
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


def set_links(subject: Subject, settings: Settings) -> None:
    """Set what is not known yet of ``local_link_connection`` of the ports. What a switch says and is not well formed
    does not count."""
    for name, interface in subject.plugin_data[ALL].items():
        uuid, said = subject.addresses.get(mac_of(interface)), tlv.said_at(subject, name, interface)
        if uuid is None or said is None:
            continue
        try:
            link = {**_link(said), **subject.port(uuid)["local_link_connection"]}
        except ValueError as error:
            log.warning("ignored malformed LLDP data of a switch", interface=name, reason=str(error))
            continue
        if "port_id" in link and ("switch_id" in link or "hostname" in link):
            subject.port(uuid)["local_link_connection"] = link


def _link(said: Iterable[Any]) -> Mapping[str, str]:
    """Parts of a link. Raises ValueError."""
    link = {}
    for kind, value in map(tlv.decoded, said):
        if kind == tlv.PORT_ID:
            link["port_id"] = tlv.port_id(value)
        elif kind == tlv.CHASSIS_ID and value[:1] == bytes([tlv.CHASSIS_MAC]):
            link["switch_id"] = tlv.chassis_id(value)
        elif kind == tlv.SYSTEM_NAME:
            link["switch_info"] = tlv.text(value)
    return {name: text for name, text in link.items() if text}
