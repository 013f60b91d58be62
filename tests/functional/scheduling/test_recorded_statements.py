"""The statements of claims and releases are the recorded ones: their order, their transactions and their locks.

What is recorded stands in ``tests/data/statements_<database>.txt``, without the values of parameters and without the
columns of whole rows, so that a new column changes nothing. With WRITE_STATEMENTS set it is written instead; look at
the difference before you commit it.
"""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from tests.functional.scheduling.test_claims import CLAIMS, UUID, post, show
from tests.functional.scheduling.test_handover import held
from tests.functional.scheduling.test_several import OTHER, PACK, fill
from tests.service import Service

_DATA = Path(__file__).parents[2] / "data"
_WRITES = "WRITE_STATEMENTS" in os.environ
#: A parameter in the text of a statement, as the drivers spell it.
_PARAMETER = re.compile(r"%\(\w+\)s|%s")
#: Ids that are a part of the text.
_IDS = re.compile(r"\bIN \(\d+(?:, \d+)*\)")
#: The columns of a whole row in a SELECT, and in an INSERT, with the values.
_SELECTED = re.compile(r"(\w+)\.\w+(?:, \1\.\w+){11,}")
_INSERTED = re.compile(r"\(\w+(?:, \w+){11,}\)(?P<values> VALUES \(.*?\)(?= RETURNING| ON |$))?")
FIRST, SECOND = "3f2504e0-4f89-41d3-9a0c-0305e82c3311", "3f2504e0-4f89-41d3-9a0c-0305e82c3312"
Act = Callable[[], object]


class Story:
    """Claims and releases, in order: each of them is passed to ``step`` with its title."""

    def __init__(self, service: Service, step: Callable[[str, Act], None]) -> None:
        self._service = service
        self._step = step
        self._nodes = [service.node(name)["uuid"] for name in ("a-0", "a-1")]

    def tell(self) -> None:
        """Tell it all; at the end everything is given back."""
        first, second = self._nodes
        self._step("a claim", lambda: self._service.claim(FIRST, first, status=204))
        self._step("its release", lambda: self._release(FIRST))
        self._service.claim(FIRST, first)
        self._service.claim(SECOND, second)
        self._wait(UUID)
        handover, self._service.database.handover = self._service.database.handover, None
        self._release(FIRST)
        self._service.database.handover = handover
        after = "a claim of a free machine for which another waits"
        self._step(after, lambda: self._service.claim(FIRST, first, status=409))
        assert held(self._service, UUID) == [first]
        self._wait(OTHER)
        self._step("a release that hands over", lambda: self._release(SECOND))
        assert held(self._service, OTHER) == [second]
        self._delete(OTHER)
        self._delete(UUID)
        several = {"consumer": {"uuid": UUID}, "count": 2, **PACK}
        self._step("a claim of two machines", lambda: post(self._service, **several, status=201))
        assert len(show(self._service)["machines"]) == 2
        self._step("the release of a claim of two machines", lambda: self._delete(UUID))

    def _wait(self, uuid: str) -> None:
        post(self._service, consumer={"uuid": uuid}, wait=60, status=202)

    def _release(self, consumer: str) -> None:
        self._service.placement("DELETE", f"/allocations/{consumer}", status=204)

    def _delete(self, claim: str) -> None:
        self._service.http.delete(f"{CLAIMS}/{claim}", status=204)


@contextmanager
def recorded(service: Service) -> Iterator[list[str]]:
    """The statements of this thread, and where its transactions begin and end."""
    seen: list[str] = []
    own = threading.get_ident()

    def note(line: str) -> None:
        if threading.get_ident() == own:
            seen.append(line)

    def statement(connection: Any, cursor: Any, sent: str, parameters: Any, context: Any, many: bool) -> None:
        text = _shortened(context.statement)  # what is sent may be the EXECUTE of it
        if not text.startswith("BEGIN"):
            note(f"{text} -- {len(parameters)} times" if many else text)

    def ends(word: str) -> Callable[[Any], None]:
        return lambda connection: note(word)

    listeners = {"before_cursor_execute": statement, **{word: ends(word.upper()) for word in _ENDS}}
    engines: set[Engine] = {service.database.engine, service.database.reading_engine}
    places = [(engine, name, listener) for engine in engines for name, listener in listeners.items()]
    for place in places:
        event.listen(*place)
    try:
        yield seen
    finally:
        for place in places:
            event.remove(*place)


_ENDS = ("begin", "commit", "rollback")


def _shortened(statement: str) -> str:
    text = _IDS.sub("IN (<ids>)", " ".join(_PARAMETER.sub("?", statement).split()))
    return _INSERTED.sub(lambda found: "(…)" + (" VALUES (…)" if found["values"] else ""), _SELECTED.sub(r"\1.*", text))


def test_statements_are_those_that_are_recorded(served: Service) -> None:
    fill(served, a=2)
    found: list[str] = []

    def step(title: str, act: Act) -> None:
        with recorded(served) as seen:
            act()
        found.extend([f"# {title}", *seen, ""])

    Story(served, lambda title, act: act()).tell()  # what a process remembers, it remembers from here on
    Story(served, step).tell()
    dialect = served.database.engine.dialect
    name = "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name
    path = _DATA / f"statements_{name}.txt"
    text = "\n".join(found)
    if _WRITES:
        path.write_text(text)
    assert text.splitlines() == path.read_text().splitlines(), f"see WRITE_STATEMENTS in {__name__}"
