"""Where options were set, and whether they exist, so that a misspelt name does not silently leave a default in
force."""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

DEFAULT = "DEFAULT"
_PREFIX = "OS_"
_SEPARATOR = "__"

#: Groups of Ironic and of libraries that resemble the name of one of ours.
_OTHERS = frozenset(
    (
        *("api_database", "console", "inventory", "placement_database", "placement_quota", "pxe"),
        *("oslo_concurrency", "oslo_limit", "oslo_reports"),
    )
)

#: A line that is neither a continuation of the previous value nor a comment.
_ASSIGNMENT = re.compile(r"([^ \t#;=:][^=:]*)[=:](.*)", re.DOTALL)

#: Minimum similarity (see difflib) to report a group as misspelt, and to propose an option.
_SLIP = 0.75
_PROPOSAL = 0.6


@dataclass(frozen=True)
class Entry:
    """A value of an option, and its place. ``where`` is a file with a line, or a variable.

    ``is_read``: whether oslo.config reads it. It ignores variables that are not in capitals.
    """

    group: str
    option: str
    value: str
    where: str
    is_read: bool = True


def from_files(paths: Iterable[str]) -> Iterator[Entry]:
    """Yield the values set in configuration files, which oslo.config was able to read."""
    for path in paths:
        group = DEFAULT
        for number, line in enumerate(Path(path).read_text().split("\n"), 1):
            if line.startswith("["):
                group = line.rstrip()[1:-1]
            elif found := _ASSIGNMENT.match(line):
                yield Entry(group, found[1].strip(), found[2].strip(), f"{path}, line {number}")


def from_environment(variables: Mapping[str, str] = os.environ) -> Iterator[Entry]:
    """Yield the values set in the environment. Variables without two underscores (OS_CLOUD) belong to clients."""
    for name, value in variables.items():
        if name.upper().startswith(_PREFIX) and _SEPARATOR in name:
            group, _, option = name[len(_PREFIX) :].partition(_SEPARATOR)
            group = DEFAULT if group.upper() == DEFAULT else group.lower()
            yield Entry(group, option.lower(), value, f"environment variable {name}", is_read=name == name.upper())


class Names:
    """The known options, by group."""

    def __init__(self, options: Mapping[str, Iterable[cfg.Opt]]) -> None:
        self._names: dict[str, set[str]] = {group: set() for group in options}
        self._aliases: dict[tuple[str, str], tuple[str, str]] = {}
        for group, found in options.items():
            for option in found:
                self._names[group] |= {option.name, option.dest}
                for old in option.deprecated_opts:
                    self._names[old.group or group].add(old.name or option.name)
                    self._aliases[old.group or group, old.name or option.dest] = (group, option.dest)

    def check(self, entries: Iterable[Entry]) -> None:
        """Raise ``cfg.Error`` for unknown groups and options that seem to be meant for this service."""
        complaints = [found for entry in entries if (found := self._complaint(entry))]
        if complaints:
            raise cfg.Error("\n".join(complaints))

    def aliases(self, variables: Iterable[Entry]) -> Iterator[tuple[str, str, str]]:
        """Yield group, option and value of variables that name an option by one of its other names: oslo.config reads
        these names only in files. A variable with the option's own name is stronger."""
        given = {(entry.group, entry.option): entry.value for entry in variables if entry.is_read}
        for alias, (group, option) in self._aliases.items():
            if alias in given and (group, option) not in given:
                yield group, option, given[alias]

    def lacking(self, entry: Entry) -> str | None:
        """Return proposals for an option that does not exist, perhaps empty; None if it exists."""
        group = self._group(entry.group)
        if group is not None and entry.option.replace("-", "_") in self._names[group]:
            return None
        lowered = entry.option.lower()
        elsewhere = sorted(other for other, names in self._names.items() if lowered in names)
        close = difflib.get_close_matches(lowered, sorted(self._names.get(group or "", ())), 1, _PROPOSAL)
        near = [(elsewhere[0], lowered)] if elsewhere else [(group, name) for name in close]
        return "".join(f"[{place}] {name}" for place, name in near)

    def others(self, entries: Iterable[Entry]) -> list[str]:
        """Return the groups that belong to other services."""
        return sorted({entry.group for entry in entries if self._group(entry.group) is None})

    def _complaint(self, entry: Entry) -> str | None:
        group = self._group(entry.group)
        if group is None:
            meant = self._meant(entry.group)
            return meant and f"{entry.where}: there is no group [{entry.group}]. Did you mean [{meant}]?"
        if not entry.is_read:
            return f"{entry.where} is not read: {entry.where.split()[-1].upper()} must be in capitals."
        if entry.option in self._names[group]:
            return None
        return f"{entry.where}: there is no option {entry.option} in [{group}]{self._proposal(group, entry.option)}"

    def _group(self, name: str) -> str | None:
        """Return the group of this name, ignoring case (except for DEFAULT), as oslo.config does."""
        group = name if name == DEFAULT else name.lower()
        if group.startswith("cors."):
            group = "cors"
        return group if group in self._names else None

    def _meant(self, name: str) -> str | None:
        lowered = name.lower()
        if lowered in _OTHERS:
            return None
        by_lowered = {group.lower(): group for group in self._names}
        close = difflib.get_close_matches(lowered, by_lowered, 1, _SLIP)
        return by_lowered[close[0]] if close else None

    def _proposal(self, group: str, option: str) -> str:
        lowered = option.lower().replace("-", "_")
        elsewhere = sorted(other for other, names in self._names.items() if lowered in names)
        if elsewhere and group not in elsewhere:
            return f". It is in [{elsewhere[0]}]."
        close = difflib.get_close_matches(lowered, sorted(self._names[group]), 1, _PROPOSAL)
        return f". Did you mean {close[0]}?" if close else "; see api-ref/configuration.rst for the existing options."
