"""Options of the database."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "database": [
        cfg.StrOpt("connection", default="sqlite:///baremetal-sched.sqlite", secret=True, help="SQLAlchemy URL."),
        cfg.StrOpt(
            "secrets_key_file",
            help="File of Fernet keys, one a line, that others must not be able to read: secrets in the database are "
            "encrypted with the first, and decrypted with any. APIs and conductors need the same keys.",
        ),
        cfg.BoolOpt(
            "sqlite_synchronous",
            default=True,
            help="SQLite: wait until a commit is on the disk, so that it survives a power failure.",
        ),
        cfg.IntOpt(
            "max_pool_size",
            default=10,
            min=1,
            help="Connections that a process keeps open for reading, and the same number for writing.",
        ),
        cfg.IntOpt(
            "max_overflow", default=20, min=0, help="Additional connections that a process may open under load."
        ),
        cfg.IntOpt("pool_timeout", default=30, min=1, help="Seconds to wait for a free connection in the pool."),
        cfg.IntOpt(
            "connection_recycle_time", default=1800, min=1, help="Seconds after which a connection is replaced."
        ),
        cfg.IntOpt(
            "connect_timeout", default=5, min=1, help="Seconds to wait for the database to accept a connection."
        ),
        cfg.FloatOpt(
            "lock_timeout",
            default=5,
            min=0.1,
            help="Seconds that a statement may wait for a lock that another database session holds.",
        ),
        cfg.IntOpt(
            "idle_transaction_timeout",
            default=10,
            min=1,
            help="Seconds after which the database ends an idle transaction, such as one of a suspended process.",
        ),
        cfg.IntOpt(
            "transaction_retries",
            default=20,
            min=1,
            help="Maximum number of attempts at a transaction that fails by a deadlock or a race.",
        ),
    ],
}
