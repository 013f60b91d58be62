"""What keeps controllers of others from harm: ends of answers, hosts that are not theirs, sessions that are few."""

from tests.mutants.mutant import Mutant

BAD = "functional/redfish/test_bad_controllers.py"
CONNECTION = "functional/redfish/test_connection.py"
FAULTS = "functional/redfish/test_faults.py"
HUGE = "functional/redfish/test_huge_controllers.py"
POWER = "functional/redfish/test_power.py"

MUTANTS = (
    Mutant(
        "redfish-any-host",
        "drivers/redfish/transport.py",
        "            is_ours = _origin(url) == self._origin",
        "            is_ours = True",
        f"{BAD}::test_links_to_other_hosts_are_not_followed",
    ),
    Mutant(
        "redfish-answer-without-end",
        "drivers/redfish/transport.py",
        "        if left <= 0:",
        "        if False:",
        BAD,
    ),
    Mutant(
        "redfish-answer-of-any-size",
        "drivers/redfish/transport.py",
        "        if self._read > LARGEST:",
        "        if False:",
        f"{BAD}::test_interim_answers_that_are_too_many",
    ),
    Mutant(
        "redfish-bomb",
        "drivers/redfish/transport.py",
        "                if len(content) > LARGEST:",
        "                if False:",
        f"{BAD}::test_an_answer_that_is_too_large_once_it_is_unpacked",
    ),
    Mutant(
        "redfish-links-without-end",
        "drivers/redfish/transport.py",
        "        if time.monotonic() > self.until:",
        "        if False:",
        f"{BAD}::test_all_answers_together_have_an_end",
    ),
    Mutant(
        "redfish-any-number-of-requests",
        "drivers/redfish/transport.py",
        "        if self.requests <= 0:",
        "        if False:",
        f"{HUGE}::test_requests_are_counted",
    ),
    Mutant(
        "redfish-any-number-of-bytes",
        "drivers/redfish/transport.py",
        "        if self.size < 0:",
        "        if False:",
        f"{HUGE}::test_bytes_are_counted",
    ),
    Mutant(
        "redfish-any-number-of-disks",
        "drivers/redfish/inspect.py",
        "        if len(disks) >= _MOST_DISKS:",
        "        if False:",
        f"{HUGE}::test_disks_are_counted",
    ),
    Mutant(
        "redfish-any-number-of-members",
        "drivers/redfish/documents.py",
        "links(collection, name)[:_MOST_MEMBERS]",
        "links(collection, name)",
        f"{HUGE}::test_members_are_counted",
    ),
    Mutant(
        "redfish-changes-though-given-up",
        "drivers/redfish/transport.py",
        '        if method != "GET":\n            progress.note()',
        "        pass",
        f"{BAD}::test_nothing_is_changed_once_the_call_has_been_given_up",
    ),
    Mutant(
        "redfish-repeats-password",
        "drivers/redfish/failures.py",
        "    if len(password) >= _SHORTEST_SECRET:",
        "    if False:",
        f"{BAD}::test_what_a_controller_repeats_is_masked",
    ),
    Mutant(
        "redfish-session-for-each-thread",
        "drivers/redfish/login.py",
        "            if self.current is refused:",
        "            if True:",
        f"{CONNECTION}::test_a_session_that_expires_under_many_threads_is_opened_once",
    ),
    Mutant(
        "redfish-session-not-closed",
        "drivers/redfish/connection.py",
        "        self._login.log_out(self._transport)",
        "        pass",
        f"{CONNECTION}::test_connections_beyond_those_that_are_kept_are_logged_out",
    ),
    Mutant(
        "redfish-session-of-another-password",
        "drivers/redfish/connection.py",
        "target.username, digest, target",
        "target.username, target",
        f"{CONNECTION}::test_another_password_is_another_session",
    ),
    Mutant(
        "redfish-closes-what-is-used",
        "drivers/redfish/connection.py",
        "            is_over = connection.is_dropped and not connection.users",
        "            is_over = connection.is_dropped",
        f"{CONNECTION}::test_a_connection_that_failed_is_not_taken_from_those_who_use_it",
    ),
    Mutant(
        "redfish-stays-logged-in",
        "conductor/daemon.py",
        "        self._tolerate(_log_out)",
        "        pass",
        f"{FAULTS}::test_a_conductor_that_stops_logs_out",
    ),
    Mutant(
        "redfish-not-ready-is-final",
        "drivers/redfish/power.py",
        "        attempts = options.power_on_conflict_retry_attempts if target == POWER_ON else 0",
        "        attempts = 0",
        f"{POWER}::test_a_controller_that_is_not_ready_yet_is_asked_again",
    ),
    Mutant(
        "recovery-is-put-off",
        "conductor/power_sync.py",
        "self._host.back_off.note_silence(addresses_of(machine), pause, max(pause, longest) if longest else None)",
        "self._host.back_off.note_silence(addresses_of(machine), pause * 1000)",
        FAULTS,
    ),
)
