"""A way through the package follows functions and objects, and its climbs are the calls that lead back."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.definitions import PACKAGE, read
from tests.ways import Way, Ways

MODULES = {
    "__init__": "",
    "view": """
        from baremetal_sched import functions, leaf
        from baremetal_sched.shop import Shop

        def call(shop: Shop) -> None:
            functions.first()

        def field(shops: "dict[str, Shop] | None") -> None:
            for each in (shops or {}).values():
                each.owner.pay()

        def result() -> None:
            found = sorted(functions.shops())
            found[0].size

        def constructed() -> None:
            Shop(1)

        def protocol(shop: Shop) -> None:
            shop.till.open()

        def constant() -> None:
            functions.TABLE["a"]

        def super_class() -> None:
            Shop.made().close()

        def local(leaf: int) -> None:
            first = leaf
            leaf.end()
        """,
    "functions": """
        from baremetal_sched.leaf import end
        from baremetal_sched.shop import Shop

        TABLE = {"a": end}

        def first() -> None:
            second()

        def second() -> None:
            pass

        def shops() -> list[Shop]:
            pass
        """,
    "shop": """
        from baremetal_sched.people import Owner
        from baremetal_sched.leaf import end
        from baremetal_sched.tills import Till

        class Base:
            def close(self) -> None:
                end()

        class Shop(Base):
            owner: Owner

            def __init__(self, till: Till) -> None:
                self.till = till
                from baremetal_sched import deep
                deep.dig()

            @classmethod
            def made(cls) -> "Shop":
                return cls(1)

            @property
            def size(self) -> int:
                return end()
        """,
    "people": "class Owner:\n    def pay(self) -> None:\n        pass\n",
    "leaf": "def end() -> None:\n    pass\n",
    "deep": "def dig() -> None:\n    pass\n",
    "tills": """
        from typing import Protocol

        class Till(Protocol):
            def open(self) -> None:
                \"\"\"Open it.\"\"\"

            def shut(self) -> None: ...
        """,
    "iron": "class Iron:\n    def open(self) -> None:\n        pass\n\n    def shut(self) -> None:\n        pass\n",
    "wood": "def open() -> None:\n    pass\n\n\ndef shut() -> None:\n    pass\n",
    "other": "class Other:\n    def open(self) -> None:\n        pass\n",
}


@pytest.fixture
def ways(tmp_path: Path) -> Ways:
    (tmp_path / PACKAGE).mkdir()
    for name, text in MODULES.items():
        (tmp_path / PACKAGE / f"{name}.py").write_text(dedent(text))
    return Ways(read(tmp_path))


@pytest.mark.parametrize(
    ("view", "rooms"),
    [
        ("call", ["functions"]),
        ("field", ["people"]),
        ("result", ["functions", "shop", "leaf"]),
        ("constructed", ["shop", "deep"]),
        ("protocol", ["iron", "wood"]),
        ("constant", ["leaf"]),
        ("super_class", ["shop", "deep", "leaf"]),
        ("local", []),
    ],
)
def test_rooms_are_the_modules_with_functions_that_a_view_names(ways: Ways, view: str, rooms: list[str]) -> None:
    way = ways.way(f"{PACKAGE}.view", view)
    assert [room.removeprefix(f"{PACKAGE}.") for room in way.rooms] == ["view", *rooms]


def test_a_way_stays_within_packages(ways: Ways) -> None:
    within = (f"{PACKAGE}.view.", f"{PACKAGE}.shop.")
    assert ways.way(f"{PACKAGE}.view", "super_class", within).rooms == (f"{PACKAGE}.view", f"{PACKAGE}.shop")


def test_climbs_are_calls_of_rooms_that_are_nearer_to_the_view() -> None:
    calls = frozenset(
        {("view", "a"), ("view", "clock"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "clock"), ("c", "b")}
    )
    assert Way(("view", "a", "b", "c", "clock"), calls).climbs == [("c", "a"), ("c", "b")]
