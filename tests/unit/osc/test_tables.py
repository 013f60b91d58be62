"""Tables for people: at most 100 columns, times with their zone, and nothing that says nothing."""

from argparse import Namespace
from typing import Any

from baremetal_sched import commands, members
from baremetal_sched.osc import claims, explain, fleet_holds, holds, webhooks
from baremetal_sched.osc.tables import (
    ResultColumn,
    SentenceColumn,
    TimeColumn,
    chosen,
    shown,
    without_none,
    wrapped,
)
from tests.members import FILE, text

UUID = "aaaaaaaa-0000-4000-8000-000000000001"
TIME = "2050-01-01T21:00:00.123456+00:00"
STORY = "A long story " * 9
HOLD = {**dict.fromkeys(members.HOLD.types, UUID), "node_name": "rack1-07", "type": "operator_hold", "reason": STORY}
HOLD |= {"scope": "system", "state": "planned", "starts_at": TIME, "ends_at": TIME}
CLAIM: Any = {**dict.fromkeys(members.CLAIM.types, UUID), "kind": "allocation", "state": "timed_out", "position": 12}
CLAIM |= {"resource_class": "CUSTOM_GOLD", "asked_at": TIME, "deadline": TIME, "reason": STORY}
CLAIM |= {"consumer": {"project_id": UUID}, "allocations": {UUID: {}, UUID.upper(): {}}}


def run(formatter: str = "table", *, long: bool = False) -> Any:
    return Namespace(formatter=formatter, columns=[], long=long)


def width(titles: Any, rows: Any) -> int:
    """How wide cliff's table is: a border and two blanks for each column."""
    texts = [[getattr(cell, "human_readable", lambda cell=cell: str(cell))() for cell in row] for row in rows]
    cells = [[max(map(len, text.split("\n"))) for text in row] for row in texts]
    widths = [max(len(title), *column) for title, column in zip(titles, zip(*cells, strict=True), strict=True)]
    return sum(each + 3 for each in widths) + 1


def test_tables_fit_into_100_columns_and_long_ones_have_all() -> None:
    assert all({"Asserted By", "Reason"} <= {*table} for table in (holds._TABLE, fleet_holds._TABLE))
    result = ResultColumn("refused: " + "a long story " * 20)
    for titles, row, table in (
        (members.HOLD.titles, holds.row_of(HOLD), holds._TABLE),
        (members.HOLD.titles, holds.row_of(HOLD, fleet_holds._WORDS), fleet_holds._TABLE),
        ((*members.HOLD.titles, "Result"), (*holds.row_of(HOLD), result), ("Hold", "Node", "Result")),
    ):
        assert width(*chosen(run(), titles, [row], table)) <= 100
        assert chosen(run(long=True), titles, [row], table) == (titles, [row])
        assert chosen(run("json"), titles, [row], table) == (titles, [row])


def test_a_person_has_a_name_in_a_table_and_without_one_an_id() -> None:
    for name, expected in (("ann", "ann"), ("", UUID)):
        cells = dict(zip(members.HOLD.columns, holds.row_of({**HOLD, "asserted_by_name": name}), strict=True))
        assert cells["asserted_by"].machine_readable() == expected


def test_claims_in_a_table_have_machines_and_classes_as_people_write_them() -> None:
    """The time is that of the request of a claim that waits, and that of the decision on others."""
    several = {**CLAIM, "allocations": {f"{number}": {} for number in range(5)}, "state": "claimed", "decided_at": TIME}
    names, classes = {f"{number}": f"rack12-n{number:02}" for number in range(4)}, {"CUSTOM_GOLD": "gold"}
    cells = claims._short({**several, "asked_at": "", "position": None}, names, classes)
    assert (cells[1], cells[2].human_readable(), cells[3]) == (
        "claimed",
        "gold",
        "rack12-n00\nrack12-n01\nrack12-n02\nand 2 more",
    )
    assert cells[4].human_readable() == "2050-01-01T21:00:00Z"
    waits = claims._short({**CLAIM, "state": "waiting", "allocations": {}, "decided_at": None}, {}, classes)
    assert (waits[1], waits[3], waits[4].human_readable()) == ("waiting (12)", "", "2050-01-01T21:00:00Z")
    for row in (cells, waits):
        assert width(claims._TABLE, [row]) <= 100


