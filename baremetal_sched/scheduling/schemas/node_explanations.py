"""The explanation of one node for a request."""

from baremetal_sched.scheduling.schemas.answers import FLAG, array, fields, said
from baremetal_sched.scheduling.schemas.explanations import CONDITION, DROP, EXACT, TREES, VERDICT
from baremetal_sched.scheduling.schemas.node_availability import FINDINGS, NODE

NODE_EXPLANATION = fields(
    {
        **NODE,
        "verdict": VERDICT,
        "conditions": said("What it has to meet.", array(fields({**CONDITION, "holds": FLAG}))),
        "relaxations": said(
            "What to leave out of the request so that it fits. Empty if it does, or if nothing makes it fit.",
            array(fields(DROP)),
        ),
        "exact": EXACT,
        **TREES,
        **FINDINGS,
    },
    TREES,
)
