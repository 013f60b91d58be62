"""The import as a whole: what must hold before it, its order, and its end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.db import contents, mirror, schema
from baremetal_sched.db.models import Allocation, Consumer, Node, NodeAllocation, ResourceProvider
from baremetal_sched.db.sealing import seals
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import ConflictError, InvalidValue
from baremetal_sched.moving import heads, integrity, source_databases
from baremetal_sched.moving.consumer_import import ConsumerImport, derive, set_sequences
from baremetal_sched.moving.decisions import Choices
from baremetal_sched.moving.findings import Adoptions, FindingKind, ImportFinding, ImportReport
from baremetal_sched.moving.names_import import ImportedNames
from baremetal_sched.moving.node_import import import_nodes
from baremetal_sched.moving.provider_import import Providers
from baremetal_sched.moving.rehearsal import Rehearsal
from baremetal_sched.moving.run import ImportRun, Progress
from baremetal_sched.moving.source_databases import SourceDatabase
from baremetal_sched.moving.survey import Survey, counts, fingerprints, note_motion
from baremetal_sched.scheduling.events.numbering import begin_stream
from baremetal_sched.settings import Settings

#: What a report counts, by original.
_IRONIC = (
    *("nodes", "ports", "portgroups", "chassis", "allocations", "volume_connectors", "volume_targets"),
    *("bios_settings", "firmware_information", "node_inventory", "node_history", "deploy_templates", "runbooks"),
    "inspection_rules",
)
_PLACEMENT = ("resource_providers", "consumers")


@dataclass(frozen=True)
class Request:
    """The operator's request: the sources (URLs), and how to resolve contradictions.

    ``frozen``: nothing may change during the run. ``label``: the sources as they are shown.
    """

    ironic_url: str
    placement_url: str
    label: str
    choices: Choices
    adoptions: Adoptions
    frozen: bool = False
    dry_run: bool = False


def run(database: Database, settings: Settings, request: Request, progress: Progress) -> ImportReport:
    """Look at both originals; and, unless something contradicts or it is a dry run, make this database the same.

    ``database`` was opened for an import. Raises InvalidValue for sources that are not known, or whose rows are of
    other releases, ConflictError if this database cannot be their mirror, UnavailableError.
    """
    database.read(lambda session: _require_mirror(session.connection(), request.label))
    report = ImportReport(request.adoptions, request.frozen)
    with _opened(request) as (before, ironic, placement):
        _require_known(ironic, placement)
        survey = Survey(ironic, placement, request.choices, report)
        note_motion(survey, before)
        survey.run()
        parts = (database, settings, ironic, placement, request.choices, survey.decisions, report, progress)
        import_nodes(Rehearsal(*parts))
        for finding in integrity.findings(ironic, placement):
            report.add(finding)
        _say_what_is_stored(database, report)
        report.would_take.update({**counts(ironic, _IRONIC), **counts(placement, _PLACEMENT)})
        if not report.blocking and not request.dry_run:
            _require_no_conductor(database, settings)
            _begin(database, request.label)
            _write(ImportRun(*parts))
            database.change(mirror.complete)
    return report


def finish(database: Database) -> None:
    """End the mirror: from now on this service is in charge. Raises ConflictError unless an import was complete."""

    def end(connection: Connection) -> None:
        state = mirror.read(connection)
        if state is None or state.phase == mirror.FINISHED:
            raise ConflictError(message="There is nothing to finish: this database is not a mirror.")
        if state.phase != mirror.COMPLETE:
            raise ConflictError(message="The last import was interrupted: run it again before you finish.")
        mirror.finish(connection)
        begin_stream(connection)  # what was imported has no events

    database.change(end)


@contextmanager
def _opened(request: Request) -> Iterator[tuple[dict[int, int], SourceDatabase, SourceDatabase]]:
    """Yield the generations of Placement before Ironic was read, and snapshots of Ironic and, after it, Placement."""
    with source_databases.opened(request.placement_url, "Placement") as earlier:
        heads.recognize(earlier, heads.PLACEMENT_HEADS)
        before = fingerprints(earlier)
    with (
        source_databases.opened(request.ironic_url, "Ironic") as ironic,
        source_databases.opened(request.placement_url, "Placement") as placement,
    ):
        yield before, ironic, placement


def _require_known(ironic: SourceDatabase, placement: SourceDatabase) -> None:
    heads.recognize(placement, heads.PLACEMENT_HEADS)
    release = heads.recognize(ironic, heads.IRONIC_HEADS)
    old = heads.old_rows(ironic, release)
    if old:
        raise InvalidValue(
            message=f"Rows of Ironic are not of its release {release.releases}: {'; '.join(old)}. Remove [DEFAULT] "
            "pin_release_version there, restart its services, and run: ironic-dbsync online_data_migrations"
        )


def _require_mirror(connection: Connection, label: str) -> None:
    """Raise ConflictError if the database holds anything that the import would not have put there."""
    state = mirror.read(connection)
    if state is None:
        for model, what in ((Node, "nodes"), (ResourceProvider, "resource providers"), (NodeAllocation, "allocations")):
            if connection.scalar(select(model.id).limit(1)) is not None:
                raise ConflictError(message=f"This database has {what} of its own. Import into one without any.")
    elif state.phase == mirror.FINISHED:
        raise ConflictError(message="The move into this database was finished. Import into another one.")
    elif state.sources != label:
        raise ConflictError(message=f"This database is a mirror of {state.sources}, not of {label}.")


def _require_no_conductor(database: Database, settings: Settings) -> None:
    alive = contents.live_conductors(database.engine, settings.conductor.heartbeat_timeout)
    if alive:
        raise ConflictError(
            message=f"Nothing was imported, because conductors are alive: {', '.join(alive)}. Stop them."
        )


def _say_what_is_stored(database: Database, report: ImportReport) -> None:
    if not seals(database.engine.dialect):
        text = "without [database] secrets_key_file, passwords of machines are stored as Ironic does, unencrypted"
        remedy = f"Set it before the import, or encrypt them later: {commands.ENCRYPT_SECRETS}"
        report.add(ImportFinding(FindingKind.NOTE, "secrets", text, remedy))


def _begin(database: Database, label: str) -> None:
    """Mark the database, and wait until every process has seen that."""

    def mark(connection: Connection) -> bool:
        is_new = mirror.read(connection) is None
        mirror.begin(connection, label)
        return is_new

    if database.change(mark) and database.engine.dialect.name != "sqlite":
        time.sleep(schema.DRAIN_SECONDS)
        database.read(lambda session: _require_mirror(session.connection(), label))


def _write(run: ImportRun) -> None:
    import_nodes(run)
    names = ImportedNames(run)
    providers = Providers(run, names)
    providers.write()
    ConsumerImport(run, providers).write()
    providers.remove_gone()
    names.remove_unused()
    run.write(derive)
    run.write(set_sequences)


def claims_since(session: Session) -> Iterator[str]:
    """Yield a line for each consumer that was created since, and each provider that it holds something of.

    Raises ConflictError if no move was finished.
    """
    state = mirror.read(session.connection())
    if state is None or state.until is None:
        raise ConflictError(message="No move was finished here: there are no claims that the originals do not know.")
    since = datetime.fromtimestamp(state.until, UTC).replace(microsecond=0, tzinfo=None)
    rows = session.execute(
        select(Consumer.uuid, Consumer.project_id, ResourceProvider.name, Consumer.created_at)
        .distinct()
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .where(Consumer.created_at >= since)
        .order_by(Consumer.created_at, Consumer.uuid)
    )
    for uuid, project, provider, created in rows:
        yield f"{created.isoformat()} consumer {uuid} of project {project}: {provider}"
