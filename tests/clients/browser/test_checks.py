"""The checks themselves: each sees what it is there for."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser

from tests.clients.browser import checks
from tests.clients.browser.chromium import PHONE, Visit

GOOD = """<!doctype html><html lang="en"><head><title>Fleet</title><meta name="viewport" content="width=device-width">
<style>:root {color-scheme: light dark} a:focus {outline: 2px solid} body {overflow-wrap: anywhere}</style></head>
<body><header><a href="/">Fleet</a></header><main><h1>Fleet</h1><h2>Nodes</h2>%s</main></body></html>"""


class Pages(BaseHTTPRequestHandler):
    """Serves its one page, and 404 for all that it needs."""

    page = ""

    def do_GET(self) -> None:
        found = self.path == "/"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src *")
        self.end_headers()
        self.wfile.write(self.page.encode() if found else b"")

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def show(visit: Visit, body: str, page: str = GOOD) -> list[str]:
    """Go to a page; returns its errors."""
    Pages.page = page % body
    visit.open("/")
    return checks.structure(visit.page) + checks.contrast(visit.page) + checks.width(visit.page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_good_page(browser: Browser, url: str, scheme: str) -> None:
    body = """<p>Text <a href="/n">n</a></p><table><caption>Nodes</caption><tr><th scope="col">Name</th></tr></table>
        <form><label>Class <input name="c"></label><button>Find</button></form>
        <svg role="img" aria-labelledby="t" width="9" height="9"><title id="t">Ring</title>
        <rect width="90" height="90" fill="#777"/><text y="9" fill="#000">1</text></svg>"""
    with Visit(browser, url, PHONE, color_scheme=scheme) as visit:
        assert show(visit, body) == []


BAD = {
    "<p style='color: #999'>pale</p>": "contrast 2.85",
    "<p style='opacity: .5'>pale</p>": "contrast",
    "<p style='background: linear-gradient(red, blue)'>?</p>": "contrast NaN",
    "<label>A <input name=a style='color: #aaa'></label>": "contrast 2.32",
    "<svg><rect width=99 height=99 fill='#333'/><text y=40 fill='#000'>1</text></svg>": "contrast 1.66",
    "<svg><defs><pattern id=p><rect fill='#fff'/><line stroke='#222'/></pattern></defs>"
    "<rect width=99 height=99 fill='url(#p)'/><text y=40 fill='#000'>1</text></svg>": "contrast 1.32",
    "<h1>Another</h1>": "2 times h1",
    "<h4>Deep</h4>": "a level is left out",
    "<table><tr><td>1</table>": "no caption",
    "<table><caption>Nodes</caption><tr><th>1</table>": "no scope",
    "<input name=a>": "no label",
    "<a href=/></a>": "no name",
    "<svg role=img></svg>": "a picture without a name",
    "<p id=a>1<p id=a>2": "several elements are #a",
    "<p aria-labelledby=a>1": "aria-labelledby=a: nothing",
    "<p tabindex=3>1": "not allowed",
    "<p onclick='1'>1": "onclick",
    "<a href='javascript:1'>1</a>": "href",
    "<p style='width: 400px'>1": "the page is",
    "<div style='overflow-x: auto'><p style='width: 400px'>1</div>": "out of reach of the keyboard",
    "<div style='overflow-x: auto' tabindex=0><p style='width: 400px'>1</div>": "a region without a name",
}


def test_bad_pages(browser: Browser, url: str) -> None:
    """Each of these is noticed."""
    with Visit(browser, url, PHONE) as visit:
        for body, words in BAD.items():
            found = show(visit, body)
            assert any(words in one for one in found), (body, found)
        visit.complaints.clear()


def test_a_page_without_anything(browser: Browser, url: str) -> None:
    with Visit(browser, url) as visit:
        found = show(visit, "", "<!doctype html><p>%s")
    assert {"the page says no language", "the page has no title", "0 times main"} <= set(found)


COMPLAINTS = {
    "<img src='http://localhost:1/a.png' alt=a>": "request elsewhere: http://localhost:1/a.png",
    "<img src='/a.png' alt=a>": "404: ",
    "<script>1</script>": "console: ",
}


def test_complaints(browser: Browser, url: str) -> None:
    """A page asks elsewhere, lacks something, or breaks its Content-Security-Policy."""
    with Visit(browser, url) as visit:
        for body, words in COMPLAINTS.items():
            visit.complaints.clear()
            show(visit, body)
            visit.page.wait_for_load_state("networkidle")
            assert any(one.startswith(words) for one in visit.complaints), visit.complaints
        visit.complaints.clear()


def test_a_visit_fails_if_there_are_complaints(browser: Browser, url: str) -> None:
    visit = Visit(browser, url)
    visit.complaints.append("console: Refused")
    with pytest.raises(AssertionError, match="console: Refused"), visit:
        pass


def test_focus(browser: Browser, url: str) -> None:
    """Where the focus is, and whether that can be seen."""
    with Visit(browser, url) as visit:
        show(visit, "<button style='outline: none'>Find</button>")
        assert checks.focused(visit.page) is None
        visit.page.keyboard.press("Tab")
        assert checks.focused(visit.page) == {"tag": "a", "name": "Fleet", "href": "/", "seen": True}
        visit.page.keyboard.press("Tab")
        assert checks.focused(visit.page) == {"tag": "button", "name": "Find", "href": None, "seen": False}
