"""The pictures of pages that the guides have, of the demo's fleet: ``python -m tests.clients.browser.screenshots``.

They are written into ``api-ref/guides``.
"""

import re
import tempfile
from pathlib import Path

import requests

from tests.clients.browser.chromium import Visit, chromium
from tests.processes import BAREMETAL_SCHED, program
from tests.waiting import wait_until

GUIDES = Path(__file__).parents[3] / "api-ref" / "guides"
#: What no machine of the demo is.
WISH = "class=baremetal-storage&required=CUSTOM_LIQUID_COOLED"
#: Pages by the name of their picture, and how high that is.
PICTURES = {
    "ui_fleet.png": ("/ui/", 760),
    "ui_nodes.png": ("/ui/nodes", 560),
    "ui_find.png": (f"/ui/find?{WISH}", 1150),
    "ui_node.png": ("/ui/nodes/a-general-4", 620),
    "ui_capacity.png": ("/ui/capacity", 700),
    "ui_group.png": ("/ui/groups/rack-a", 900),
    "ui_holds.png": ("/ui/holds", 420),
    "ui_waiting.png": ("/ui/waiting", 340),
}
#: What the pictures show besides the fleet: holds, now and to come, and somebody who waits.
HOLDS = (
    ("a-general-4", {"type": "hardware_failure", "reason": "A fan is being replaced."}),
    ("b-general-1", {"type": "window", "reason": "The rack gets a new switch.", "starts_at": "2030-01-08T06:00:00Z",
                     "ends_at": "2030-01-08T08:00:00Z"}),
)  # fmt: skip
CLAIM = {
    "query": "resources=CUSTOM_BAREMETAL_STORAGE:1&required=CUSTOM_LIQUID_COOLED",
    "wait": 86_400,
    "even_if_impossible": True,
    "consumer": {"uuid": "cccccccc-0000-4000-8000-000000000001", "project_id": "research", "user_id": "ann"},
}
_WIDTH = 1000


def main() -> None:
    """Start the demo, and take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        program((*BAREMETAL_SCHED, "demo", "--keep"), Path(folder), "demo") as demo,
        chromium() as browser,
    ):
        wait_until(lambda: "OS_PLACEMENT_API_VERSION" in demo.output, "the end of the demo", seconds=300)
        found = re.search(r"keeps running at (\S+) ", demo.output)
        assert found, demo.output
        prepare(found[1])
        for name, (path, height) in PICTURES.items():
            with Visit(browser, found[1], (_WIDTH, height), color_scheme="light") as visit:
                visit.open(path).screenshot(path=GUIDES / name)
            print(f"{GUIDES / name}: {(GUIDES / name).stat().st_size // 1024} KiB")


def prepare(url: str) -> None:
    """Ask for what the pictures show."""
    for node, hold in HOLDS:
        answer = requests.post(f"{url}/scheduling/v1/nodes/{node}/holds", json=hold, timeout=30)
        assert answer.status_code == 201, answer.text
    answer = requests.post(f"{url}/scheduling/v1/claims", json=CLAIM, timeout=30)
    assert answer.status_code == 202, answer.text


if __name__ == "__main__":
    main()
