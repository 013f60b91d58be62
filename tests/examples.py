"""How many examples a property is tried with: few in plain ``pytest``, all of them wherever slow tests run, too."""

from hypothesis import HealthCheck, settings

_SHARE = 5
_FEWEST = 10
_DEFAULT = 100  # hypothesis's own

_are_few = False


def choose(*, few: bool) -> None:
    """Let the modules of tests that are imported from now on try few examples, or all."""
    global _are_few
    _are_few = few
    # A machine may have other things to do: no example has to end in time.
    checks = [HealthCheck.too_slow]
    settings.register_profile("patient", deadline=None, suppress_health_check=checks, max_examples=examples(_DEFAULT))
    settings.load_profile("patient")


def examples(most: int) -> int:
    """Return how many examples to try in this run, where ``most`` are tried with the slow tests."""
    return max(_FEWEST, most // _SHARE) if _are_few else most
