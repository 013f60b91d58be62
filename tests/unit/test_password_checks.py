"""Checks of passwords: their cost, remembered results, and who must wait."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import bcrypt
import pytest

from baremetal_sched.errors import AuthenticationUnavailable
from baremetal_sched.web.authentication import password_checks, password_file
from baremetal_sched.web.authentication.password_checks import (
    AT_ONCE,
    FAILURES,
    SECONDS_EACH,
    LoginLimits,
    PasswordChecks,
)
from baremetal_sched.web.http_errors import TooManyFailedLogins
from tests.waiting import wait_until


def users_with(**passwords: str) -> password_file.Users:
    lines = [f"{name}:{bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode()}" for name, word in passwords.items()]
    return password_file.parse_users("\n".join(lines))


class Bcrypt:
    """bcrypt, counting what it is asked; held up while ``gate`` is closed."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.gate = threading.Event()
        self.gate.set()

    def checkpw(self, password: bytes, hashed: bytes) -> bool:
        self.asked.append(hashed)
        assert self.gate.wait(60)
        return bcrypt.checkpw(password, hashed)


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bcrypt]:
    counting = Bcrypt()
    monkeypatch.setattr(password_checks, "bcrypt", counting)
    yield counting
    counting.gate.set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(password_checks, "time", clock)
    return clock


USERS = users_with(ann="secret", bob="other")


def test_right_and_wrong(work: Bcrypt) -> None:
    checks = PasswordChecks()
    assert checks.is_right(USERS, "ann", b"secret", "192.0.2.1")
    assert not checks.is_right(USERS, "ann", b"other", "192.0.2.1")
    assert not checks.is_right(USERS, "bob", b"secret", "192.0.2.1")
    assert not checks.is_right(USERS, "", b"", "192.0.2.1")


def test_each_is_checked_once(work: Bcrypt) -> None:
    checks = PasswordChecks()
    for _ in range(3):
        assert checks.is_right(USERS, "ann", b"secret", "")
        assert not checks.is_right(USERS, "ann", b"wrong", "")
        assert not checks.is_right(USERS, "eve", b"wrong", "")
    assert len(work.asked) == 3


def test_users_who_do_not_exist_cost_the_same(work: Bcrypt) -> None:
    """Each of them, with a password that was tried for another too."""
    checks = PasswordChecks()
    for name in ("ann", "eve", "mallory"):
        assert not checks.is_right(USERS, name, b"guess", "")
    assert work.asked == [USERS.hashes["ann"], USERS.decoy, USERS.decoy]
    assert {hashed[:7] for hashed in work.asked} == {b"$2b$04$"}


def test_what_is_remembered_ends_with_the_password(work: Bcrypt) -> None:
    checks = PasswordChecks()
    assert checks.is_right(USERS, "ann", b"secret", "")
    assert not checks.is_right(USERS, "ann", b"new", "")
    changed = users_with(ann="new")
    assert not checks.is_right(changed, "ann", b"secret", "")
    assert checks.is_right(changed, "ann", b"new", "")
    assert not checks.is_right(users_with(bob="x"), "ann", b"new", "")


def test_no_password_and_no_plain_digest_is_remembered() -> None:
    """Two processes remember different digests of the same."""
    found = []
    for _ in range(2):
        checks = PasswordChecks()
        assert checks.is_right(USERS, "ann", b"secret", "")
        found.append(set(checks._right))
        assert "secret" not in repr(vars(checks))
    assert found[0].isdisjoint(found[1])
    assert [len(digest) for digest in found[0]] == [32]


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch, work: Bcrypt) -> None:
    """The least recently used results are forgotten, and wrong ones never push right ones out."""
    monkeypatch.setattr(password_checks, "_REMEMBERED", 2)
    checks = PasswordChecks()
    assert checks.is_right(USERS, "ann", b"secret", "")
    for number in range(5):
        assert not checks.is_right(USERS, "ann", b"wrong %d" % number, "")
    asked = len(work.asked)
    assert checks.is_right(USERS, "ann", b"secret", "")
    assert not checks.is_right(USERS, "ann", b"wrong 4", "")
    assert len(work.asked) == asked
    assert not checks.is_right(USERS, "ann", b"wrong 0", "")
    assert len(work.asked) == asked + 1


def test_passwords_that_bcrypt_cannot_check_are_wrong(subtests: pytest.Subtests, work: Bcrypt) -> None:
    for password in [b"x" * 73, b"x" * 10_000, b"a\0b", "ä".encode() * 37]:
        with subtests.test(password=password):
            assert not PasswordChecks().is_right(USERS, "ann", password, "")
            assert work.asked == []


