"""Pictures: well-formed, escaped, with names for screen readers, and of a bounded size whatever they show."""

import re
from importlib.resources import files
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from baremetal_sched.ui.pictures.day import EVERY, SAMPLES, DaySample, day
from baremetal_sched.ui.pictures.drawing import compact, shortened
from baremetal_sched.ui.pictures.heat_map import LEVELS, MOST_COLUMNS, MOST_ROWS, Cell, bar, grid, heat_map
from baremetal_sched.ui.pictures.marks import KINDS, MOST_MARKS, MarkGroup, marks
from baremetal_sched.ui.pictures.ring import COLOURS, MOST_ARCS, RingMember, ring

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>\u202e\x00\x1b\ud800\" onload='x' &amp;"


def parsed(picture: Markup) -> ElementTree.Element:
    root = ElementTree.fromstring(str(picture))
    assert root.tag == f"{SVG}svg"
    assert not [each for each in root.iter() if "style" in each.attrib or each.tag in (f"{SVG}script", f"{SVG}style")]
    return root


def named(root: ElementTree.Element) -> tuple[str, str]:
    """The name and the description that a screen reader finds."""
    by_id = {each.get("id"): each for each in root.iter() if each.get("id")}
    assert root.get("role") == "img"
    title, description = (by_id[root.get(f"aria-{what}")] for what in ("labelledby", "describedby"))
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    return title.text or "", description.text or ""


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if name in each.get("class", "").split()]


def equal(number: int, dead: int = 0) -> list[RingMember]:
    alive = number - dead
    return [
        RingMember(
            f"c{place}", place >= dead, 7 if place >= dead else 0, 1 / alive if place >= dead else 0.0, 1 / number
        )
        for place in range(number)
    ]


def test_a_ring_has_an_arc_of_each_conductor(subtests: pytest.Subtests) -> None:
    for number, dead, arcs in [(1, 0, 1), (2, 0, 2), (3, 1, 5), (200, 0, MOST_ARCS), (2, 2, 2)]:
        with subtests.test(number=number, dead=dead):
            root = parsed(ring("r", "rack1", equal(number, dead), 21))
            assert len(of_class(root, "arc")) == arcs
            assert len(of_class(root, "dead")) == dead
            title, description = named(root)
            assert title == "rack1"
            assert ("is dead" in description) == bool(dead)
            assert ("not served" in description) == (number == dead)
            assert f"{number - dead} of {number} alive" in texts(root)
            assert len(str(ring("r", "rack1", equal(number, dead), 21))) < 30_000


def test_a_ring_without_conductors() -> None:
    root = parsed(ring("r", "rack1", [], 0))
    assert named(root)[1] == "No conductor is registered. 0 nodes not served."
    assert len(of_class(root, "no-conductor")) == 1
    assert texts(root) == ["0", "nodes", "no conductor"]


def test_dead_conductors_are_hatched_and_their_part_is_told() -> None:
    members = [RingMember("a", True, 4, 1.0, 0.6), RingMember("b", False, 0, 0.0, 0.4)]
    root = parsed(ring("group-1", "rack1", members, 4))
    (dead,) = of_class(root, "dead")
    (pattern,) = root.iter(f"{SVG}pattern")
    assert dead.get("fill") == f"url(#{pattern.get('id')})"
    assert [each.text for each in dead.iter(f"{SVG}title")] == ["2: b, dead, 40.0 %"]
    assert named(root)[1] == "4 nodes. 1: a has 100.0 % of the ring and 4 nodes; 2: b is dead."
    # A part of nearly nothing has an arc, and no number in it.
    root = parsed(ring("r", "t", [RingMember("a", True, 1, 0.999999, 1.0), RingMember("b", True, 1, 1e-9, 0.0)], 3))
    assert len(of_class(root, "arc")) == 2
    assert [each.text for each in of_class(root, "arc-label")] == ["1"]


