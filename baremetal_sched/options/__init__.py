"""All options of the service, by group; ``settings`` adds those of the libraries.

Groups and names are the same as in Ironic and Placement where these have the option.
"""

from oslo_config import cfg

from baremetal_sched.options import conductor, database, hardware, inspection, scheduling, service

OPTIONS: dict[str, list[cfg.Opt]] = {
    **service.OPTIONS,
    **database.OPTIONS,
    **conductor.OPTIONS,
    **inspection.OPTIONS,
    **scheduling.OPTIONS,
    **hardware.FAKE,
    **hardware.REDFISH,
    **hardware.IPMI,
}
