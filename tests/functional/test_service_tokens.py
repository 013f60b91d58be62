"""A service token without the role that makes it one: 401, and one line in the log says why."""

from typing import Any

import pytest

from baremetal_sched.errors import NotAuthenticated
from tests.fake_keystone import FakeKeystone
from tests.functional.test_keystone import keystone, request, strategy_for

__all__ = ["keystone"]

_EVENT = "a service token was refused: its user has none of the roles in [keystone_authtoken] service_token_roles"


def test_a_missing_role_is_named_once(keystone: FakeKeystone, caplog: pytest.LogCaptureFixture) -> None:
    user = keystone.issue("alice", "member", project="red")
    helper = keystone.issue("nova", "member", "reader", project="service")
    with pytest.raises(NotAuthenticated):
        strategy_for(keystone).authenticate(request(user, helper))
    (line,) = _lines(caplog)
    assert (line["roles"], line["service_token_roles"], line["user_id"]) == (
        ["member", "reader"],
        ["service"],
        "nova-id",
    )
    assert line["project_id"] == "service-id"
    assert user not in caplog.text
    assert helper not in caplog.text


def test_other_refusals_have_no_such_line(
    keystone: FakeKeystone, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    user = keystone.issue("alice", "member", project="red")
    expired = keystone.issue("nova", "service", project="service", seconds=-1)
    for name, tokens in {
        "unknown": (user, "unknown"),
        "expired": (user, expired),
        "no user": ("unknown", None),
    }.items():
        with subtests.test(msg=name):
            with pytest.raises(NotAuthenticated):
                strategy_for(keystone).authenticate(request(*tokens))
            assert _lines(caplog) == []


def _lines(caplog: pytest.LogCaptureFixture) -> list[Any]:
    messages: list[Any] = [record.msg for record in caplog.records]
    return [message for message in messages if isinstance(message, dict) and message["event"] == _EVENT]
