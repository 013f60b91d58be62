"""Why no machine fits a server: what its owner is told."""

from functools import partial

from baremetal_sched.baremetal.matching import sentences
from baremetal_sched.baremetal.matching.explanation import why_none, within_time
from baremetal_sched.baremetal.matching.masks import HELD_BACK, Verdict
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.compute.server_history import Reason
from baremetal_sched.errors import SchedulerError
from baremetal_sched.explain.request_conditions import fits_if_free, hint

_BEGIN = "No valid host was found."


def explain(context: MachineContext, request: TreeRequest, *, waits: bool = False) -> Reason:
    """Return why no node fits the request, for the user. Nodes of other projects are not counted.

    ``waits``: the server can wait, so say whether any machine could fit later, as far as the time allows.
    """
    try:
        question = request.question(context)
    except SchedulerError as error:
        return Reason(because(error))
    explanation = why_none(context.session, context.settings, question)
    if explanation is None:
        return Reason(f"{_BEGIN} {sentences.FALLBACK}", passes=True)
    # The search found no candidate: it looks for all resources in one tree.
    analysis = explanation.analysis
    said = sentences.together(analysis.fitting) if analysis.fitting else explanation.summary
    passes = analysis.verdict in HELD_BACK
    # A node may have become free since the search.
    if passes or (waits and analysis.verdict is Verdict.FITS):
        fits = within_time(context.session, context.settings, partial(fits_if_free, context, request, question))
        said = sentences.together(analysis.among, if_free=True) if passes and fits is False else said
        passes = fits is not False
    return Reason(f"{_BEGIN} {said}{hint(request.parsed(), analysis)}", passes=passes)


def because(error: SchedulerError) -> str:
    """Return what the user is told of a search that could not be made."""
    return f"{_BEGIN} {str(error).rstrip('.')}."
