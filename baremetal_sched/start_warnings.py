"""Warnings about allowed but risky combinations of settings, logged when an application is created."""

from collections.abc import Iterable

import structlog
from oslo_policy import policy

from baremetal_sched.settings import Settings
from baremetal_sched.web import policy_file

log = structlog.get_logger(__name__)

#: With these strategies everyone can do everything anyway.
_WITHOUT_TENANTS = frozenset({"none", "noauth"})


def warn(settings: Settings) -> None:
    """Warn if there are fewer connections than concurrent requests, if policy settings are ignored, and if tenants
    could misuse the routes of agents, which need no credentials."""
    most, database = settings.api.max_requests_at_work, settings.database
    if most > database.max_pool_size + database.max_overflow:
        log.warning(
            "there are fewer connections to the database than requests at work: raise [database] max_pool_size, or "
            "lower [api] max_requests_at_work",
            max_requests_at_work=most,
            max_pool_size=database.max_pool_size,
            max_overflow=database.max_overflow,
        )
    if settings.api.auth_strategy in _WITHOUT_TENANTS:
        return
    if not settings.oslo_policy.enforce_scope:
        log.warning("[oslo_policy] enforce_scope = false is ignored: rules always check the scope of a request")
    if not settings.api.enable_ramdisk_endpoints:
        return
    if settings.auto_discovery.enabled:
        log.warning(
            "[auto_discovery] enrolls every machine reported to /v1/continue_inspection: "
            "make it reachable only for agents, from the provisioning network"
        )
    if not settings.api.restrict_lookup:
        log.warning(
            "[api] restrict_lookup is off: anyone who can reach /v1/lookup can find every node, and get the token of "
            "its agent"
        )


def warn_of_roles(roles: frozenset[str], settings: Settings, rules: Iterable[policy.RuleDefault]) -> None:
    """Warn of roles of users that grant nothing, because no rule of the service or the operator names them."""
    unknown = roles and roles - policy_file.named_roles(settings, rules)
    if unknown:
        log.warning("no policy names these roles of users, so they allow nothing", roles=sorted(unknown))