def test_a_heat_map_has_the_numbers() -> None:
    cells = {("gold", "rack1"): Cell(3, 40), ("gold", "(none)"): Cell(0, 2), ("silver", "rack1"): Cell(5, 5)}
    root = parsed(heat_map("h", "Capacity", grid(cells)))
    assert [each for each in texts(root) if "/" in each] == ["0 / 2", "3 / 40", "5 / 5"]
    assert texts(root)[:2] == ["(none)", "rack1"]
    assert [each in texts(root) for each in LEVELS] == [True] * len(LEVELS)
    assert named(root) == (
        "Capacity",
        "2 rows and 2 columns, 8 of 47 machines free. Each cell has the free and all machines; the table has the same.",
    )
    assert len(of_class(root, "heat-empty")) == 1


def test_levels_of_the_scale(subtests: pytest.Subtests) -> None:
    for free, total, level in [
        (0, 0, 0),
        (0, 9, 0),
        (1, 1000, 1),
        (1, 4, 1),
        (2, 4, 2),
        (3, 4, 3),
        (4, 5, 4),
        (9, 9, 4),
    ]:
        with subtests.test(free=free, total=total):
            assert Cell(free, total).level == level


def test_a_heat_map_is_bounded() -> None:
    cells = {(f"class{row}", f"group{column}"): Cell(1, 2 + row) for row in range(100) for column in range(50)}
    shown = grid(cells)
    assert (len(shown.rows), len(shown.columns)) == (MOST_ROWS, MOST_COLUMNS)
    assert "class99" in shown.rows
    assert "class0" not in shown.rows
    assert shown.left_out == "70 more rows and 38 more columns with fewer machines are not shown."
    picture = heat_map("h", "Capacity", shown)
    assert shown.left_out in named(parsed(picture))[1]
    assert len(picture) < 150_000
    assert parsed(heat_map("h", "Capacity", grid({}))).get("role") == "img"


def test_a_bar(subtests: pytest.Subtests) -> None:
    for part, whole, alone, lengths in [
        (0, 0, 0, (0, 0)),
        (1, 10**12, 0, (1, 0)),
        (50, 100, 25, (80, 40)),
        (5, 1, 9, (160, 160)),
        (-1, 5, 0, (0, 0)),
    ]:
        with subtests.test(part=part):
            root = parsed(bar(part, whole, alone=alone))
            assert root.get("aria-hidden") == "true"
            (long,), (short,) = of_class(root, "bar"), of_class(root, "bar-alone")
            assert (float(long.get("width", "")), float(short.get("width", ""))) == lengths


def test_hostile_names_are_text() -> None:
    members = [RingMember(HOSTILE, True, 1, 0.5, 0.4), RingMember(HOSTILE, False, 0, 0.0, 0.6)]
    for picture in (
        ring("r", HOSTILE, members, 10**30),
        heat_map("h", HOSTILE, grid({(HOSTILE * 9, HOSTILE): Cell(10**20, 10**25)})),
    ):
        root = parsed(picture)
        assert named(root)[0] == "</title><script>alert(1)</script>\ufffd\ufffd\ufffd\ufffd\" onload='x' &amp;"
        assert "<script" not in picture
        assert "\u202e" not in picture


def test_compact_numbers(subtests: pytest.Subtests) -> None:
    for number, text in [
        (0, "0"),
        (9_999, "9999"),
        (10_000, "10k"),
        (10_999, "10k"),
        (123_456, "123k"),
        (999_999, "999k"),
        (1_250_000, "1.2M"),
        (50_000_000, "50M"),
        (10**9, "1G"),
        (7 * 10**12, "7T"),
    ]:
        with subtests.test(number=number):
            assert compact(number) == text


def test_shortened() -> None:
    assert (shortened("abcd", 4), shortened("abcde", 4)) == ("abcd", "abc…")


