"""Bodies of requests about server groups."""

from baremetal_sched.compute.schemas.form import NAME, Form, closed
from baremetal_sched.compute.server_groups import AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY

OWNER_SINCE = 13
SOFT_SINCE = 15
#: From here on a group has one policy, with rules, instead of a list of policies.
RULES_SINCE = 64

_HARD = [ANTI_AFFINITY, AFFINITY]
_ALL = [*_HARD, SOFT_ANTI_AFFINITY, SOFT_AFFINITY]


def _with_list(policies: list[str]) -> Form:
    one_of = {"type": "string", "enum": policies}
    group = {"name": NAME, "policies": {"type": "array", "items": one_of, "minItems": 1, "maxItems": 1}}
    return Form(closed({"server_group": closed(group, "name", "policies")}, "server_group"))


#: A column holds less than Nova takes: more than the largest integer is stored as that, which no group reaches.
_RULES = closed(
    {"max_server_per_host": {"type": ["integer", "string"], "pattern": "^[0-9]+$", "maxLength": 255, "minimum": 1}}
)
_WITH_RULES = {"name": NAME, "policy": {"type": "string", "enum": _ALL}, "rules": _RULES}
_FORMS = (
    (RULES_SINCE, Form(closed({"server_group": closed(_WITH_RULES, "name", "policy")}, "server_group"))),
    (SOFT_SINCE, _with_list(_ALL)),
    (1, _with_list(_HARD)),
)


def create(version: int) -> Form:
    """Return the form of the body that makes a server group."""
    return next(form for since, form in _FORMS if version >= since)
