"""Every command that a page or a message prints, in one table. Tests run each of them.

A command is a text with a field for each name that it needs: ``RELEASE_HOLD.of(node="n1", hold=uuid)`` fills them in.
A word in capitals, such as REASON, is for the reader to replace. A text that is the template of an error may include a
command; the error fills the fields in.
"""

import re
import shlex

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", re.ASCII)


class Command(str):
    """A command as it is typed into a shell. It stands on its own line, or ends the sentence, without a full stop."""

    __slots__ = ()

    def of(self, **names: str) -> str:
        """Return the command with these names, quoted for a shell where that is needed."""
        return self.format(**{field: shlex.quote(name) for field, name in names.items()})


def called(name: str | None, uuid: str) -> str:
    """Return the name of a node for a command, or its UUID if it has none, or one that a shell would not take as it
    is."""
    return name if name is not None and _NAME.fullmatch(name) else uuid


# -- holds and maintenance ---------------------------------------------------------------------------------------------

ADD_HOLD = Command("openstack baremetal node hold add --type operator_hold --reason REASON {node}")
RELEASE_HOLD = Command("openstack baremetal node hold remove {node} {hold}")
LIST_HOLDS = Command("openstack scheduling hold list")
MAKE_DOMAINS = Command("openstack scheduling domain create --level rack --from-property rack")
LIST_DOMAINS = Command("openstack scheduling domain list")
SET_MAINTENANCE = Command("openstack baremetal node maintenance set --reason REASON {node}")
UNSET_MAINTENANCE = Command("openstack baremetal node maintenance unset {node}")

# -- nodes -------------------------------------------------------------------------------------------------------------

CREATE_NODE = Command("openstack baremetal node create --driver fake-hardware --name n1 --resource-class gold")
SET_CLASS = Command("openstack baremetal node set --resource-class CLASS {node}")
SKIP_CLEANING = Command("openstack baremetal node set --no-automated-clean {node}")
SAVE_INVENTORY = Command("openstack baremetal node inventory save {node}")
LIST_HISTORY = Command("openstack baremetal node history list {node}")
POWER = {
    "power on": Command("openstack baremetal node power on {node}"),
    "power off": Command("openstack baremetal node power off {node}"),
}
#: By the verb of ``PUT /v1/nodes/{node}/states/provision``.
PROVISION = {
    "active": Command("openstack baremetal node deploy {node}"),
    "deleted": Command("openstack baremetal node undeploy {node}"),
    "rebuild": Command("openstack baremetal node rebuild {node}"),
    "manage": Command("openstack baremetal node manage {node}"),
    "provide": Command("openstack baremetal node provide {node}"),
    "inspect": Command("openstack baremetal node inspect {node}"),
    "abort": Command("openstack baremetal node abort {node}"),
    "clean": Command("openstack baremetal node clean --clean-steps STEPS.json {node}"),
    "adopt": Command("openstack baremetal node adopt {node}"),
    "rescue": Command("openstack baremetal node rescue --rescue-password PASSWORD {node}"),
    "unrescue": Command("openstack baremetal node unrescue {node}"),
    "unhold": Command("openstack baremetal node unhold {node}"),
    "service": Command("openstack baremetal node service --service-steps STEPS.json {node}"),
}

# -- requests for machines ---------------------------------------------------------------------------------------------

CREATE_ALLOCATION = Command("openstack baremetal allocation create --resource-class CLASS")
DELETE_ALLOCATION = Command("openstack baremetal allocation delete {uuid}")
CREATE_SERVER = Command("openstack server create --flavor FLAVOR --image IMAGE --nic none NAME")
DELETE_SERVER = Command("openstack server delete {uuid}")
CLAIM = Command("openstack scheduling claim --query {query} --wait 1h")
#: Of several machines, by the levels that the request names.
CLAIM_SEVERAL = {
    "": Command(f"{CLAIM} --count {{count}}"),
    "spread": Command(f"{CLAIM} --count {{count}} --spread {{spread}}"),
    "pack": Command(f"{CLAIM} --count {{count}} --pack {{pack}}"),
    "spread and pack": Command(f"{CLAIM} --count {{count}} --spread {{spread}} --pack {{pack}}"),
}
#: Of a claim, an allocation or a server.
SET_END = Command("openstack scheduling claim set {uuid} --for 8h")
LIST_LATE = Command("openstack scheduling claim list --late")
CANCEL_CLAIM = Command("openstack scheduling claim cancel {uuid}")
LIST_BOOKINGS = Command("openstack scheduling booking list")
EXPLAIN = Command("openstack scheduling explain")
SHOW_CAPACITY = Command("openstack scheduling capacity")
CREATE_WEBHOOK = Command("openstack scheduling webhook create https://hooks.example.com/machines")
LIST_PARKED_WEBHOOKS = Command("openstack scheduling webhook list --state parked")
RESUME_WEBHOOK = Command("openstack scheduling webhook resume {webhook}")
#: Without the zeros, the flavor would ask for a processor and memory beside the machine, which machines do not offer.
CREATE_FLAVOR = Command(
    "openstack flavor create --property resources:CUSTOM_GOLD=1 --property resources:VCPU=0 "
    "--property resources:MEMORY_MB=0 --property resources:DISK_GB=0 gold"
)
LIST_FLAVORS = Command("openstack flavor list --all")
CREATE_IMAGE = Command(
    "openstack image create --disk-format raw --container-format bare "
    "--property image_source=https://example.org/image.raw NAME"
)
LIST_IMAGES = Command("openstack image list")
DELETE_IMAGE = Command("openstack image delete {image}")

# -- placement ---------------------------------------------------------------------------------------------------------

DELETE_ALLOCATIONS = Command("openstack resource provider allocation delete {consumer}")
SET_ALLOCATIONS = Command(
    "openstack resource provider allocation set {consumer} --allocation rp={provider},{resource_class}=1 "
    "--project-id PROJECT --user-id USER --consumer-type INSTANCE"
)
DELETE_INVENTORY = Command("openstack resource provider inventory delete {provider} --resource-class {resource_class}")
DELETE_PROVIDER = Command("openstack resource provider delete {provider}")

# -- the service -------------------------------------------------------------------------------------------------------

SERVE = Command("baremetal-sched serve")
START_CONDUCTOR = Command("baremetal-sched conductor")
CHECK_DATABASE = Command("baremetal-sched db check")
UPGRADE_DATABASE = Command("baremetal-sched db upgrade")
FINISH_UPGRADE = Command("baremetal-sched db upgrade --finish")
FINISH_IMPORT = Command("baremetal-sched import --finish")
MIGRATE_FLAVORS = Command("baremetal-sched compute migrate-flavors")
ADD_USER = Command("baremetal-sched user add {user}")
GENERATE_KEY = Command("baremetal-sched secrets generate-key")
CHECK_SECRETS = Command("baremetal-sched secrets check")
ENCRYPT_SECRETS = Command("baremetal-sched secrets encrypt")
