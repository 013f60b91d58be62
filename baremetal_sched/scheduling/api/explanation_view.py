"""An explanation as JSON."""

from typing import Any

from baremetal_sched.scheduling.explanations import Explained
from baremetal_sched.scheduling.masks import Share


def document(explained: Explained) -> dict[str, Any]:
    """Return the explanation as clients see it; each of its parts in the same form."""
    analysis, scanned = explained.analysis, explained.scanned
    shown: dict[str, Any] = {
        "nodes": scanned.nodes,
        "fitting": explained.fitting,
        "wanted": explained.wanted,
        "verdict": str(explained.verdict),
        "conditions": [_condition(share) for share in analysis.shares],
        "relaxations": [
            {"drop": list(each.drop), "would_fit": each.would_fit, "example": each.example}
            for each in analysis.relaxations
        ],
        "exact": analysis.exact,
        "unknown": [
            {"name": each.name, "did_you_mean": [list(pair) for pair in each.did_you_mean]}
            for each in explained.unknown
        ],
        "busy": {} if explained.parts else scanned.busy,
        "groups": [
            {
                "conductor_group": each.conductor_group,
                "conductors_alive": each.conductors_alive,
                "fitting_if_served": each.fitting_if_served,
            }
            for each in explained.groups
        ],
        "sampled": scanned.sample is not None,
    }
    if scanned.sample is not None:
        shown["sample"] = scanned.sample
    if explained.parts:
        shown["parts"] = {parameter: document(part) for parameter, part in explained.parts.items()}
    return shown


def _condition(share: Share) -> dict[str, Any]:
    return {
        "id": share.condition.id,
        "text": share.condition.text,
        "kind": str(share.condition.kind),
        "counts": share.condition.counts,
        "fails": share.fails,
        "only_this": share.only_this,
        "eliminated": share.eliminated,
        "left": share.left,
        "example": share.example,
    }
