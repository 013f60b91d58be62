"""How many examples a property is tried with: few in the first tier, more in ``.ci/run``, many in ``.ci/extended``."""

import os

from hypothesis import HealthCheck, settings

_FIRST_TIER, _SECOND_TIER = 0.2, 0.5
_FEWEST = 10
_DEFAULT = 100  # hypothesis's own

_times = 1.0


def choose(*, few: bool) -> None:
    """Set the number for the modules of tests that are imported from now on. EXAMPLES_TIMES multiplies it."""
    global _times
    _times = _FIRST_TIER if few else float(os.environ.get("EXAMPLES_TIMES", _SECOND_TIER))
    # A machine may have other things to do: an example need not end in time.
    checks = [HealthCheck.too_slow]
    settings.register_profile("patient", deadline=None, suppress_health_check=checks, max_examples=examples(_DEFAULT))
    settings.load_profile("patient")


def examples(usual: int) -> int:
    """Return how many examples to try in this run: a fifth of ``usual`` in the first tier, half in ``.ci/run``."""
    return max(_FEWEST, round(usual * _times))


def parts(most: int) -> range:
    """Return the numbers of the parts of a long property, each with all its examples, which several processes may try:
    ``most`` in ``.ci/extended``, one otherwise."""
    return range(most if _times > 1 else 1)
