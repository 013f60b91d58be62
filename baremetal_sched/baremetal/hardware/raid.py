"""The target RAID configuration of nodes."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_facts
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import Node
from baremetal_sched.errors.baremetal import RaidNotSupported
from baremetal_sched.machines import raid_config


def set_target(session: Session, node: Node, config: Mapping[str, Any], membership: Membership) -> None:
    """Set the logical disks that the node (its row locked) is to have; ``{}`` removes the configuration.

    Raises RaidNotSupported, InvalidValue.
    """
    if config:
        facts = driver_facts.interface_facts(session, node, "raid", membership)
        if not facts.get("schema"):
            raise RaidNotSupported(driver=node.driver)
        raid_config.check(config, facts["schema"])
    node.target_raid_config = dict(config)
    node.touch()
