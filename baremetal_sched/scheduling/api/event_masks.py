"""What callers may see of events, by the policies of today. Needs no request: makers of webhooks are callers, too."""

from baremetal_sched.baremetal.api.hold_readers import reader_of
from baremetal_sched.baremetal.api.policies.checks import service_project
from baremetal_sched.baremetal.api.policies.holds import AS_SYSTEM
from baremetal_sched.baremetal.nodes.redaction import Restriction
from baremetal_sched.scheduling.api.policies import ALL_EVENTS, ALL_FIELDS, EVENTS, LAST_ERROR, SHOW_WORKERS
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.policy import Policy


def mask_of(caller: Caller, policy: Policy, settings: Settings) -> Mask | None:
    """Return what the caller may see; None: no event."""
    project = caller.project_id
    known = service_project(settings) if project is None else {**service_project(settings), "project_id": project}

    def allows(rule: str, **node: str | None) -> bool:
        facts = {f"node.{name}": fact for name, fact in node.items() if fact}
        return len(facts) == len(node) and policy.allows(caller, rule, {**known, **facts})

    sees_all = allows(ALL_EVENTS)
    if not sees_all and not (project and allows(EVENTS)):
        return None
    errors: Restriction | None = None
    if not (allows(ALL_FIELDS) or allows(LAST_ERROR)):
        errors = Restriction("last_error", allows(LAST_ERROR, owner=project), allows(LAST_ERROR, lessee=project))
    reader = reader_of(caller, policy, settings)
    return Mask(
        project=None if sees_all else project,
        sees_workers=allows(SHOW_WORKERS),
        errors=errors,
        is_system=caller.system_scope == "all" or allows(AS_SYSTEM),
        sees_hold=reader.sees,
        sees_texts=reader.texts.covers,
    )
