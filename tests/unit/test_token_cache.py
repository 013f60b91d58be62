"""The cache of tokens: for a while, not more than so many, and not the tokens themselves."""

import pytest

from baremetal_sched.web.authentication.keystone import TokenCache


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_was_said_is_kept_for_a_while() -> None:
    clock = Clock()
    cache = TokenCache(10, clock=clock)
    cache.set("a", {"n": 1})
    clock.now += 9.9
    assert cache.get("a") == {"n": 1}
    clock.now += 0.1
    assert cache.get("a") is None
    assert cache.get("b") is None


def test_what_is_said_again_is_kept_anew() -> None:
    clock = Clock()
    cache = TokenCache(10, clock=clock)
    cache.set("a", {"n": 1})
    clock.now += 5
    cache.set("b", {"n": 2})
    cache.set("a", {"n": 3})
    clock.now += 9
    assert cache.get("a") == {"n": 3}
    clock.now += 1
    cache.set("c", {})
    assert list(map(cache.get, "abc")) == [None, None, {}]
    assert len(cache._entries) == 1  # what is over was thrown away


def test_of_too_many_the_oldest_go() -> None:
    cache = TokenCache(10, most=2, clock=Clock())
    for token in "abc":
        cache.set(token, {"token": token})
    assert list(map(cache.get, "abc")) == [None, {"token": "b"}, {"token": "c"}]


def test_nothing_is_kept_if_that_is_asked_for(subtests: pytest.Subtests) -> None:
    for seconds in [-1, 0]:
        with subtests.test(seconds=seconds):
            cache = TokenCache(seconds, clock=Clock())
            cache.set("a", {"n": 1})
            assert cache.get("a") is None
            assert not cache._entries


def test_tokens_are_not_in_it() -> None:
    cache = TokenCache(10)
    cache.set("planted", {"n": 1})
    assert "planted" not in repr(vars(cache))
