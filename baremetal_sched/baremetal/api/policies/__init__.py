"""The policies of the bare metal API: Ironic's names, defaults and scopes."""

from baremetal_sched.baremetal.api.policies.base import BASE
from baremetal_sched.baremetal.api.policies.nodes import NODES
from baremetal_sched.baremetal.api.policies.resources import RESOURCES
from baremetal_sched.baremetal.api.policies.steps import STEPS

RULES = (*BASE, *NODES, *RESOURCES)
OPTIONAL_RULES = (STEPS,)
