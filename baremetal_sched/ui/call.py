"""A request for a page, as the views of pages see it."""

from typing import cast

from flask import Request
from werkzeug.utils import cached_property

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.versions import newest
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.edge import ComputeApi
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.api.edge import ImageApi
from baremetal_sched.settings import Settings
from baremetal_sched.web.policy import Target


class UiCall(BaremetalCall):
    """A request of the bare metal API's newest microversion: pages show what that API shows to the same caller."""

    def __init__(
        self, http: Request, request_id: str, settings: Settings, compute: ComputeApi, image: ImageApi
    ) -> None:
        super().__init__(http, request_id, settings)
        self.version = newest(settings)
        self._compute, self._image = compute, image

    @cached_property
    def compute(self) -> ComputeCall:
        """The same request as one to the compute API, whose rules decide who sees servers and flavors."""
        return cast(ComputeCall, self._compute.request_of(self))

    @cached_property
    def image(self) -> ImageCall:
        """The same request as one to the image API, whose rules decide who sees images."""
        return cast(ImageCall, self._image.request_of(self))

    @cached_property
    def target(self) -> Target:
        """The values that rules compare with the caller. Values that the caller lacks are left out: pages also check
        the rules of the scheduling API, which compare projects."""
        facts: Target = super().target
        return {name: fact for name, fact in facts.items() if fact is not None}

    @property
    def known_caller(self) -> str | None:
        """Return the name of the user, or None without authentication."""
        return self.caller.user_name or self.caller.user_id
