"""Every option of the service, by group; ``settings`` adds those of libraries.

Groups and names are those of Ironic and Placement where they have one, so an operator finds what he knows.
"""

from oslo_config import cfg

from baremetal_sched.options import conductor, database, fake, inspection, ipmi, redfish, scheduling, service

OPTIONS: dict[str, list[cfg.Opt]] = {
    **service.OPTIONS,
    **database.OPTIONS,
    **conductor.OPTIONS,
    **inspection.OPTIONS,
    **scheduling.OPTIONS,
    **fake.OPTIONS,
    **redfish.OPTIONS,
    **ipmi.OPTIONS,
}
