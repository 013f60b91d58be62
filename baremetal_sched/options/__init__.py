"""All options of the service, by group; ``settings`` adds those of the libraries.

Groups and names are the same as in Ironic and Placement where these have the option.
"""

from oslo_config import cfg

from baremetal_sched.options import (
    agents,
    conductor,
    database,
    events,
    hardware,
    inspection,
    scheduling,
    service,
)

OPTIONS: dict[str, list[cfg.Opt]] = {
    **service.OPTIONS,
    **database.OPTIONS,
    **conductor.OPTIONS,
    **agents.OPTIONS,
    **inspection.OPTIONS,
    **scheduling.OPTIONS,
    **events.OPTIONS,
    **hardware.FAKE,
    **hardware.REDFISH,
    **hardware.IPMI,
}

_INTRODUCTIONS = {
    "inspector": "How the reports of agents are processed, see :doc:`agents <baremetal/agents>`.",
    "ipmi": "Machines of hardware type ``ipmi`` (:doc:`baremetal/drivers`). ipmitool is always terminated when the "
    "time is over; there is no ``kill_on_timeout``.",
    "redfish": "Machines of hardware type ``redfish``. Some options can be overridden in the ``driver_info`` of a node "
    "(:doc:`baremetal/drivers`).",
}


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return all options for oslo.config's tools: the page of the reference, and ``oslo-config-generator``.

    Help texts are reStructuredText; pages that they link to are named from the root of the reference.
    """
    return [(cfg.OptGroup(name, help=_INTRODUCTIONS.get(name)), options) for name, options in OPTIONS.items()]
