"""The options of strategy ``keystone``: those of keystonemiddleware, and of the plugin of keystoneauth that logs in.

The libraries take long to import, so that their options exist only if the strategy is ``keystone``. Otherwise the group
is one of another service, as it was written for.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from oslo_config import cfg

GROUP = "keystone_authtoken"
#: Where the libraries' own defaults would let a request wait for ever, or for long.
DEFAULTS = {"http_connect_timeout": 10, "http_request_max_retries": 1}


def register(settings: cfg.ConfigOpts, overrides: Mapping[str, Mapping[str, Any]]) -> dict[str, list[cfg.Opt]]:
    """Register the options if they are needed, and return them by group; none if the strategy is another one.

    ``overrides`` will be set later. Raises ``cfg.Error`` if there is no such plugin.
    """
    if not _is_wanted(settings, overrides):
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
        except Exception as error:  # anything, as what loads it is a package of any maker
            raise cfg.Error(f"[{section}] auth_type = {plugin}: {error}") from None
        settings.register_opts(own, section)
        options[section] = [*options[section], *own]
    return options


def check(settings: cfg.ConfigOpts) -> None:
    """Raise ``cfg.Error`` for options of the strategy that are missing, or that do not go together."""
    if settings.api.auth_strategy != "keystone":
        return
    from keystoneauth1 import loading
    from keystoneauth1.exceptions import ClientException

    own = settings[GROUP]
    section = own.auth_section or GROUP
    if not settings[section].auth_type:
        raise cfg.Error(f"[{section}] auth_type has to be set, and how the service logs in, if Keystone is used")
    try:
        loading.load_auth_from_conf_options(settings, GROUP)
    except ClientException as error:
        raise cfg.Error(f"[{section}] {error}") from None
    if own.token_cache_time == 0:
        raise cfg.Error(f"[{GROUP}] token_cache_time: 0 would keep tokens for ever; -1 keeps none")
    if own.memcached_servers:
        _check_memcached(own)


def auth_url(settings: cfg.ConfigOpts) -> str | None:
    """Return where clients log in, as far as the settings say it."""
    section = settings[settings[GROUP].auth_section or GROUP]
    url: str | None = settings[GROUP].www_authenticate_uri or getattr(section, "auth_url", None)
    return url


def _check_memcached(own: Any) -> None:
    is_binary = own.memcache_sasl_enabled or own.memcache_tls_enabled
    module, package = ("bmemcached", "python-binary-memcached") if is_binary else ("memcache", "python-memcached")
    if find_spec(module) is None:
        raise cfg.Error(f"[{GROUP}] memcached_servers: the package {package} has to be installed")
    if own.memcache_security_strategy.lower() != "none" and not own.memcache_secret_key:
        raise cfg.Error(f"[{GROUP}] memcache_secret_key has to be set if memcache_security_strategy is")


def _is_wanted(settings: cfg.ConfigOpts, overrides: Mapping[str, Mapping[str, Any]]) -> bool:
    try:
        return bool(_value(settings, overrides, "api", "auth_strategy") == "keystone")
    except (ValueError, cfg.Error):
        return False  # it is no strategy at all, which is complained about later


def _value(settings: cfg.ConfigOpts, overrides: Mapping[str, Mapping[str, Any]], group: str, option: str) -> Any:
    return overrides.get(group, {}).get(option) or settings[group][option]
