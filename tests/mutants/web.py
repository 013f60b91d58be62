"""What keeps callers out."""

from tests.mutants.mutant import Mutant

CHECKS = "unit/test_password_checks.py"
LISTENER = "functional/test_listener.py"
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
        "web/authentication/login_limits.py",
        "if budget.left < 1:",
        "if False:",
        f"{CHECKS}::test_failures_are_limited_by_address",
    ),
    Mutant(
        "listener-anywhere",
        "web/listener.py",
        'if environ.get("SERVER_PORT") and not is_loopback(name):',
        "if False:",
        f"{LISTENER}::test_other_listeners_are_not",
    ),
    Mutant(
        "login-all-may-do-everything",
        "web/authentication/http_basic.py",
        "if self._roles is None:",
        "if True:",
        f"{BASIC}::test_roles_make_users_tenants",
    ),
)
