"""Who may do what: oslo.policy, with the rules of an API and the operator's ``policy.yaml``."""

from collections.abc import Iterable, Mapping

from oslo_policy import policy

from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller


class Policy:
    """The rules in force: ``defaults``, overridden by ``[oslo_policy] policy_file``."""

    def __init__(self, settings: Settings, defaults: Iterable[policy.RuleDefault]) -> None:
        self._enforcer = policy.Enforcer(settings)
        # An operator who has not moved to the new defaults yet knows; once a rule would be too often.
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.register_defaults(list(defaults))

    def require(self, caller: Caller, rule: str, target: Mapping[str, str | None]) -> None:
        """Raise NotAllowed (WrongScope: request of another scope) unless ``rule`` lets the caller at ``target``."""
        if caller.unrestricted:
            return
        credentials = {
            "user_id": caller.user_id,
            "project_id": caller.project_id,
            "roles": list(caller.roles),
            "system": caller.system_scope,
            "system_scope": caller.system_scope,
        }
        try:
            allowed = self._enforcer.authorize(rule, dict(target), credentials, do_raise=False)
        except policy.InvalidScope:
            raise WrongScope(policy=rule) from None
        if not allowed:
            raise NotAllowed(policy=rule)
