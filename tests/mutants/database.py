"""Mutants of the layer below: versions of rows, transactions, the schema, deadlines."""

from tests.mutants.mutant import Mutant

GUARD = "functional/test_schema_guard.py"
TRANSACTION = "database/test_transaction.py"
DEADLINES = "database/test_deadlines.py"
MIGRATIONS = "database/test_migrations.py"
MIRROR = "moving/test_mirror.py"


def _version(table: str, model: str, file: str) -> Mutant:
    """Rows of ``model`` have a revision, and nothing looks at it."""
    return Mutant(
        f"version-{table}",
        f"db/models/{file}.py",
        f"class {model}(HasUuid, Versioned, Timestamped, Base):\n",
        f"class {model}(HasUuid, Timestamped, Base):\n"
        "    revision: Mapped[int] = mapped_column(default=1, onupdate=1)\n",
        f"functional/test_lost_races.py::test_a_row_that_was_changed_meanwhile_is_read_again[sqlite-{table}]",
    )


MUTANTS = (
    Mutant(
        "missing-sqlite-file",
        "db/schema.py",
        "    return file is not None and not Path(file).exists() and Path(file).parent.is_dir()\n",
        "    return False\n",
        "functional/test_db_command.py::test_who_only_reads_makes_no_file",
    ),
    Mutant(
        "downgrade-with-conductors",
        "cli/db.py",
        "    if alive:\n",
        "    if False:\n",
        "functional/test_db_command.py::test_a_downgrade_asks",
    ),
    _version("nodes", "Node", "nodes"),
    _version("node_allocations", "NodeAllocation", "nodes"),
    _version("deploy_templates", "DeployTemplate", "steps"),
    _version("runbooks", "Runbook", "steps"),
    _version("inspection_rules", "InspectionRule", "steps"),
    # Transactions
    Mutant(
        "commit-unknown",
        "db/transaction.py",
        "        if committing and fault in COMMIT_UNKNOWN:\n",
        "        if False:\n",
        "functional/test_database_errors.py::test_a_commit_that_may_have_happened_is_not_repeated",
        server="mariadb",
    ),
    Mutant(
        "conflict-retried",
        "db/faults.py",
        "    if isinstance(error, StaleDataError):\n",
        "    if False:\n",
        f"{TRANSACTION}::test_a_lost_race_is_run_again_from_the_start",
    ),
    # Moving in
    Mutant(
        "mirror-writes",
        "db/schema_guard.py",
        "if writes and self.is_mirror and not self._imports:",
        "if False:",
        f"{MIRROR}::test_requests_read_and_change_nothing_until_it_is_finished",
    ),
    Mutant(
        "mirror-is-complete",
        "moving/importing.py",
        "if state.phase != mirror.COMPLETE:",
        "if False:",
        "moving/test_import.py::test_an_import_that_is_killed_goes_on[sqlite-3]",
    ),
    Mutant(
        "mirror-generations",
        "moving/row_sync.py",
        "max(wanted[name], least)",
        "wanted[name]",
        "moving/test_import.py::test_generations_are_copied_and_never_go_back",
    ),
    # The schema
    Mutant(
        "schema-changing",
        "db/schema_state.py",
        "if state.changing_to is not None and not knows_oldest:",
        "if False:",
        f"{GUARD}::test_a_change_that_is_announced_is_refused",
    ),
    Mutant(
        "schema-too-new",
        "db/schema_state.py",
        "if knows_oldest and state.recorded == state.revision:",
        "if True:",
        f"{GUARD}::test_a_newer_schema_is_refused_by_a_running_service",
    ),
    Mutant(
        "schema-recorded",
        "db/schema_state.py",
        "if knows_oldest and state.recorded == state.revision:",
        "if knows_oldest:",
        f"{MIGRATIONS}::test_a_newer_schema_is_refused",
    ),
    Mutant(
        "schema-confirmed",
        "db/transaction.py",
        "                        self.schema.confirm(connection_of(reader))\n",
        "",
        f"{GUARD}::test_sqlite_looks_in_each_transaction_that_writes",
    ),
    Mutant(
        "schema-confirmed-late",
        "db/schema_guard.py",
        "        elif _now() - self._asked >= schema.LEASE_SECONDS:\n            row",
        "        elif False:\n            row",
        f"{GUARD}::test_what_began_before_the_change_is_not_committed_after_it",
        server="postgresql",
    ),
    Mutant(
        "schema-one-migrator-postgresql",
        "db/schema_lock.py",
        "            _wait(partial(_try_lock, connection))\n",
        "",
        f"{MIGRATIONS}::test_who_comes_second_waits",
        server="postgresql",
    ),
    Mutant(
        "schema-one-migrator-mariadb",
        "db/schema_lock.py",
        "            _wait(partial(_try_lock, connection))\n",
        "",
        f"{MIGRATIONS}::test_who_comes_second_waits",
        server="mariadb",
    ),
    # Deadlines
    Mutant(
        "deadline-of-lost-races",
        "db/transaction.py",
        "return self._deadline is not None and time.monotonic() >= self._deadline",
        "return False",
        f"{DEADLINES}::test_lost_races_end_with_the_deadline",
    ),
    Mutant(
        "deadline-cuts",
        "db/deadline.py",
        "                            cut(connection)\n",
        "                            pass\n",
        f"{DEADLINES}::test_a_statement_that_takes_too_long_is_ended",
    ),
    Mutant(
        "deadline-given-back",
        "db/deadline.py",
        "            current.connections.remove(connection)\n",
        "            pass\n",
        f"{DEADLINES}::test_what_ended_in_time_is_not_cut",
    ),
    Mutant(
        "deadline-of-locks",
        "db/transaction.py",
        "if is_last or (self._lock_limit is not None and now - self._started >= self._lock_limit):",
        "if is_last:",
        f"{DEADLINES}::test_a_foreign_write_transaction_of_sqlite",
    ),
)
