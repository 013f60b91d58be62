"""The interface of hooks, and the hook for errors that the agent reports."""

from collections.abc import Callable
from dataclasses import dataclass

from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import Settings


class HookFailed(SchedulerError):
    """The data of an inspection cannot be used, or says that the inspection has failed."""


#: Changes the subject of an inspection, or only looks at it. Raises HookFailed.
Act = Callable[[Subject, Settings], None]


def _do_nothing(subject: Subject, settings: Settings) -> None:
    pass


@dataclass(frozen=True)
class Hook:
    """``prepare`` is done for all hooks before the first one's ``apply``. ``needs`` names hooks that come before it."""

    prepare: Act = _do_nothing
    apply: Act = _do_nothing
    needs: tuple[str, ...] = ()


def require_no_error(subject: Subject, settings: Settings) -> None:
    """``ramdisk-error``: Raise HookFailed if the agent reports that the inspection has failed."""
    error = subject.plugin_data.get("error")
    if error:
        raise HookFailed(message=f"Ramdisk reported error: {error}")
