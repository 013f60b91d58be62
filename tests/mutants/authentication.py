"""Fences between a request and who it says that its caller is."""

from tests.mutants.mutant import Mutant

KEYSTONE = "functional/test_keystone.py"

MUTANTS = (
    Mutant(
        "token-of-a-service",
        "web/authentication/keystone.py",
        "if not (request.user_token_valid and request.service_token_valid):",
        "if not request.user_token_valid:",
        f"{KEYSTONE}::test_tokens_that_are_not_good_enough",
    ),
    Mutant(
        "token-for-other-requests",
        "web/authentication/keystone.py",
        'if (token.get("application_credential") or {}).get("access_rules") is not None:',
        "if False:",
        f"{KEYSTONE}::test_rules_of_application_credentials",
    ),
    Mutant(
        "token-for-other-apis",
        "web/authentication/keystone.py",
        'return self._mount.rstrip("/").rpartition("/")[2]',
        'return "baremetal"',
        f"{KEYSTONE}::test_a_rule_for_all_paths_is_for_one_api",
    ),
    Mutant(
        "token-is-remembered",
        "web/authentication/identity.py",
        'dropped = {"auth_token"}',
        "dropped: set[str] = set()",
        f"{KEYSTONE}::test_tokens_are_remembered",
    ),
)
