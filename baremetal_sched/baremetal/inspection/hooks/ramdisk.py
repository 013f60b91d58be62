"""What the agent says about itself."""

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.settings import Settings


def require_no_error(subject: Subject, settings: Settings) -> None:
    """``ramdisk-error``: an inspection of which the agent says that it failed, has failed."""
    error = subject.plugin_data.get("error")
    if error:
        raise HookFailed(message=f"Ramdisk reported error: {error}")
