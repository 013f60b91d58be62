"""A request for a page, as the views of pages see it."""

from flask import Request
from werkzeug.utils import cached_property

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.versions import newest
from baremetal_sched.settings import Settings
from baremetal_sched.web.policy import Target


class UiCall(BaremetalCall):
    """A request of the bare metal API's newest microversion: pages show what that API shows to the same caller."""

    def __init__(self, http: Request, request_id: str, settings: Settings) -> None:
        super().__init__(http, request_id, settings)
        self.version = newest(settings)

    @cached_property
    def target(self) -> Target:
        """What rules compare the caller with. What the caller lacks is left out: pages ask the rules of the scheduling
        API too, which compare projects."""
        facts: Target = super().target
        return {name: fact for name, fact in facts.items() if fact is not None}

    @property
    def known_caller(self) -> str | None:
        """Return the name of the user, or None without authentication."""
        return self.caller.user_name or self.caller.user_id
