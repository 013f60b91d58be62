"""A browser, and visits to one service in it that go wrong if a page does anything but show what the service sent."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Response, Route, sync_playwright

#: Debian's package is called chromium, too.
PROGRAM = "chromium"
PHONE, HANDSET, DESK, WALL = (320, 640), (390, 844), (1280, 900), (1920, 1080)
_MILLISECONDS = 30_000
_FAILED = "Failed to load resource: the server responded with a status of"


def program() -> str | None:
    """Return the path of the installed browser, None if there is none."""
    return shutil.which(PROGRAM)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, without a window."""
    # Its sandbox needs another user than root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def log_out(page: Page) -> None:
    """Log out by the menu of the person."""
    page.locator(".person summary").click()
    page.get_by_role("button", name="Log out").click()


class Visit:
    """One visitor of the service at ``url``, with a window of ``size``.

    At the end it fails if a page asked for anything from elsewhere, wrote to the console (where violations of its
    Content-Security-Policy are reported), or if something that it needs was missing.
    """

    def __init__(self, browser: Browser, url: str, size: tuple[int, int] = DESK, **options: Any) -> None:
        self.url = url
        self.complaints: list[str] = []
        #: What was asked for, page by page.
        self.requests: list[str] = []
        self._expected = 200
        self._origin = urlsplit(url)[:2]
        viewport = {"width": size[0], "height": size[1]}
        self._context = browser.new_context(base_url=url, viewport=viewport, service_workers="block", **options)
        self._context.set_default_timeout(_MILLISECONDS)
        self._context.route("**/*", self._pass)
        self.page: Page = self._context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("response", self._answered)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.close()
        if error is None:
            assert not self.complaints, "\n".join(self.complaints)

    def open(self, path: str, status: int = 200) -> Page:
        """Go to ``path``, which is answered with ``status``."""
        self._expected = status
        answer = self.page.goto(path)
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status} {answer.text()[:2000]}"
        return self.page

    def log_in(self, user: str, password: str, status: int = 200) -> Page:
        """Fill in the form for a password, on the page that is open or on its own, and send it."""
        if "/ui/login" not in self.page.url:
            self.open("/ui/login")
        self._expected = status
        self.page.get_by_label("User").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Log in", exact=True).click()
        return self.page

    def is_led_to_log_in(self, path: str) -> bool:
        """Return whether the browser shows the log-in instead of ``path``."""
        return self.open(path).url.startswith(f"{self.url}/ui/login?next=")

    def cookie(self, name: str) -> dict[str, Any] | None:
        """Return a cookie of the visitor, None if it is not there."""
        return next((dict(each) for each in self._context.cookies() if each["name"] == name), None)

    def expect_status(self, status: int) -> None:
        """Say that the next page will be answered with this status."""
        self._expected = status

    def answer_elsewhere(self, address: str, text: str) -> None:
        """Let another site have a page at ``address``."""
        self._context.route(address, lambda route: route.fulfill(body=text, content_type="text/html"))

    def _pass(self, route: Route) -> None:
        address = route.request.url
        self.requests.append(address)
        if urlsplit(address)[:2] == self._origin:
            route.continue_()
        else:
            self.complaints.append(f"request elsewhere: {address}")
            route.abort()

    def _said(self, message: ConsoleMessage) -> None:
        # That the page itself is an error. Of what it needs, ``_answered`` says so.
        if self._expected >= 400 and message.text.startswith(f"{_FAILED} {self._expected}"):
            return
        self.complaints.append(f"console: {message.text}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            self.complaints.append(f"{response.status}: {response.url}")
