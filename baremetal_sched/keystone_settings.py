"""Options of the strategy ``keystone``: those of keystonemiddleware, and of the keystoneauth plug-in for logging in.

The libraries are slow to import, so their options exist only if the strategy is ``keystone``. Otherwise the group is
treated as one of another service.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from oslo_config import cfg

GROUP = "keystone_authtoken"
#: Replaces defaults of the libraries that would let a request wait for long or for ever.
DEFAULTS = {"http_connect_timeout": 10, "http_request_max_retries": 1}


def register(settings: cfg.ConfigOpts, overrides: Mapping[str, Mapping[str, Any]]) -> dict[str, list[cfg.Opt]]:
    """Register the options if they are needed, and return them by group; empty with another strategy.

    ``overrides`` will be set later. Raises ``cfg.Error`` if the plug-in does not exist.
    """
    if not _is_used(settings, overrides):
        return {}
    from keystoneauth1 import loading
    from keystonemiddleware import auth_token

    options = {GROUP: [option for _, found in auth_token.list_opts() for option in found]}
    settings.register_opts(options[GROUP], GROUP)
    for name, value in DEFAULTS.items():
        settings.set_default(name, value, GROUP)
    section = _value(settings, overrides, GROUP, "auth_section") or GROUP
    loading.register_auth_conf_options(settings, section)
    options.setdefault(section, loading.get_auth_common_conf_options())
    plugin = _value(settings, overrides, section, "auth_type")
    if plugin:
        try:
            own = loading.get_auth_plugin_conf_options(plugin)
        except Exception as error:  # the plug-in may be third-party code that raises anything
            raise cfg.Error(f"[{section}] auth_type = {plugin}: {error}") from None
        settings.register_opts(own, section)
        options[section] = [*options[section], *own]
    return options


def check(settings: cfg.ConfigOpts) -> None:
    """Raise ``cfg.Error`` for options of the strategy that are missing or contradict each other."""
    if settings.api.auth_strategy != "keystone":
        return
    from keystoneauth1 import loading
    from keystoneauth1.exceptions import ClientException

    own = settings[GROUP]
    section = own.auth_section or GROUP
    if not settings[section].auth_type:
        raise cfg.Error(f"[{section}] auth_type and the service's credentials must be set if Keystone is used")
    try:
        loading.load_auth_from_conf_options(settings, GROUP)
    except ClientException as error:
        raise cfg.Error(f"[{section}] {error}") from None
    if own.token_cache_time == 0:
        raise cfg.Error(f"[{GROUP}] token_cache_time: 0 would cache tokens for ever; -1 disables the cache")
    if own.memcached_servers:
        _check_memcached(own)


def auth_url(settings: cfg.ConfigOpts) -> str | None:
    """Return the URL where clients log in; None if the settings do not have it."""
    section = settings[settings[GROUP].auth_section or GROUP]
    url: str | None = settings[GROUP].www_authenticate_uri or getattr(section, "auth_url", None)
    return url


def _check_memcached(own: Any) -> None:
    is_binary = own.memcache_sasl_enabled or own.memcache_tls_enabled
    module, package = ("bmemcached", "python-binary-memcached") if is_binary else ("memcache", "python-memcached")
    if find_spec(module) is None:
        raise cfg.Error(f"[{GROUP}] memcached_servers: the package {package} must be installed")
    if own.memcache_security_strategy.lower() != "none" and not own.memcache_secret_key:
        raise cfg.Error(f"[{GROUP}] memcache_secret_key must be set if memcache_security_strategy is")


def _is_used(settings: cfg.ConfigOpts, overrides: Mapping[str, Mapping[str, Any]]) -> bool:
    try:
        return bool(_value(settings, overrides, "api", "auth_strategy") == "keystone")
    except (ValueError, cfg.Error):
        return False  # an invalid strategy, which is reported later


def _value(settings: cfg.ConfigOpts, overrides: Mapping[str, Mapping[str, Any]], group: str, option: str) -> Any:
    return overrides.get(group, {}).get(option) or settings[group][option]
