"""What keeps callers out, and requests apart."""

from tests.mutants.mutant import Mutant

CHECKS = "unit/test_password_checks.py"
SLOTS = "unit/test_slots.py"
LISTENER = "functional/test_listener.py"
CROSS_SITE = "functional/test_cross_site.py"
BASIC = "functional/test_http_basic.py"

MUTANTS = (
    Mutant(
        "login-outlives-password",
        "web/authentication/password_checks.py",
        "(len(encoded), encoded, hashed, password)",
        "(len(encoded), encoded, b'', password)",
        f"{CHECKS}::test_what_is_remembered_ends_with_the_password",
    ),
    Mutant(
        "login-unknown-user-is-quick",
        "web/authentication/password_checks.py",
        "(len(encoded), encoded, hashed, password)",
        "(0, b'', hashed, password)",
        f"{CHECKS}::test_users_who_do_not_exist_cost_the_same",
    ),
    Mutant(
        "login-unlimited-at-once",
        "web/authentication/password_checks.py",
        "if len(self._running) >= AT_ONCE:",
        "if False:",
        f"{CHECKS}::test_few_are_checked_at_once",
    ),
    Mutant(
        "login-unlimited-failures",
        "web/authentication/password_checks.py",
        "if budget.left < 1:",
        "if False:",
        f"{CHECKS}::test_failures_are_limited_by_address",
    ),
    Mutant(
        "slots-without-number",
        "web/slots.py",
        "self._free -= 1\n                return True",
        "return True",
        f"{SLOTS}::test_no_more_are_at_work_than_may_be",
    ),
    Mutant(
        "slots-kept-while-waiting",
        "web/slots.py",
        "    request.give_back()\n    try:",
        "    try:",
        f"{SLOTS}::test_who_waits_has_no_slot",
    ),
    Mutant(
        "slots-lost-turn",
        "web/slots.py",
        "            return turn.is_set()",
        "            return False",
        f"{SLOTS}::test_slots_are_neither_lost_nor_made",
    ),
    Mutant(
        "slots-wait-without-number",
        "web/slots.py",
        "if self._waiting >= self._most_waiting:",
        "if False:",
        f"{SLOTS}::test_no_more_wait_than_may",
    ),
    Mutant(
        "listener-anywhere",
        "web/listener.py",
        "if not arrived_on_loopback(environ):",
        "if False:",
        f"{LISTENER}::test_other_listeners_are_not",
    ),
    Mutant(
        "listener-any-name",
        "web/listener.py",
        "if _canonical(host) not in names and not _is_address(host):",
        "if False:",
        f"{LISTENER}::test_names_that_others_let_lead_here_are_refused",
    ),
    Mutant(
        "report-of-any-size",
        "baremetal/inspection/schemas.py",
        "len(value) > MOST_INTERFACES",
        "False",
        "functional/baremetal/test_agents.py::test_an_inspection_has_so_many_interfaces_at_most",
    ),
    Mutant(
        "scope-dropped-for-all",
        "web/api.py",
        'if caller.system_scope is None or "admin" not in caller.roles:',
        "if caller.system_scope is None:",
        "functional/tenants/test_roles.py::test_the_table_of_roles",
    ),
    Mutant(
        "bodies-without-bound",
        "server/parser.py",
        "if self._bodies.size > limits.bodies_size and",
        "if False and",
        "unit/test_server.py::test_all_bodies_together_are_bounded",
    ),
    Mutant(
        "bodies-of-lost-connections",
        "server/parser.py",
        "        size, self._counted = self._counted, 0\n",
        "        size = 0\n",
        "unit/test_server.py::test_a_body_is_counted_until_its_request_is_served",
    ),
    Mutant(
        "cross-site-writes",
        "web/forwarding.py",
        "not in _SAFE and not _may_write(environ, origins)",
        "not in _SAFE and False",
        f"{CROSS_SITE}::test_every_api_refuses_writes_of_other_sites",
    ),
    Mutant(
        "cross-site-null-is-any",
        "web/forwarding.py",
        ' and origin != "null"',
        "",
        f"{CROSS_SITE}::test_an_asterisk_is_every_site",
    ),
    Mutant(
        "login-all-may-do-everything",
        "web/authentication/http_basic.py",
        "if self._roles is None:",
        "if True:",
        f"{BASIC}::test_roles_make_users_tenants",
    ),
)
