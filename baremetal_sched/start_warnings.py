"""Settings that are allowed, but not good together: said in the log when an application is made."""

import structlog

from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Under these strategies everyone may do everything anyway.
_WITHOUT_TENANTS = frozenset({"none", "noauth"})


def warn(settings: Settings) -> None:
    """Warn of requests that find no connection, of rules that ask for more than the settings say, and of what tenants
    could make of the routes of agents, which need no credentials."""
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
        log.warning(
            "[oslo_policy] enforce_scope = false is not followed: rules ask for the scope of a request all the same"
        )
    if not settings.api.enable_ramdisk_endpoints:
        return
    if settings.auto_discovery.enabled:
        log.warning(
            "[auto_discovery] enrols what anyone reports who can reach /v1/continue_inspection: "
            "only agents may be able to, from the provisioning network"
        )
    if not settings.api.restrict_lookup:
        log.warning(
            "[api] restrict_lookup is off: anyone who can reach /v1/lookup finds every node, and gets the token that "
            "its agent needs"
        )