def colours() -> list[dict[str, str]]:
    """The colours of the style sheet by name: those of light pages, and those of dark ones."""
    css = (files("baremetal_sched.ui") / "static" / "pictures.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    return [dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", block)) for block in blocks]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_texts_on_colours_can_be_read(subtests: pytest.Subtests) -> None:
    for number in [0, 1]:
        with subtests.test(number=number):
            named = colours()[number]
            grounds = [name for name in named if f"on-{name}" in named]
            assert {f"heat-{level}" for level in range(len(LEVELS))} | {f"hue-{hue}" for hue in range(COLOURS)} <= {
                *grounds
            }
            for ground in grounds:
                assert contrast(named[ground], named[f"on-{ground}"]) >= 4.5, ground
            assert contrast(named["picture-ground"], named["picture-text"]) >= 7
            # The number of a dead conductor may be over the hatching.
            assert contrast(named["dead-line"], named["on-dead"]) >= 4.5
            assert contrast(named["bar"], named["bar-alone"]) >= 3
            assert {*colours()[0]} == {*colours()[1]}


def dashes(path: ElementTree.Element) -> int:
    """How many marks the dashed lines of a path have."""
    lengths = re.findall(r"h(\d+)", path.get("d", ""))
    assert all((int(each) + 2) % 12 == 0 for each in lengths)
    return sum((int(each) + 2) // 12 for each in lengths)


def test_a_mark_for_each_machine(subtests: pytest.Subtests) -> None:
    for numbers in [(1, 0, 0), (24, 3, 23), (0, 0, 50), (700, 700, 600), (MOST_MARKS, 0, 0), (0, 0, 0)]:
        with subtests.test(numbers=numbers):
            groups = [
                MarkGroup(kind, f"{kind} {HOSTILE}", number) for kind, number in zip(KINDS, numbers, strict=False)
            ]
            root = parsed(marks("m", "Machines of rack r1", groups))
            found = {kind: sum(map(dashes, of_class(root, f"mark-{kind}"))) for kind in KINDS[:3]}
            assert found == dict(zip(KINDS, numbers, strict=False))
            title, description = named(root)
            assert title == "Machines of rack r1"
            assert all(str(number) in description for number in numbers if number)
            width, height = (float(root.get(side, "")) for side in ("width", "height"))
            for path in of_class(root, "mark-line"):
                for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d", "")):
                    assert int(x) + int(length) < width
                    assert int(y) < height


def test_many_machines_are_a_bar() -> None:
    picture = marks("m", "r1", [MarkGroup("free", "free", 100_000), MarkGroup("held", "maintenance", 1)])
    root = parsed(picture)
    assert not of_class(root, "mark-line")
    free, held = (of_class(root, f"mark-{kind}")[0] for kind in ("free", "held"))
    assert float(held.get("width", "")) >= 2
    assert float(held.get("x", "")) + float(held.get("width", "")) <= float(root.get("width", ""))
    assert float(free.get("width", "")) > 200
    assert named(root)[1] == "free: 100000, maintenance: 1."


def test_a_day_has_what_is_known_and_gaps_for_the_rest() -> None:
    known = [DaySample(EVERY * place, 2, 3, int(place == 4)) for place in (0, 1, 2, 4)]
    root = parsed(day("d", HOSTILE, known, 0))
    (used,), (free,), (waits,) = (of_class(root, f"day-{name}") for name in ("used", "free", "waiting"))
    assert used.get("d") == "M0 48V20.4H6V48ZM8 48V20.4H10V48Z"
    assert free.get("d") == "M0 48V2.0H6V48ZM8 48V2.0H10V48Z"
    assert waits.get("d") == "M8 38.8H10"
    title, description = named(root)
    assert "alert(1)" in title
    assert description.startswith("At the last count 2 free, 3 in use, 1 waiting. In the last day 2 to 2 free")
    many = [DaySample(EVERY * place, place % 7, place % 5, place % 3) for place in range(SAMPLES)]
    assert len(day("d", "gold", many, 0)) < 20_000
    assert "Nothing is known" in named(parsed(day("d", "gold", [], 0)))[1]
