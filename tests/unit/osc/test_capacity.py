"""openstack scheduling capacity"""

from baremetal_sched.osc.tables import HeldColumn


def test_holds_in_a_table() -> None:
    held = [
        {"type": "lockout", "nodes": 1, "until": None},
        {"type": "window", "nodes": 2, "until": "2090-12-31T23:00:00+00:00"},
    ]
    assert HeldColumn(held).human_readable() == "1 lockout\n2 window until 2090-12-31 23:00 UTC"
