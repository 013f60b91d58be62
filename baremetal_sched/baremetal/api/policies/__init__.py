"""The policies of the bare metal API: Ironic's names, defaults and scopes."""

from baremetal_sched.baremetal.api.policies.checks import BASE, STEPS
from baremetal_sched.baremetal.api.policies.nodes import NODES
from baremetal_sched.baremetal.api.policies.resources import RESOURCES

RULES = (*BASE, *NODES, *RESOURCES)
OPTIONAL_RULES = (STEPS,)
