"""Whose nodes a request may know of: SQL says the same as plain Python, on every database."""

from collections.abc import Iterator
from itertools import product

import pytest
from sqlalchemy import bindparam, insert, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.nodes.redaction import PROJECT, REPLACEMENTS, Restriction
from baremetal_sched.baremetal.visibility import EVERYTHING, NOTHING, Visibility, belongs_to
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Port
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load

#: Owners and lessees that a sloppy comparison takes for each other.
PROJECTS = (None, "", "p", "P", "p ", " p", "p%", "pé", "q")

VISIBILITIES = [
    EVERYTHING,
    NOTHING,
    *(
        Visibility(project, as_owner, as_lessee)
        for project, as_owner, as_lessee in product(PROJECTS, (True, False), (True, False))
    ),
]


@pytest.fixture
def session(database_url: str) -> Iterator[Session]:
    """A session on a database with a node for every owner and every lessee, and a port on each."""
    database = Database(load(overrides={"database": {"connection": database_url}}))
    with Session(database.engine) as session:
        whose = list(product(PROJECTS, PROJECTS))
        common = {"driver": "fake-hardware", "provision_state": "available", "created_at": utcnow(), "revision": 1}
        rows = [
            {"id": number, "uuid": f"{number:036}", "owner": owner, "lessee": lessee, "last_error": "!", **common}
            for number, (owner, lessee) in enumerate(whose, 1)
        ]
        session.execute(insert(Node), rows)
        ports = [
            {"node_id": row["id"], "uuid": row["uuid"], "address": f"{row['id']:017}", "created_at": utcnow()}
            for row in rows
        ]
        session.execute(insert(Port), ports)
        yield session
    database.dispose()


def test_sql_says_the_same_as_python(subtests: pytest.Subtests, session: Session) -> None:
    nodes = session.execute(select(Node.uuid, Node.owner, Node.lessee).order_by(Node.id)).all()
    assert len(nodes) == len(PROJECTS) ** 2
    other = aliased(Node)
    for visible in VISIBILITIES:
        with subtests.test(visible=visible):
            covered = [uuid for uuid, owner, lessee in nodes if visible.covers(owner, lessee)]
            for query in (
                select(Node.uuid).where(*visible.conditions()).order_by(Node.id),
                select(Port.uuid).where(*visible.conditions_behind(Port.node_id)).order_by(Port.node_id),
                select(other.uuid).where(*visible.conditions(other)).order_by(other.id),
            ):
                assert list(session.scalars(query)) == covered
            if visible.as_owner and visible.as_lessee:
                mine = visible.project or None
                own = [uuid for uuid, owner, _ in nodes if visible.everything or (mine and owner == mine)]
                found = select(Node.uuid).where(*visible.conditions_on(Node.owner)).order_by(Node.id)
                assert list(session.scalars(found)) == own


def test_a_field_is_hidden_in_sql_where_python_says_so(subtests: pytest.Subtests, session: Session) -> None:
    for project, as_owner, as_lessee in product(filter(None, PROJECTS), (True, False), (True, False)):
        with subtests.test(project=project, as_owner=as_owner, as_lessee=as_lessee):
            restriction = Restriction("last_error", as_owner, as_lessee)
            shown = restriction.expression(Node.last_error.expression)
            rows = session.execute(select(Node.owner, Node.lessee, shown), {PROJECT: project}).all()
            assert len(rows) == len(PROJECTS) ** 2
            for owner, lessee, text in rows:
                hidden = restriction.hides(owner, lessee, project)
                assert text == (REPLACEMENTS["last_error"] if hidden else "!"), (owner, lessee)


def test_a_parameter_can_stand_for_the_project(session: Session) -> None:
    mine = belongs_to(bindparam("project"), as_owner=True, as_lessee=False)
    found = session.scalars(select(Node.owner).where(mine), {"project": "p"}).all()
    assert found == ["p"] * len(PROJECTS)
