"""Mutants of secrets in the database: who may read the file of keys, and what is written of what cannot be read."""

from tests.mutants.mutant import Mutant

KEYRING = "unit/test_keyring.py"
STORED = "functional/secrets_at_rest/test_stored.py"
ROTATION = "functional/secrets_at_rest/test_rotation.py"
MISSING = "functional/secrets_at_rest/test_missing_key.py"

MUTANTS = (
    Mutant(
        "secrets-key-file-mode",
        "db/keyring.py",
        "if status.st_mode & _TOO_OPEN:",
        "if False:",
        f"{KEYRING}::test_a_file_that_others_can_read_is_refused",
    ),
    Mutant(
        "secrets-pinned",
        "db/sealing.py",
        "bool(keyring.path) and not settings.pin_release_version",
        "bool(keyring.path)",
        f"{STORED}::test_nothing_is_encrypted_while_a_release_is_pinned",
    ),
    Mutant(
        "secrets-rotation-compares",
        "db/resealing.py",
        "where(same, stored == value.text)",
        "where(same)",
        f"{ROTATION}::test_rotation_while_others_write",
    ),
    Mutant(
        "secrets-kept-unread",
        "db/sealing.py",
        """        if isinstance(value, Unreadable):
            return value.stored
        text = super()""",
        "        text = super()",
        f"{MISSING}::test_work_that_is_handed_over_keeps_its_arguments",
    ),
    Mutant(
        "secrets-escaped",
        "db/sealing.py",
        "return _ESCAPE + value if looks_sealed else str(value)",
        "return str(value)",
        f"{STORED}::test_values_that_look_encrypted",
    ),
    Mutant(
        "secrets-whole-arguments",
        "db/models/conductors.py",
        "arguments: Mapped[Any] = mapped_column(SealedJson(whole=True))",
        "arguments: Mapped[Any] = mapped_column(SealedJson)",
        f"{STORED}::test_arguments_and_replies_of_calls",
    ),
)
