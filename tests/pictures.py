"""Pictures of the pages, of the demo's fleet with what people do to it: ``python -m tests.pictures [FOLDER]``.

Without a folder it makes those that the documentation has, again. Into a folder it writes pictures of every page to
which the header leads, and of one node, as a phone and two screens show them, light and dark.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from playwright.sync_api import Browser

from tests.clients.browser.chromium import Visit, chromium
from tests.processes import BAREMETAL_SCHED, program
from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "api-ref" / "guides"
#: What no machine of the demo is.
WISH = "class=baremetal-storage&required=CUSTOM_LIQUID_COOLED"
#: Pages by the name of their picture, and how high that is. Only those are made that the documentation refers to.
PICTURES = {
    "ui_fleet.png": ("/ui/", 760),
    "ui_nodes.png": ("/ui/nodes", 560),
    "ui_find.png": (f"/ui/find?{WISH}", 1080),
    "ui_node.png": ("/ui/nodes/a-general-4", 620),
    "ui_capacity.png": ("/ui/capacity", 700),
    "ui_claims.png": ("/ui/claims", 420),
    "ui_domains.png": ("/ui/domains", 560),
    "ui_events.png": ("/ui/events", 560),
    "ui_group.png": ("/ui/groups/rack-a", 900),
    "ui_holds.png": ("/ui/holds", 420),
    "ui_waiting.png": ("/ui/waiting", 340),
    "ui_webhooks.png": ("/ui/webhooks", 420),
}
_WIDTH = 1280
#: Sizes of windows, by the names in the files.
SCREENS = {"390": (390, 844), "1280": (1280, 900), "1920": (1920, 1080)}

_STORAGE, _GENERAL = "resources=CUSTOM_BAREMETAL_STORAGE:1", "resources=CUSTOM_BAREMETAL_GENERAL:1"
_GPU = "resources=CUSTOM_BAREMETAL_GPU:1"
_CONSUMER = {"project_id": "research", "user_id": "ann"}
_RACKS = {"by": "rack", "at_most": 1}
#: What people do to the fleet before the pictures, in this order: paths of the scheduling API, bodies, and statuses.
DEEDS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("nodes/a-general-4/holds", {"type": "hardware_failure", "reason": "A fan is being replaced."}, 201),
    (
        "nodes/b-general-1/holds",
        {
            "type": "window",
            "reason": "The rack gets a new switch.",
            "starts_at": "2050-01-08T06:00:00Z",
            "ends_at": "2050-01-08T08:00:00Z",
        },
        201,
    ),
    ("claims", {"query": _GENERAL, "count": 3, "spread": _RACKS, "consumer": _CONSUMER}, 201),
    ("claims", {"query": _GPU, "consumer": _CONSUMER}, 201),
    (
        "claims",
        {
            "query": f"{_STORAGE}&required=CUSTOM_LIQUID_COOLED",
            "wait": 86_400,
            "even_if_impossible": True,
            "consumer": _CONSUMER,
        },
        202,
    ),
    # Of a type of which there is no event: nothing is sent.
    (
        "webhooks",
        {"url": "https://hooks.example.com/machines", "name": "chat", "types": ["baremetal.node.provision_set.error"]},
        201,
    ),
)


def referred_to() -> set[str]:
    """Return the names of the pictures of pages that the documentation has."""
    texts = [ROOT / "README.md", *(ROOT / "api-ref").rglob("*.rst"), *(ROOT / "api-ref").rglob("*.md")]
    return {name for path in texts for name in re.findall(r"\bui_\w+\.png", path.read_text())}


def main(folder: Path | None) -> None:
    """Start the demo, and take the pictures."""
    with _fleet() as url, chromium() as browser:
        for path in _of_documentation(browser, url) if folder is None else _of_all_pages(browser, url, folder):
            print(f"{path}: {path.stat().st_size // 1024} KiB")


def _of_documentation(browser: Browser, url: str) -> Iterator[Path]:
    for name in sorted(referred_to()):
        path, height = PICTURES[name]
        with Visit(browser, url, (_WIDTH, height), color_scheme="light") as visit:
            visit.open(path).screenshot(path=GUIDES / name)
        yield GUIDES / name


def _of_all_pages(browser: Browser, url: str, folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    with Visit(browser, url) as visit:
        links = visit.open("/ui/").locator("header nav a").evaluate_all("links => links.map(each => each.href)")
    paths = {urlsplit(link).path: None for link in links}
    for path in (*paths, f"/ui/find?{WISH}", "/ui/nodes/a-general-4", "/ui/groups/rack-a"):
        name = re.sub(r"\W+", "_", urlsplit(path).path.removeprefix("/ui/")).strip("_") or "fleet"
        for screen, size in SCREENS.items():
            for scheme in ("light", "dark"):
                with Visit(browser, url, size, color_scheme=scheme) as visit:
                    file = folder / f"{name}_{screen}_{scheme}.png"
                    visit.open(path).screenshot(path=file, full_page=True)
                yield file


@contextmanager
def _fleet() -> Iterator[str]:
    """The demo's service, and what people did to its fleet."""
    with (
        tempfile.TemporaryDirectory() as folder,
        program((*BAREMETAL_SCHED, "demo", "--keep"), Path(folder), "demo") as demo,
    ):
        wait_until(lambda: "OS_PLACEMENT_API_VERSION" in demo.output, "the end of the demo", seconds=300)
        found = re.search(r"keeps running at (\S+) ", demo.output)
        assert found, demo.output
        for path, body, status in DEEDS:
            answer = requests.post(f"{found[1]}/scheduling/v1/{path}", json=body, timeout=30)
            assert answer.status_code == status, answer.text
        yield found[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
