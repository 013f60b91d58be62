"""Checks of an operator's policy file, so that errors are found before requests are refused."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from oslo_policy import policy

from baremetal_sched.settings import Settings
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.web.policy import OptionalRules

_ROLE = re.compile(r"\brole:([^\s()\"']+)")
_REFERENCE = re.compile(r"\brule:([^\s()]+)")

#: Names of rules and their checks.
Checks = Mapping[str, str]


def problems(
    text: str, apis: Mapping[str, Checks], optional: Mapping[str, Sequence[OptionalRules]] | None = None
) -> list[str]:
    """Return the errors in a policy file with this ``text``, one sentence each. ``apis``: the rules of each API;
    ``optional``: rules without defaults."""
    try:
        document: Any = policy.parse_file_contents(text)
    except ValueError as error:
        return [f"The file is not YAML: {' '.join(str(error).split())}."]
    if not isinstance(document, dict):
        return ["The file must map rule names to checks."]
    with _quiet():
        unreadable = [name for name, check in document.items() if not _is_readable(check)]
    texts = {str(name): str(check) for name, check in document.items()}
    apis = {api: {**rules, **_defined(texts, (optional or {}).get(api, ()))} for api, rules in apis.items()}
    return [
        *(f"The check of {name} cannot be parsed, so it refuses everyone: {document[name]}" for name in unreadable),
        *_unknown(texts, apis),
        *_undefined(texts, apis),
        *_circular(texts, apis),
    ]


def named_roles(settings: Settings, defaults: Iterable[policy.RuleDefault]) -> frozenset[str]:
    """Return the roles, in lower case, that ``defaults`` or the operator's policy files name: no other grants
    anything. Files that cannot be read name none."""
    texts = [rule.check_str for rule in defaults]
    options = settings.oslo_policy
    for name in (options.policy_file, *options.policy_dirs):
        found = settings.find_file(name)
        paths = [] if found is None else [Path(found), *sorted(Path(found).glob("*"))]
        for path in paths:
            with suppress(OSError, UnicodeDecodeError):
                texts.append(path.read_text(encoding="utf-8"))
    return frozenset(role.lower() for text in texts for role in _ROLE.findall(text))


def _defined(texts: Checks, optional: Iterable[OptionalRules]) -> Checks:
    """Return the file's rules that need no default."""
    return {name: check for name, check in texts.items() if any(each.pattern.fullmatch(name) for each in optional)}


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence oslo.policy, which logs what it cannot parse with a traceback; here it becomes one line."""
    parser = logging.getLogger("oslo_policy")
    level = parser.level
    parser.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        parser.setLevel(level)


def _is_readable(check: Any) -> bool:
    """Return whether oslo.policy can parse the check. Parts that it cannot parse become "!"."""
    if not isinstance(check, str):
        return isinstance(check, list)
    parsed = policy.Rules.from_dict({"rule": check})["rule"]
    return str(parsed).count("!") <= check.count("!")


def _references(check: str) -> list[str]:
    return _REFERENCE.findall(check)


def _unknown(texts: Checks, apis: Mapping[str, Checks]) -> Iterator[str]:
    known = {name for rules in apis.values() for name in rules}
    used = {name for check in texts.values() for name in _references(check)}
    for name in texts:
        if name not in known and name not in used:
            yield f"Nothing asks for the rule {name}.{did_you_mean(name, known)}"


def _undefined(texts: Checks, apis: Mapping[str, Checks]) -> Iterator[str]:
    for api, rules in apis.items():
        for name in _reachable(texts, rules):
            for missing in _references(texts.get(name, rules.get(name, ""))):
                if missing not in rules and missing not in texts:
                    yield f"{name} of the {api} API uses the rule {missing}, which does not exist: everyone is refused."


def _reachable(texts: Checks, rules: Checks) -> Iterable[str]:
    """Yield the file's rules that an API can reach: its own, and the rules that these reference."""
    found = [name for name in texts if name in rules]
    for name in found:
        found += [each for each in _references(texts[name]) if each in texts and each not in found]
    return found


def _circular(texts: Checks, apis: Mapping[str, Checks]) -> Iterator[str]:
    """Yield a sentence about a circle of rules in each API, which begins with a rule of the file."""
    told: set[frozenset[str]] = set()
    for rules in apis.values():
        references = {name: _references(check) for name, check in {**rules, **texts}.items()}
        try:
            TopologicalSorter(references).prepare()
        except CycleError as error:
            # The first and the last are the same, and each is referenced by the one behind it.
            circle = error.args[1][:0:-1]
            start = next((place for place, name in enumerate(circle) if name in texts), 0)
            if frozenset(circle) not in told:
                told.add(frozenset(circle))
                named = [*circle[start:], *circle[: start + 1]]
                yield f"Rules reference each other in a circle: {' -> '.join(named)}."
