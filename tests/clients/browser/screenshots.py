"""The pictures of pages that the guides have, of the demo's fleet: ``python -m tests.clients.browser.screenshots``.

They are written into ``api-ref/guides``.
"""

import re
import tempfile
from pathlib import Path

from tests.clients.browser.chromium import Visit, chromium
from tests.processes import BAREMETAL_SCHED, program, wait_until

GUIDES = Path(__file__).parents[3] / "api-ref" / "guides"
#: What no machine of the demo is.
WISH = "class=baremetal-storage&required=CUSTOM_LIQUID_COOLED"
#: Pages by the name of their picture, and how high that is.
PICTURES = {
    "ui_find.png": (f"/ui/find?{WISH}", 1350),
    "ui_node.png": ("/ui/nodes/a-general-4", 620),
    "ui_group.png": ("/ui/groups/rack-a", 900),
}
_WIDTH = 1000


def main() -> None:
    """Start the demo, and take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        program((*BAREMETAL_SCHED, "demo", "--keep"), Path(folder), "demo") as demo,
        chromium() as browser,
    ):
        wait_until(lambda: "OS_PLACEMENT_API_VERSION" in demo.output, 300, "the end of the demo")
        found = re.search(r"keeps running at (\S+) ", demo.output)
        assert found, demo.output
        for name, (path, height) in PICTURES.items():
            with Visit(browser, found[1], (_WIDTH, height), color_scheme="light") as visit:
                visit.open(path).screenshot(path=GUIDES / name)
            print(f"{GUIDES / name}: {(GUIDES / name).stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
