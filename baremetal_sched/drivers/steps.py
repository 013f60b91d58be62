"""Decorators that make methods of interfaces steps of cleaning, deploying and servicing.

A method is a step of some kind if a decorator says so. Steps with a priority above 0 run without being requested,
the highest first; the others run when a client names them.

``requires_ramdisk``: the step needs an agent on the machine, so one is booted before it. A step that only talks to the
management controller needs none, and should say so.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from baremetal_sched.machines.interface_types import Argument, Step, StepKind

Method = TypeVar("Method", bound=Callable[..., Any])

_MARKS = "_steps"


def _mark(
    kind: StepKind,
    priority: int,
    abortable: bool,
    arguments: Mapping[str, Argument] | None,
    requires_ramdisk: bool = True,
) -> Callable[[Method], Method]:
    def decorate(method: Method) -> Method:
        marks = method.__dict__.setdefault(_MARKS, {})
        marks[kind] = (priority, abortable, dict(arguments or {}), requires_ramdisk)
        return method

    return decorate


def clean_step(
    priority: int = 0,
    *,
    abortable: bool = False,
    arguments: Mapping[str, Argument] | None = None,
    requires_ramdisk: bool = True,
) -> Callable[[Method], Method]:
    """The method, ``method(machine, **arguments) -> Effect``, is a step of cleaning."""
    return _mark("clean", priority, abortable, arguments, requires_ramdisk)


def deploy_step(
    priority: int, *, abortable: bool = True, arguments: Mapping[str, Argument] | None = None
) -> Callable[[Method], Method]:
    """The method is a step of deploying."""
    return _mark("deploy", priority, abortable, arguments)


def service_step(
    *, abortable: bool = False, arguments: Mapping[str, Argument] | None = None, requires_ramdisk: bool = True
) -> Callable[[Method], Method]:
    """The method is a step of servicing: done only when a client names it."""
    return _mark("service", 0, abortable, arguments, requires_ramdisk)


def steps_of(interface: object, interface_type: str, kind: StepKind) -> list[Step]:
    """The steps of this kind that ``interface`` has."""
    owner: Any = type(interface)
    return [Step(interface_type, name, *marks[kind]) for name, marks in _marked(owner) if kind in marks]


@lru_cache(maxsize=200)
def _marked(interface: type) -> tuple[tuple[str, dict[StepKind, Any]], ...]:
    """Return the methods that are steps, by name. Cached, as it looks at every attribute of the class."""
    found = ((name, getattr(getattr(interface, name), _MARKS, {})) for name in sorted(dir(interface)))
    return tuple((name, marks) for name, marks in found if marks)
