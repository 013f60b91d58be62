"""The settings: the checked values of all options.

Values come from INI files (``--config-file``, or else ``default_files``), then from the environment
(``OS_<GROUP>__<OPTION>``, oslo.config's own driver), then from the command line. There is no global: code that
needs an option receives the settings.

``[oslo_policy]`` is defined by the library oslo.policy, and ``[cors]`` as by oslo.middleware.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_policy import opts as policy_opts

from baremetal_sched import auth_settings, config_names, keystone_settings
from baremetal_sched.options import OPTIONS, kinds
from baremetal_sched.options.service import CORS

#: The settings as the code reads them: ``settings.api.max_limit``.
Settings = cfg.ConfigOpts

_POLICY_LIBRARY: list[cfg.Opt] = [option for _, found in policy_opts.list_opts() for option in found]
#: Whether this release of oslo.policy has the option to ignore the scope of a request.
_HAS_SCOPE = any(option.dest == "enforce_scope" for option in _POLICY_LIBRARY)

#: All options, including those of libraries.
ALL_OPTIONS: dict[str, list[cfg.Opt]] = {
    **OPTIONS,
    "oslo_policy": [*_POLICY_LIBRARY, *([] if _HAS_SCOPE else auth_settings.POLICY)],
    "cors": CORS,
}
#: Where the guides put the settings.
DEFAULT_FILE = Path("/etc/baremetal-sched/baremetal-sched.conf")
NAMES = config_names.Names(ALL_OPTIONS)


class InvalidOverride(cfg.ConfigFileValueError):
    """One of the ``overrides`` has an invalid value."""

    def __str__(self) -> str:
        return str(self.msg)


def load(config_files: Iterable[str] = (), overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Return the settings from files, the environment and ``overrides`` (``{group: {option: value}}``), which take
    precedence.

    Every name and value is checked here, so that an error stops the start instead of failing a request an hour later.
    Raises oslo.config's ``cfg.Error`` family: an unreadable file, an unknown option, an invalid value.
    """
    settings = cfg.ConfigOpts()
    for group, own in OPTIONS.items():
        settings.register_opts(own, group=None if group == "DEFAULT" else group)
    policy_opts.set_defaults(settings)
    if not _HAS_SCOPE:
        settings.register_opts(auth_settings.POLICY, "oslo_policy")
    settings.register_opts(CORS, "cors")
    files = list(config_files)
    try:
        settings(args=[], project="baremetal-sched", default_config_files=files, default_config_dirs=[])
    except cfg.ConfigFilesNotFoundError as error:
        raise cfg.Error(f"There is no configuration file {', '.join(error.config_files)}.") from None
    except (OSError, UnicodeError) as error:
        raise cfg.Error(f"A configuration file of {', '.join(files)} cannot be read: {error}") from None
    entries = entries_of(settings)
    overrides = overrides or {}
    for group, name, value in NAMES.aliases(config_names.from_environment()):
        _override(settings, group, name, value)
    options = ALL_OPTIONS | keystone_settings.register(settings, overrides)
    config_names.Names(options).check(entries)
    _check_values(settings, entries, options)
    for group, values in overrides.items():
        for option, value in values.items():
            try:
                _override(settings, group, option, value)
            except cfg.ConfigFileValueError as error:
                raise InvalidOverride(str(error)) from None
    _check(settings)
    return settings


def _override(settings: Settings, group: str, option: str, value: Any) -> None:
    try:
        settings.set_override(option, value, group=None if group == "DEFAULT" else group)
    except ValueError as error:
        raise cfg.ConfigFileValueError(f"[{group}] {option}: {error}") from None


def entries_of(settings: Settings) -> list[config_names.Entry]:
    """Return the values set in the settings' files and in the environment, in the order in which they are read."""
    return [*config_names.from_files(settings.config_file or ()), *config_names.from_environment()]


def default_files() -> list[str]:
    """Return the default configuration files: those in ``BAREMETAL_SCHED_CONFIG``, separated by ``:``, or else
    ``DEFAULT_FILE``, if it exists."""
    named = [path for path in os.environ.get("BAREMETAL_SCHED_CONFIG", "").split(":") if path]
    return named or [str(path) for path in (DEFAULT_FILE,) if path.exists()]


def is_default(settings: Settings, option: str) -> bool:
    """Return whether no file, variable or override sets this option of the group DEFAULT."""
    place = settings.get_location(option)
    return place is None or place.location is cfg.Locations.opt_default


def _check_values(
    settings: Settings, entries: Iterable[config_names.Entry], options: Mapping[str, Iterable[cfg.Opt]]
) -> None:
    """Raise ``cfg.ConfigFileValueError`` for an invalid value; the message says where it is set."""
    places = {(entry.group.lower(), entry.option): entry for entry in entries}
    if not places:
        return  # checking hundreds of defaults would take longer than everything else here
    for group, own in options.items():
        section = settings if group == "DEFAULT" else getattr(settings, group)
        for option in own:
            try:
                getattr(section, option.dest)
            except (ValueError, cfg.Error) as error:
                place = places.get((group.lower(), option.dest))
                if place is None:
                    raise
                # An address may contain a password.
                value = "" if option.secret else f" = {re.sub('//[^/]*@', '//***@', place.value)}"
                reason = (
                    _reason(error, place.value)
                    if not option.secret or "$" not in place.value
                    else "a $ must be written $$"
                )
                raise cfg.ConfigFileValueError(f"{place.where}: [{group}] {option.dest}{value}: {reason}") from None


def _reason(error: Exception, value: str) -> str:
    if isinstance(error, cfg.NoSuchOptError | cfg.NoSuchGroupError | cfg.TemplateSubstitutionError):
        return f"{error} ($ stands before the name of an option; write $$ for a literal $)"
    said = str(error.__context__ or error)
    # What Python says of a text that is not a number is for programmers.
    if said.startswith("could not convert string to float"):
        return f"'{value}' is not a number"
    return f"'{value}' is not an integer" if said.startswith("invalid literal for int()") else said


def _check(settings: Settings) -> None:
    for origin in settings.cors.allowed_origin or ():  # the library's option takes any text
        try:
            kinds.ORIGIN(origin)
        except ValueError as error:
            raise cfg.Error(f"[cors] allowed_origin: {origin!r} cannot be an origin. {error}") from None
    keystone_settings.check(settings)
    if settings.conductor.heartbeat_timeout <= settings.conductor.heartbeat_interval:
        raise cfg.Error("[conductor] heartbeat_timeout must be longer than heartbeat_interval")
    if settings.auto_discovery.enabled and not settings.auto_discovery.driver:
        raise cfg.Error("[auto_discovery] driver must be set if auto-discovery is enabled")
    if settings.conductor.conductor_cleanup_timeout < 3 * settings.conductor.heartbeat_timeout:
        raise cfg.Error("[conductor] conductor_cleanup_timeout must be at least three times heartbeat_timeout")