def test_a_password_of_72_bytes_is_checked() -> None:
    users = users_with(ann="x" * 72)
    assert PasswordChecks().is_right(users, "ann", b"x" * 72, "")


def test_the_same_at_once_is_checked_once(work: Bcrypt) -> None:
    checks = PasswordChecks()
    work.gate.clear()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(checks.is_right, USERS, "ann", b"secret", "") for _ in range(8)]
        work.gate.set()
        assert all(one.result(60) for one in asked)
    assert len(work.asked) == 1


def test_few_are_checked_at_once(work: Bcrypt) -> None:
    """Others do not wait, and so hold no thread; what is known already is answered meanwhile."""
    checks = PasswordChecks()
    assert checks.is_right(USERS, "bob", b"other", "")
    work.asked.clear()
    work.gate.clear()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        guesses = [pool.submit(checks.is_right, USERS, "ann", b"guess %d" % number, "") for number in range(AT_ONCE)]
        wait_until(lambda: len(work.asked) == AT_ONCE, "all checks to begin")
        with pytest.raises(AuthenticationUnavailable):
            checks.is_right(USERS, "ann", b"secret", "")
        assert checks.is_right(USERS, "bob", b"other", "")
        work.gate.set()
        assert not any(guess.result(60) for guess in guesses)
    assert checks.is_right(USERS, "ann", b"secret", "")


def test_failures_are_limited_by_address(work: Bcrypt, clock: Clock) -> None:
    """Nothing is checked then, but what is known already is answered; others are not concerned."""
    checks = PasswordChecks()
    assert checks.is_right(USERS, "bob", b"other", "192.0.2.1")
    for number in range(FAILURES):
        assert not checks.is_right(USERS, "ann", b"guess %d" % number, "192.0.2.1")
    asked = len(work.asked)
    with pytest.raises(TooManyFailedLogins) as caught:
        checks.is_right(USERS, "ann", b"secret", "192.0.2.1")
    assert caught.value.details["retry_after"] == SECONDS_EACH
    assert len(work.asked) == asked
    assert checks.is_right(USERS, "bob", b"other", "192.0.2.1")
    assert not checks.is_right(USERS, "ann", b"guess 1", "192.0.2.1")
    assert checks.is_right(USERS, "ann", b"secret", "192.0.2.2")


def test_log_ins_that_succeed_are_not_counted(work: Bcrypt, clock: Clock) -> None:
    users = users_with(**{f"user{number}": f"word{number}" for number in range(2 * FAILURES)})
    checks = PasswordChecks()
    for number in range(2 * FAILURES):
        assert checks.is_right(users, f"user{number}", b"word%d" % number, "192.0.2.1")


def test_many_at_once_are_counted(work: Bcrypt, clock: Clock) -> None:
    """Though none of them has failed yet."""
    limits = LoginLimits()
    for _ in range(FAILURES):
        limits.count("192.0.2.1")
    with pytest.raises(TooManyFailedLogins):
        limits.count("192.0.2.1")
    limits.give_back("192.0.2.1")
    limits.count("192.0.2.1")


def test_time_gives_attempts_back(clock: Clock) -> None:
    limits = LoginLimits()
    for _ in range(FAILURES):
        limits.count("192.0.2.1")
    clock.now += SECONDS_EACH / 2
    with pytest.raises(TooManyFailedLogins) as caught:
        limits.count("192.0.2.1")
    assert caught.value.details["retry_after"] == SECONDS_EACH / 2
    clock.now += SECONDS_EACH / 2
    limits.count("192.0.2.1")
    with pytest.raises(TooManyFailedLogins):
        limits.count("192.0.2.1")
    clock.now += 100 * FAILURES * SECONDS_EACH
    for _ in range(FAILURES):
        limits.count("192.0.2.1")
    with pytest.raises(TooManyFailedLogins):
        limits.count("192.0.2.1")


def test_addresses_that_are_one(subtests: pytest.Subtests, clock: Clock) -> None:
    for one, other, are_one in [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("", "", True),
    ]:
        with subtests.test(one=one, other=other):
            limits = LoginLimits()
            for _ in range(FAILURES):
                limits.count(one)
            if are_one:
                with pytest.raises(TooManyFailedLogins):
                    limits.count(other)
            else:
                limits.count(other)


def test_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(password_checks, "_ADDRESSES", 5)
    limits = LoginLimits()
    for number in range(100):
        limits.count(f"192.0.2.{number}")
    assert len(limits._budgets) == 5
