"""The documentation as people read it: found by search, within two clicks, nothing cut, on a desk and on a phone."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from tests.clients.browser.chromium import DESK, PHONE, Visit

ROOT = Path(__file__).parents[3]

#: What people type, and the page that must come first.
SEARCHES = {
    "quickstart": "tutorial",
    "install": "guides/production",
    "power unknown": "guides/machines",
    "backup": "guides/backup",
    "no valid host": "guides/nothing_found",
}
_CUT = """[...document.querySelectorAll("pre")].filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.textContent.slice(0, 80))"""
#: Codes of statuses, as in "503 - Service Unavailable", that are on several lines.
_BROKEN = """[...document.querySelectorAll("table.described td:first-child code")]
  .filter((each) => /^[0-9]{3} - /.test(each.textContent) && each.getClientRects().length > 1)
  .map((each) => each.textContent)"""
_LINKS = """[...document.querySelectorAll("a[href]")].map((each) => each.href)"""
_ANCHORS = """[...document.querySelectorAll("[id]")].map((each) => each.id)"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the documentation, which is built and served."""
    folder = tmp_path_factory.mktemp("site")
    build = (sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", ROOT / "api-ref", folder)
    done = subprocess.run(build, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def links(page: Page, site: str) -> set[str]:
    """The addresses of pages of the site that a page leads to, with their anchors."""
    found: list[str] = page.evaluate(_LINKS)
    return {each for each in found if each.startswith(site) and urlsplit(each).path.endswith((".html", "/"))}


def test_pages(browser: Browser, site: str) -> None:
    """Each is two clicks away, cuts no code, fits, and leads to nothing that there is not."""
    wanted: dict[str, set[str]] = {}
    anchors: dict[str, set[str]] = {}
    clicks = {f"{site}/index.html": 0}
    todo = [*clicks]
    with Visit(browser, site, DESK) as visit:
        while todo:
            address = todo.pop(0)
            page = visit.open(address.removeprefix(site))
            assert page.evaluate(_CUT) == [], address
            assert page.evaluate(_BROKEN) == [], address
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
            anchors[address] = set(page.evaluate(_ANCHORS))
            wanted[address] = links(page, site)
            for each in sorted({urldefrag(urljoin(address, link))[0] for link in wanted[address]}):
                if each not in clicks:
                    clicks[each] = clicks[address] + 1
                    todo.append(each)
    assert {page: count for page, count in clicks.items() if count > 2} == {}
    assert len(clicks) > 100
    missing = [
        (page, link)
        for page, found in wanted.items()
        for link in found
        if "#" in link and urldefrag(link)[1] and urldefrag(link)[1] not in anchors.get(urldefrag(link)[0], set())
    ]
    assert missing == []


@pytest.mark.parametrize("words", SEARCHES)
def test_search_finds_the_guide_first(browser: Browser, site: str, words: str) -> None:
    with Visit(browser, site) as visit:
        page = visit.open(f"/search.html?q={words.replace(' ', '+')}")
        first = page.locator("#search-results ul.search li a").first
        first.wait_for()
        assert (first.get_attribute("href") or "").split(".html")[0] == SEARCHES[words]


@pytest.mark.parametrize("path", ["index", "tutorial", "guides/production", "baremetal/nodes", "troubleshooting"])
def test_on_a_phone_in_the_dark(browser: Browser, site: str, path: str) -> None:
    with Visit(browser, site, PHONE, color_scheme="dark") as visit:
        page = visit.open(f"/{path}.html")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert page.get_by_role("heading", level=1).is_visible()
