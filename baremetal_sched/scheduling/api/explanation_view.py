"""An explanation as JSON."""

from typing import Any

from baremetal_sched.baremetal.matching.masks import Condition, Share
from baremetal_sched.explain.explanation import ClosestTree, Explained


def document(explained: Explained) -> dict[str, Any]:
    """Return the explanation as clients see it; each of its parts in the same form."""
    analysis, scanned = explained.analysis, explained.scanned
    shown: dict[str, Any] = {
        "nodes": scanned.nodes,
        "fitting": explained.fitting,
        "wanted": explained.wanted,
        "verdict": str(explained.verdict),
        "summary": explained.summary,
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
        "busy": scanned.busy,
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
    if scanned.scope is not None:
        shown["scope"] = scanned.scope.name
    if scanned.sample is not None:
        shown["sample"] = scanned.sample
    if explained.parts:
        shown["parts"] = {parameter: document(part) for parameter, part in explained.parts.items()}
    if explained.closest is not None:
        shown["closest"] = _closest(explained.closest)
    return shown


def document_of_node(explained: Explained) -> dict[str, Any]:
    """Return the explanation of one machine: of each condition whether it holds; of parts, as ``document`` says it."""
    shown: dict[str, Any] = {
        "verdict": str(explained.verdict),
        "conditions": [{**_words(share.condition), "holds": not share.fails} for share in explained.analysis.shares],
        "relaxations": [{"drop": list(each.drop)} for each in explained.analysis.relaxations],
        "exact": explained.analysis.exact,
    }
    if explained.parts:
        shown["parts"] = {parameter: document(part) for parameter, part in explained.parts.items()}
    if explained.closest is not None:
        shown["closest"] = _closest(explained.closest)
    return shown


def _closest(tree: ClosestTree) -> dict[str, Any]:
    return {
        "root": tree.root,
        "trees": tree.trees,
        "parts": {
            part.parameter: {
                "served": not part.failing,
                "provider": part.provider,
                "failing": [{"id": each.id, "text": each.text} for each in part.failing],
            }
            for part in tree.parts
        },
        "constraints": [{"id": each.id, "text": each.text} for each in tree.constraints],
    }


def _words(condition: Condition) -> dict[str, Any]:
    return {
        "id": condition.id,
        "text": condition.text,
        "kind": str(condition.kind),
        "counts": condition.counts,
    }


def _condition(share: Share) -> dict[str, Any]:
    return {
        **_words(share.condition),
        "fails": share.fails,
        "only_this": share.only_this,
        "eliminated": share.eliminated,
        "left": share.left,
        "example": share.example,
    }
