"""The arguments of commands that describe the node to its agent, and the agent's answers about its own steps."""

import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AddressRefused, allowed_hosts
from baremetal_sched.conductor.agent_client import Document
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node, Port
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.machine import AgentCommand
from baremetal_sched.masking import mask, mask_text

#: Seconds that following the redirects of an image's URL may take.
_TIME_LIMIT = 30.0
#: Fields that the agent does not get: its own token, and internals of the service.
_SECRET = (agent_info.TOKEN, agent_info.COMMAND)
#: Fields of the node and its ports that the agent gets unchanged: hardware managers of a site may depend on them.
_OF_NODE = (
    *(Node.name, Node.description, Node.resource_class, Node.conductor_group, Node.owner, Node.lessee, Node.extra),
    *(Node.instance_uuid, Node.instance_name, Node.power_state, Node.maintenance, Node.disable_power_off),
    *(Node.boot_mode, Node.secure_boot, Node.raid_config, Node.network_data),
)
_OF_PORT = (
    *(Port.uuid, Port.address, Port.name, Port.description, Port.pxe_enabled, Port.local_link_connection),
    *(Port.physical_network, Port.is_smartnic, Port.category, Port.vendor, Port.extra),
)


#: How disks are erased: the agent's names, and those of the options in [deploy].
_ERASING = {
    "agent_erase_devices_iterations": "shred_random_overwrite_iterations",
    "agent_erase_devices_zeroize": "shred_final_overwrite_with_zeros",
    "agent_continue_if_secure_erase_failed": "continue_if_disk_secure_erase_fails",
    "agent_continue_if_ata_erase_failed": "continue_if_disk_secure_erase_fails",
    "agent_enable_ata_secure_erase": "enable_ata_secure_erase",
    "agent_enable_nvme_secure_erase": "enable_nvme_secure_erase",
    "disk_erasure_concurrency": "disk_erasure_concurrency",
    "agent_erase_skip_read_only": "erase_skip_read_only",
}


def complete(task: Task, command: AgentCommand) -> Document:
    """Return the command's parameters, with the common ones of commands about steps: node, ports and versions.

    Redirects of an image's URL are followed: the agent gets the last one. Raises InvalidValue.
    """
    kind, _, name = command.name.partition(".")
    if not name.endswith(("_step", "_steps")):
        return command.params
    params = {
        **command.params,
        "node": task.job.read(lambda s: _node(s, task)),
        "ports": task.job.read(lambda s: _ports(s, task)),
    }
    if name.startswith("execute_"):
        params[f"{kind}_version"] = task.machine.driver_internal_info.get(agent_info.VERSION)
        step = {key: value for key, value in params["step"].items() if key != "in_band"}
        params["step"] = _resolved(task, step)
    return params


def _node(session: Session, task: Task) -> dict[str, Any]:
    machine = task.machine
    internal = {key: value for key, value in machine.driver_internal_info.items() if key not in _SECRET}
    internal |= {key: getattr(machine.settings.deploy, option) for key, option in _ERASING.items()}
    instance = {key: value for key, value in machine.instance_info.items() if key != "configdrive"}
    return {
        **session.execute(select(*_OF_NODE).where(Node.id == task.job.node_id)).one()._mapping,
        "uuid": machine.uuid,
        "driver": machine.driver,
        "provision_state": machine.provision_state,
        "target_provision_state": machine.target_provision_state,
        "driver_info": mask(machine.driver_info),
        "properties": dict(machine.properties),
        "instance_info": instance,
        "driver_internal_info": internal,
        "target_raid_config": dict(machine.target_raid_config),
        **{f"{kind}_interface": name for kind, name in machine.interfaces.items()},
    }


def _ports(session: Session, task: Task) -> list[dict[str, Any]]:
    rows = session.execute(select(*_OF_PORT).where(Port.node_id == task.job.node_id).order_by(Port.id))
    return [{**row._mapping, "node_uuid": task.machine.uuid} for row in rows]


def _resolved(task: Task, step: Document) -> Document:
    arguments = step.get("args") or {}
    image = arguments.get("image_info")
    if not isinstance(image, Mapping) or not image.get("urls"):
        return step
    urls = [last_url(url, task) for url in image["urls"]]
    return {**step, "args": {**arguments, "image_info": {**image, "urls": urls}}}


def last_url(url: str, task: Task) -> str:
    """Return where the redirects of an image's URL lead. Raises InvalidValue if a host must not be contacted, or if
    there is no image."""
    try:
        found, answer = bounded_http.follow(
            "HEAD",
            url,
            headers={},
            proxies={},
            hosts=allowed_hosts(task.job.settings),
            deadline=time.monotonic() + _TIME_LIMIT,
        )
    except (AddressRefused, bounded_http.CallFailed) as error:
        raise InvalidValue(message=f"the URL of the image cannot be used: {mask_text(str(error))}") from None
    if answer.status in (404, 410):
        raise InvalidValue(
            message=f"the server of the image answers {answer.status} ({mask_text(answer.reason)}). Look at "
            "instance_info/image_source."
        )
    return found
