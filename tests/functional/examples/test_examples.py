"""The examples of the API reference are what the service answers.

With WRITE_EXAMPLES set, they are written instead; look at the difference before you commit it.
"""

import os
from collections.abc import Callable

import pytest

from baremetal_sched import bounded_http
from baremetal_sched.drivers.fake.hardware import FakeManagement
from tests.emulators.stub_agent import StubAgent
from tests.functional.examples import (
    baremetal_hardware,
    baremetal_network,
    baremetal_nodes,
    baremetal_plans,
    compute_story,
    image_story,
    placement_story,
    scheduling_story,
)
from tests.functional.examples.storyteller import HOST, Storyteller
from tests.reference import API_REF
from tests.service import Service

#: The stories of each API, which are told one after the other.
STORIES: dict[str, tuple[Callable[[Storyteller], None], ...]] = {
    "baremetal": (baremetal_nodes.tell, baremetal_hardware.tell, baremetal_network.tell, baremetal_plans.tell),
    "placement": (placement_story.tell,),
    "compute": (compute_story.tell,),
    "scheduling": (scheduling_story.tell,),
    "image": (image_story.tell,),
}

WRITE = "WRITE_EXAMPLES" in os.environ


# Agents and users repeat the tokens and passwords that they have been given.
@pytest.mark.shows_secrets
@pytest.mark.sqlite_only
@pytest.mark.parametrize("api", STORIES)
def test_examples_are_what_is_answered(database_url: str, api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = API_REF / api / "examples"
    for name, method in vars(baremetal_hardware.Controller).items():
        if not name.startswith("__"):
            monkeypatch.setattr(FakeManagement, name, method)
    monkeypatch.setattr(bounded_http, "exchange", StubAgent().exchange)
    # The conductor says once that it lives.
    settings = {"conductor": {"heartbeat_timeout": 3600}, "api": {"allowed_hosts": [HOST]}}
    with Service(database_url, **settings) as service:
        service.add_conductor("conductor-1")
        teller = Storyteller(service, api)
        for tell in STORIES[api]:
            tell(teller)
    if WRITE:
        folder.mkdir(exist_ok=True)
        for name, text in teller.told.items():
            (folder / f"{name}.http").write_text(text)
    assert {path.stem for path in folder.glob("*.http")} == set(teller.told)
    for name, text in teller.told.items():
        assert (folder / f"{name}.http").read_text() == text, f"{name}: see WRITE_EXAMPLES in {__name__}"
