"""Finding nodes in another service."""

from typing import Any

import pytest

from baremetal_sched.osc import find
from baremetal_sched.osc.client import RequestFailed


class Ironic:
    """Refuses filters that it does not know, as Ironic does."""

    def get(self, service: str, path: str, parameters: list[tuple[str, str]]) -> Any:
        raise RequestFailed('Unknown Argument: "domain"', 400)


@pytest.mark.parametrize(("pair", "word"), [(("domain", "rack:r1"), "domain"), (("traits", "CUSTOM_A"), "traits")])
def test_filters_that_ironic_does_not_have(pair: tuple[str, str], word: str) -> None:
    with pytest.raises(Exception, match=f"This service does not filter nodes by {word}; Ironic does not."):
        next(find._nodes(Ironic(), [pair], None))  # type: ignore[arg-type]
