"""No browser and no proxy keeps an answer: it is for the caller, and true for a moment."""

import pytest

from tests.service import Service

pytestmark = pytest.mark.sqlite_only


def test_answers_are_not_kept(service: Service, subtests: pytest.Subtests) -> None:
    for path in [
        *("/", "/healthcheck", "/metrics", "/no/such/path", "/baremetal", "/baremetal/v1/nodes", "/baremetal/v1/no"),
        *("/compute/v2.1/flavors", "/compute/v2.1/servers/no", "/image/v2/images", "/image/v2/images/no"),
        *("/scheduling/v1/capacity", "/scheduling/v1/no", "/ui/nodes"),
    ]:
        with subtests.test(path=path):
            for method in ("GET", "HEAD", "OPTIONS"):
                answer = service.http.request(path, method=method, expect_errors=True)
                assert answer.headers["Cache-Control"] == "no-store", method


def test_what_an_agent_is_told_is_not_kept(service: Service) -> None:
    """A token."""
    uuid = service.add_node("n1", power=False)
    told = service.baremetal("GET", f"/lookup?node_uuid={uuid}", status="*")
    assert told.headers["Cache-Control"] == "no-store"


def test_what_says_otherwise_stays(service: Service) -> None:
    """Pages' style sheets, and Placement, whose answers say it themselves from 1.15 as the original's do."""
    assert service.http.get("/ui/static/ui.css").headers["Cache-Control"] == "no-cache"
    assert service.placement("GET", "/traits").headers["Cache-Control"] == "no-cache"
    assert "Cache-Control" not in service.placement("GET", "/traits", version="1.14").headers
