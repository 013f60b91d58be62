"""/find: machines for a request, and why there are none or too few."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.domains import domain_list
from baremetal_sched.baremetal.domains.naming import levels
from baremetal_sched.baremetal.matching.masks import HOPELESS, Verdict
from baremetal_sched.baremetal.matching.question import without
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.errors import InvalidError, NotFoundError
from baremetal_sched.explain import explanations
from baremetal_sched.explain.explanations import FittingMachine
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.scheduling.api.explanations import context_of, document, request_of
from baremetal_sched.scheduling.api.policies import BOOK, CLAIM, DOMAINS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.find.form import PARAMETERS, FindForm, flavors_seen, images_seen, read, renamed
from baremetal_sched.ui.pictures.heat_map import bar
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import BadRequest, message_of

#: The number of machines, of changes of the request, and of conditions that are shown; the others are counted.
MOST_MACHINES = 50
MOST_CHANGES = 20
MOST_CONDITIONS = 100

#: What each verdict means, and how good that is.
VERDICTS = {
    "fits": ("good", "There are as many machines as are wanted."),
    "short": ("warn", "Some machines fit, but fewer than are wanted, or not where they are wanted."),
    "busy": ("warn", "No machine fits now. Some would if they were free."),
    "unserved": ("bad", "No machine fits now. Some would if a conductor served them."),
    "combination": ("bad", "Each part of the request can be met, but no machine meets all of them together."),
    "impossible": ("bad", "No machine fits, even if all were free."),
}


@dataclass(frozen=True)
class FindChange:
    """A changed request: the conditions left out, how many machines would fit, and the parameters of its form.

    ``parameters`` are None if no form can express it. ``example`` is a machine that fits only then.
    """

    left_out: list[str]
    would_fit: int
    parameters: dict[str, Any] | None
    example: str | None


@dataclass(frozen=True)
class FindAnswer:
    """The explanation of a request by the scheduling API, and links to changed requests.

    ``domains``: those of the machines, by level. ``meant``: for each unknown name, similar names, with how many
    machines have each and the parameters of a form that asks for it. ``loses_flavor``: the changed forms use a query,
    without the flavor's other conditions.
    """

    explanation: dict[str, Any]
    machines: list[FittingMachine]
    changes: list[FindChange] = field(default_factory=list)
    meant: dict[str, list[tuple[str, int, dict[str, Any]]]] = field(default_factory=dict)
    loses_flavor: bool = False
    domains: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def show_find(call: UiCall, session: Session) -> Response:
    """GET /find. Raises TooManyExplanations, ExplanationTookTooLong, SearchTookTooLong."""
    call.refuse_unknown(PARAMETERS)
    context = context_of(call, session)
    answer, complaint, submitted = None, None, None
    try:
        submitted = read(call.query)
        if submitted is not None:
            answer = _answer(call, replace(context, needed=submitted.needed), submitted)
    except (InvalidError, NotFoundError, BadRequest) as error:
        complaint = message_of(error)
    project = context.project
    claimable = submitted if answer is not None and submitted is not None and submitted.claim() else None
    consumer = call.caller.project_id or call.settings.placement.incomplete_consumer_project_id
    may_claim, may_book = (call.allows(rule, {"project_id": consumer}) for rule in (CLAIM, BOOK))
    return page(
        call,
        "find.html",
        400 if complaint else 200,
        given=dict(call.query),
        any_given=[value for name, value in call.query if name == "any" and value.strip()] or [""],
        flavors=flavors_seen(session, project),
        images=images_seen(session, project),
        levels=[(each, each) for each in levels(session, context.usable())] if call.allows(DOMAINS) else [],
        everything=context.named.everything,
        complaint=complaint,
        answer=answer,
        verdicts=VERDICTS,
        bar=bar,
        most_changes=MOST_CHANGES,
        most_conditions=MOST_CONDITIONS,
        claimable=claimable,
        may_claim=may_claim,
        may_book=may_book,
        hopeless=HOPELESS,
        claim_command=claimable.command() if claimable and may_claim else "",
    )


def _answer(call: UiCall, context: MachineContext, form: FindForm) -> FindAnswer:
    context, request = request_of(call, context, form.body())
    parsed = request.parsed()
    assert parsed is not None  # noqa: S101 - a form has a query or a flavor
    explained = explanations.explain_request(context, request)
    explanation = document(explained)
    if explained.verdict not in (Verdict.FITS, *HOPELESS):
        explanation |= explanations.earliest_of(context, request, explained).document()
    machines = explanations.fitting_machines(context, request, MOST_MACHINES) if explanation["fitting"] else []
    changes = [_change(form, parsed, explanation, each) for each in explanation["relaxations"][:MOST_CHANGES]]
    meant, names_domains = _meant(form, parsed, explanation), bool(machines) and sees_domains(call)
    domains = domain_list.of_nodes(context.session, [each.uuid for each in machines]) if names_domains else {}
    return FindAnswer(explanation, machines, changes, meant, loses_flavor=bool(form.flavor), domains=domains)


def _change(
    form: FindForm, request: CandidateRequest, explanation: dict[str, Any], relaxation: dict[str, Any]
) -> FindChange:
    texts = _texts(explanation)
    changed = without(request, relaxation["drop"])
    # A condition that a query cannot express (a capability) cannot be left out of it.
    possible = changed is not None and changed != request
    return FindChange(
        [texts.get(each, each) for each in relaxation["drop"]],
        relaxation["would_fit"],
        form.changed(changed).parameters() if possible and changed is not None else None,
        relaxation["example"],
    )


def _texts(explanation: dict[str, Any]) -> dict[str, str]:
    """The texts of the conditions by their ids, also of parts."""
    every = [explanation, *explanation.get("parts", {}).values()]
    return {each["id"]: each["text"] for part in every for each in part["conditions"]}


def _meant(
    form: FindForm, request: CandidateRequest, explanation: dict[str, Any]
) -> dict[str, list[tuple[str, int, dict[str, Any]]]]:
    return {
        each["name"]: [
            (name, count, form.changed(renamed(request, each["name"], name)).parameters())
            for name, count in each["did_you_mean"]
        ]
        for each in explanation["unknown"]
    }
