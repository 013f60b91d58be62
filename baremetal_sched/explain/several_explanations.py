"""Why several machines cannot be had at once: too few match, or their domains have too few."""

from collections.abc import Collection
from dataclasses import replace

from baremetal_sched.baremetal.matching.explanation import Explanation, bounded
from baremetal_sched.baremetal.matching.masks import Verdict
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import could_be_had, names_of, why_too_few
from baremetal_sched.baremetal.matching.spreading import Places, Several, sentence
from baremetal_sched.explain.explanations import explain_request


def explain_several(
    context: MachineContext, request: MachineRequest, several: Several, held: Places, own: Collection[int]
) -> tuple[Explanation, bool]:
    """Explain which machines the request finds, and why they are too few; and whether they could be enough if all were
    free. ``held``: where the machines of its group are, ``own``: the ids of these nodes.

    Raises like ``explain_request``, and InvalidValue for a request that other providers than machines have to serve.
    """
    explained = explain_request(replace(context, needed=several.count), request)
    with bounded(context.session, context.settings.scheduling.explain_time_limit):
        lacks = why_too_few(context, request, several, held)
        if lacks is None:
            return explained, True
        could = could_be_had(context, request, several, held, own)
        names = names_of(context.session, [] if lacks.pack is None else [lacks.pack])
    verdict = Verdict.SHORT if explained.verdict is Verdict.FITS else explained.verdict
    domains = f" {sentence(several, lacks, names)}" if several.levels else ""
    return replace(explained, verdict=verdict, domains=domains), could