def test_a_claim_of_several_is_shown_in_100_columns() -> None:
    racks = {"rack": "rack-1", "row": "row-a"}
    machines = [{"number": 1, "node": UUID, "consumer": UUID}]
    machines.append({"number": 2, "node": UUID, "consumer": UUID, "domains": racks})
    allocations = {UUID: {"resources": {"CUSTOM_GOLD": 1}}}
    documents = {"allocations": claims._Allocations(allocations), "machines": claims._Machines(machines)}
    titles, cells = shown({**CLAIM, "request": {"query": STORY, "several": {"count": 2}}}, **documents)
    assert width(("Field", "Value"), zip(titles, map(without_none, cells), strict=True)) <= 100
    values = dict(zip(titles, cells, strict=True))
    assert values["allocations"].human_readable() == f"{UUID}: 1 CUSTOM_GOLD"
    assert values["machines"].human_readable().split("\n")[2:] == [
        f"2: node {UUID} (rack rack-1, row row-a)",
        f"   consumer {UUID}",
    ]
    assert values["request"].human_readable().split("\n")[-2:] == ["several:", "  count: 2"]
    assert values["request"].machine_readable()["several"] == {"count": 2}


def test_each_machine_of_a_claim_has_a_line_and_nothing_is_a_cell_that_has_none() -> None:
    cells = dict(zip(members.CLAIM.titles, claims._row({**CLAIM, "position": None, "reason": None}), strict=True))
    assert (cells["Machine"], cells["Position"]) == (f"{UUID}\n{UUID.upper()}", None)
    assert cells["Reason"].human_readable() == ""


def test_the_file_of_members_is_that_of_the_tables() -> None:
    """If not, ``python -m tests.members`` writes it."""
    assert FILE.read_text() == text()


def test_a_command_takes_a_time_as_it_is_shown() -> None:
    shown = TimeColumn(TIME).human_readable()
    assert shown == "2050-01-01T21:00:00Z"
    assert holds.moment(shown) == "2050-01-01T21:00:00+00:00"
    assert TimeColumn(None).human_readable() == ""


def test_an_explanation_has_no_rows_that_say_nothing() -> None:
    document = {
        "verdict": "fits",
        "fitting": 0,
        "wanted": 1,
        "exact": True,
        "sampled": False,
        "held": [],
        "unknown": [],
    }
    assert explain._without_defaults(document) == {"verdict": "fits", "fitting": 0}
    assert explain._without_defaults({"wanted": 2, "exact": False}) == {"wanted": 2, "exact": False}


def test_a_command_is_never_wrapped() -> None:
    """Neither on its own line nor behind a sentence, so that it can be pasted."""
    for command in (commands.DELETE_ALLOCATIONS.of(consumer=UUID), f"{commands.CHECK_DATABASE} {UUID} {UUID}"):
        assert wrapped(f"{STORY}\n{command}").split("\n")[-1] == command
        assert wrapped(f"  {command}") == f"  {command}"
        for cell in (SentenceColumn(f"{STORY}. Delete it: {command}"), ResultColumn(f"Delete it: {command}")):
            *sentence, last = cell.human_readable().split("\n")
            assert (last, max(map(len, sentence)) <= 78) == (command, True)
        finding = explain.Findings([{"reason": STORY, "remedy": f"Delete it:\n{command}"}])
        assert command in finding.human_readable().split("\n")
    assert wrapped("To list all: openstack scheduling domain list") == "To list all: openstack scheduling domain list"


def test_attempts_of_webhooks() -> None:
    attempts = [
        {"time": "2050-01-01T21:00:00Z", "status": 204, "duration": 0.25, "event": UUID, "error": None},
        {"time": "2050-01-01T20:00:00Z", "status": None, "duration": 10.0, "event": UUID, "error": "It \x1b was late."},
    ]
    _, (cell,) = webhooks._shown({"attempts": attempts})
    assert cell.human_readable().split("\n") == [
        f"2050-01-01T21:00:00Z (0.25 s) event {UUID}: It",
        "answered 204.",
        f"2050-01-01T20:00:00Z (10 s) event {UUID}: It",
        "\\u001b was late.",
    ]
