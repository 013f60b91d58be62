"""Why a request for one machine, or for several, finds nothing."""

from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.masks import Verdict
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.explain.several_explanations import explain_several
from baremetal_sched.scheduling import machine_groups


def explain(
    context: MachineContext, request: MachineRequest, several: Several | None, project: str
) -> tuple[Explanation, Verdict]:
    """Explain the request; ``several`` of a group of ``project``; None: one machine. The verdict is that on waiting:
    IMPOSSIBLE if it would not be satisfied even if all machines were free.

    Raises GroupDiffers, and like ``explain_several``.
    """
    if several is None:
        explained = explain_request(context, request)
        return explained, explained.verdict
    group = machine_groups.find(context.session, project, several, lock=False)
    several = machine_groups.within(context.session, several, group)
    held = machine_groups.places(context.session, several, group)
    own = machine_groups.nodes(context.session, group)
    explained, could = explain_several(context, request, several, held, own)
    return explained, explained.verdict if could else Verdict.IMPOSSIBLE
