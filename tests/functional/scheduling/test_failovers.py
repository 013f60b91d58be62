"""After a failover that lost transactions, numbers of events are given again: readers and webhooks are told."""

import socket
from typing import Any

import pytest
from sqlalchemy import make_url

from baremetal_sched.db import schema_state
from tests.functional.scheduling import test_webhook_deliveries
from tests.functional.scheduling.happening import forget, happen, last, lose
from tests.functional.scheduling.test_events import message
from tests.functional.scheduling.test_webhook_deliveries import deliver, make, resume, show
from tests.receiver import Receiver
from tests.service import ADMINISTRATOR, Service

EVENTS = "/scheduling/v1/events"
#: The release that gives marks, and the one before.
GIVES_MARKS, BEFORE = "0032", "0031"
NODE = "11111111-0000-4000-8000-000000000001"
service = test_webhook_deliveries.service


def read(service: Service, after: str, status: int = 200, more: str = "") -> Any:
    return service.http.get(f"{EVENTS}?after={after}{more}", headers=ADMINISTRATOR, status=status)


def finish(service: Service, release: str) -> None:
    service.database.write(lambda session: schema_state.finish(session.connection(), release))


def number_of(cursor: str) -> int:
    return int(cursor.split(":")[1])


def unmarked(cursor: str) -> str:
    """The cursor as the release before gives it."""
    return cursor.rpartition(":")[0]


def test_a_reader_whose_last_event_was_lost_is_told(service: Service) -> None:
    beginning = last(service)
    happen(service, *[NODE] * 400)
    old = last(service)
    happen(service, *[NODE] * 300)
    cursor = last(service)
    lose(service, 300)
    for each in (cursor, unmarked(cursor)):
        assert "has lost the event at the cursor" in message(read(service, each, 410, "&wait=30"))
    new = happen(service, *[NODE] * 300)
    assert f"are those after {beginning}." in message(read(service, cursor, 410))
    new += happen(service, NODE)
    read(service, cursor, 410)
    assert len(read(service, unmarked(cursor)).json["events"]) == 1  # nothing tells it from one of this stream
    followed = read(service, old, more="&limit=1000").json
    assert [event["id"] for event in followed["events"]] == new
    assert followed["cursor"] == last(service)


def test_marks_are_given_after_the_upgrade_is_finished(service: Service) -> None:
    """A process of the release before takes none."""
    uuid = happen(service, "n1", "n2")[-1]
    marked = last(service)
    assert marked.endswith(f":{uuid[:8]}")
    finish(service, BEFORE)
    hook = make(service, "http://127.0.0.1/")
    assert [read(service, "now").json["cursor"], hook["cursor"]] == [unmarked(marked)] * 2
    assert read(service, marked).json["cursor"] == unmarked(marked)
    finish(service, GIVES_MARKS)
    assert read(service, unmarked(marked)).json["cursor"] == marked
    assert read(service, marked.upper()).json == {"events": [], "cursor": marked}
    assert resume(service, hook)["cursor"] == unmarked(marked)


def test_every_answer_has_the_mark_of_its_last_number(service: Service) -> None:
    beginning = last(service)
    stream, first = beginning.split(":")[0], number_of(beginning)
    cursors = [f"{stream}:{first + place}" for place in range(5)]
    marks = ["", *(uuid[:8] for uuid in happen(service, *[NODE] * 4))]
    queries = ("&limit=2", "&type=scheduling.claim.*", "&type=scheduling.machine.claimed", "")
    given = [read(service, beginning, more=more).json["cursor"] for more in queries]
    assert given == [f"{cursors[place]}:{marks[place]}" for place in (2, 4, 4, 4)]
    forget(service, 3)
    assert len(read(service, f"{cursors[3]}:00000000").json["events"]) == 1  # its event is gone: nothing to compare
    gone = message(read(service, f"{cursors[2]}:{marks[2]}", 410))
    assert (f"are those after {cursors[3]}." in gone, "deleted" in gone) == (True, True)
    forget(service, 1)
    assert read(service, "now").json["cursor"] == cursors[4]


def test_a_webhook_whose_last_event_was_lost_is_parked(service: Service) -> None:
    with Receiver() as receiver:
        hook, beginning = make(service, receiver.url), number_of(last(service))
        for grown in (0, 1, 3):
            uuids = happen(service, "n1", "n2")
            deliver(service)
            cursor = show(service, hook)["cursor"]
            assert cursor.endswith(uuids[-1][:8])
            lose(service, 1)
            for _ in range(grown):
                happen(service, "again")
            deliver(service)
            shown = show(service, hook)
            assert (shown["cursor"], shown["behind"]) == (cursor, None)
            if grown == 1:  # that there is another event at the cursor is found when one follows
                assert shown["state"] == "active"
                happen(service, "one more")
                deliver(service)
                shown = show(service, hook)
            assert (shown["state"], shown["behind"]) == ("parked", None)
            assert "has lost the event at the cursor" in shown["last_error"]
            sent = len(receiver.received)
            resumed = resume(service, hook)
            assert (resumed["lost"], resumed["behind"]) == (None, number_of(last(service)) - beginning)
            deliver(service)
            assert len(receiver.received) == sent + resumed["behind"]
            assert show(service, hook)["cursor"] == last(service)


def test_a_webhook_of_the_release_before_has_no_mark(service: Service) -> None:
    """A conductor of that release moves the number alone."""
    finish(service, BEFORE)
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        happen(service, "n1", "n2")
        deliver(service)
        assert show(service, hook)["cursor"] == unmarked(read_marked(service))
        finish(service, GIVES_MARKS)
        happen(service, "n3")
        deliver(service)
        assert (receiver.subjects, show(service, hook)["cursor"]) == (["n1", "n2", "n3"], last(service))


def test_the_driver_finds_the_server_that_is_left(database_url: str) -> None:
    """The URL of the guide, with a server that is gone and one that is not."""
    url = make_url(database_url)
    if url.get_backend_name() != "postgresql":
        pytest.skip("this driver takes one server")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    hosts = [f"127.0.0.1:{port}", f"{url.host}:{url.port or 5432}"]
    both = url.set(host=None, port=None).update_query_dict({"host": hosts, "target_session_attrs": "read-write"})
    with Service(both.render_as_string(hide_password=False)) as service:
        service.add_conductor("c1")
        assert service.add_node("n1")


def read_marked(service: Service) -> str:
    """The cursor of now as it will be after the upgrade is finished."""
    finish(service, GIVES_MARKS)
    marked = last(service)
    finish(service, BEFORE)
    return marked
