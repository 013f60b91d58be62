"""Key pairs of users, and their fingerprints. Only the public key is kept."""

import re
from dataclasses import dataclass

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Keypair
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Rows
from baremetal_sched.errors.compute import InvalidKeypair, KeypairExists, KeypairMarkerNotFound, KeypairNotFound

SSH, X509 = "ssh", "x509"

#: Characters of a name; from microversion 2.92 on there are more.
NAME = re.compile(r"[A-Za-z0-9_ -]{1,255}")
WIDER_NAME = re.compile(r"[A-Za-z0-9@._ -]{1,255}")

COLUMNS = (
    Keypair.id,
    Keypair.user_id,
    Keypair.name,
    Keypair.type,
    Keypair.public_key,
    Keypair.fingerprint,
    Keypair.created_at,
)


@dataclass(frozen=True)
class NewKeypair:
    """A key pair that is to be stored: see ``imported`` and ``generated``. ``private_key`` is never stored."""

    name: str
    type: str
    public_key: str
    fingerprint: str
    private_key: str | None = None


def imported(name: str, public_key: str, key_type: str = SSH) -> NewKeypair:
    """Return a pair whose public key is given. Raises InvalidKeypair if it is not a public key."""
    from baremetal_sched.compute.public_keys import fingerprint  # imports cryptography, which few requests need

    return NewKeypair(name, key_type, public_key, fingerprint(public_key, key_type))


def generated(name: str, key_type: str = SSH) -> NewKeypair:
    """Return a pair that is made here. Raises InvalidKeypair for a type other than ``ssh``."""
    from baremetal_sched.compute.public_keys import fingerprint, generate  # see above

    if key_type != SSH:
        raise InvalidKeypair(reason=f"a pair of type {key_type} cannot be generated here. Give its public_key.")
    private, public = generate()
    return NewKeypair(name, key_type, public, fingerprint(public, key_type), private)


def add(session: Session, user_id: str, pair: NewKeypair) -> Keypair:
    """Keep the public key for a user. Raises KeypairExists if the user has one of the name."""
    # The unique key decides; this is for the message.
    if session.scalar(select(exists().where(Keypair.user_id == user_id, Keypair.name == pair.name))):
        raise KeypairExists(name=pair.name)
    row = Keypair(
        user_id=user_id,
        name=pair.name,
        type=pair.type,
        public_key=pair.public_key,
        fingerprint=pair.fingerprint,
        created_at=utcnow(),
    )
    session.add(row)
    session.flush()
    return row


def check_name(name: str, *, wider: bool) -> None:
    """Raise InvalidKeypair for a name with characters that it may not have; ``wider``: ``@`` and ``.`` are allowed."""
    if not (WIDER_NAME if wider else NAME).fullmatch(name):
        more = ", '@', '.'" if wider else ""
        raise InvalidKeypair(
            reason=f"Keypair name contains unsafe characters. Use letters, digits, spaces, '_', '-'{more}."
        )


def find(session: Session, user_id: str, name: str) -> Keypair:
    """Return the pair of a user. Raises KeypairNotFound."""
    found = session.scalars(select(Keypair).where(Keypair.user_id == user_id, Keypair.name == name)).first()
    if found is None:
        raise KeypairNotFound(name=name, user=user_id)
    return found


def list_page(session: Session, user_id: str, limit: int, marker: str | None) -> Rows:
    """Return rows of ``COLUMNS``: the pairs of a user by name, at most ``limit`` after the one with name ``marker``.

    Raises KeypairMarkerNotFound.
    """
    query = select(*COLUMNS).where(Keypair.user_id == user_id)
    if marker is not None:
        if not session.scalar(select(exists().where(Keypair.user_id == user_id, Keypair.name == marker))):
            raise KeypairMarkerNotFound(marker=marker)
        query = query.where(Keypair.name > marker)
    return session.execute(query.order_by(Keypair.name).limit(limit)).all()


def remove(session: Session, user_id: str, name: str) -> None:
    """Forget the pair. Servers keep their own copies of it. Raises KeypairNotFound."""
    if not rows_changed(session.execute(delete(Keypair).where(Keypair.user_id == user_id, Keypair.name == name))):
        raise KeypairNotFound(name=name, user=user_id)
