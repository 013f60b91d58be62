"""The words of a screen reader for each page: landmarks, headings, labels, captions, names of pictures."""

import pytest
from playwright.sync_api import Browser, expect

from tests.clients.browser.chromium import Visit
from tests.clients.browser.conftest import Served

#: Parts of what is said, by page; what stands between them may be there.
EXPECTED = {
    "/ui/": """
        - link "Skip to content"
        - banner:
          - navigation "Pages":
            - list:
              - listitem:
                - link "Fleet"
              - listitem:
                - link "Nodes"
        - main:
          - heading "Fleet" [level=1]
          - region "Needs attention":
            - heading "Needs attention" [level=2]
            - region "Conductor groups with nodes that no live conductor serves":
              - table "Conductor groups with nodes that no live conductor serves":
                - rowgroup:
                  - row:
                    - columnheader "Conductor group"
                - rowgroup:
                  - row:
                    - rowheader "rack1"
            - region "What needs attention, the worst first":
              - table "What needs attention, the worst first":
                - rowgroup:
                  - row:
                    - rowheader "deploy failed"
            - region "Nodes that failed last":
              - table "Nodes that failed last":
                - rowgroup:
                  - row:
                    - rowheader "failed":
                      - link "failed"
          - term: Nodes
          - definition:
            - link "20"
          - term: Conductors alive
          - definition:
            - link "1 of 2"
          - region "By provision state":
            - region "Nodes by provision state":
              - table "Nodes by provision state":
                - rowgroup:
                  - row "clean wait 1 0":
                    - rowheader "clean wait"
          - region "By resource class":
            - region "Nodes by resource class":
              - table "Nodes by resource class"
        - contentinfo
    """,
    "/ui/nodes?traits=CUSTOM_GPU": """
        - banner
        - main:
          - heading "Nodes" [level=1]
          - paragraph: 1 node with these filters
          - list "Filters":
            - listitem:
              - link "Remove the filter traits"
          - group: Filter
          - region "Nodes":
            - table:
              - rowgroup:
                - row:
                  - columnheader "Name":
                    - link "Name"
              - rowgroup:
                - row:
                  - rowheader "Tick claimed claimed":
                    - checkbox "Tick claimed"
                    - link "claimed"
    """,
    "/ui/nodes/claimed": """
        - main:
          - heading "Node claimed" [level=1]
          - list "State":
            - listitem: "Power: power on"
          - region "On offer":
            - heading "On offer" [level=2]
          - region "Facts":
            - heading "Facts" [level=2]
            - term: Conductor group
            - definition:
              - link "(default)"
          - region "Traits":
            - list:
              - listitem:
                - link "CUSTOM_GPU"
          - region "History":
            - heading "History" [level=2]
    """,
    "/ui/groups": """
        - main:
          - heading "Conductor groups" [level=1]
          - region "Conductor groups":
            - table "Conductor groups":
              - rowgroup:
                - row:
                  - rowheader "(default)":
                    - link "(default)"
    """,
    "/ui/groups/rack1": """
        - main:
          - heading "Conductor group rack1" [level=1]
          - region "Driver fake-hardware":
            - heading "Driver fake-hardware" [level=2]
            - figure /Inner ring/:
              - img "Ring of the driver fake-hardware in the conductor group rack1"
            - region "Conductors of the ring of fake-hardware":
              - table:
                - rowgroup:
                  - row:
                    - rowheader "c2"
    """,
    "/ui/find?class=gold&required=CUSTOM_GPU": """
        - main:
          - heading "Find machines" [level=1]
          - form "Find machines":
            - group "By class and traits":
              - textbox "Resource class": gold
              - textbox "Has all traits": CUSTOM_GPU
            - button "Find"
          - region "No machine fits":
            - heading "No machine fits" [level=2]
            - paragraph: /No node that matches is free/
          - region "What ruled out how many":
            - region "Machines ruled out, condition by condition":
              - table "Machines ruled out, condition by condition":
                - rowgroup:
                  - row:
                    - columnheader "A machine must fulfil this"
                - rowgroup:
                  - row:
                    - rowheader /has CUSTOM_GPU/
          - region "Machines that would fit if they were free":
            - region "Why they are not free":
              - table "Why they are not free":
                - rowgroup:
                  - row "allocated 1":
                    - rowheader "allocated"
    """,
    "/ui/capacity": """
        - main:
          - heading "Capacity" [level=1]
          - group: Filter
          - term: Machines
          - definition:
            - link "20"
          - term: Free
          - region "By class and conductor group":
            - figure /Free . all machines/:
              - region "By class and conductor group":
                - group "Free machines of all, by resource class (rows) and conductor group (columns)"
          - region "Machines by resource class and conductor group, the most first":
            - table:
              - rowgroup:
                - row:
                  - columnheader "Why they are unavailable"
              - rowgroup:
                - row:
                  - rowheader "gold"
                  - rowheader "(default)":
                    - link "(default)"
    """,
}


@pytest.mark.parametrize("path", EXPECTED)
def test_what_is_said(browser: Browser, twenty: Served, path: str) -> None:
    with Visit(browser, twenty.url) as visit:
        expect(visit.open(path).locator("body")).to_match_aria_snapshot(EXPECTED[path], timeout=5000)
