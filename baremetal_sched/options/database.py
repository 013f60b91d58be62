"""The database."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "database": [
        cfg.StrOpt("connection", default="sqlite:///baremetal-sched.sqlite", secret=True, help="SQLAlchemy URL."),
        cfg.StrOpt(
            "secrets_key_file",
            help="A file of Fernet keys, one a line, that others must not be able to read: secrets in the database are "
            "encrypted with the first, and decrypted with any. APIs and conductors need the same keys.",
        ),
        cfg.BoolOpt(
            "sqlite_synchronous",
            default=True,
            help="SQLite: wait until what was committed is on the disk, so that it survives a power cut.",
        ),
        cfg.IntOpt(
            "max_pool_size",
            default=10,
            min=1,
            help="Connections that a process keeps open to read, and as many to write.",
        ),
        cfg.IntOpt("max_overflow", default=20, min=0, help="Connections that it may open on top when busy."),
        cfg.IntOpt("pool_timeout", default=30, min=1, help="Seconds to wait for a free connection."),
        cfg.IntOpt("connection_recycle_time", default=1800, min=1, help="Seconds after which a connection is renewed."),
        cfg.IntOpt(
            "connect_timeout", default=5, min=1, help="Seconds to wait for the database to accept a connection."
        ),
        cfg.FloatOpt(
            "lock_timeout",
            default=5,
            min=0.1,
            help="Seconds that a request may wait for a lock that another session of the database holds.",
        ),
        cfg.IntOpt(
            "idle_transaction_timeout",
            default=10,
            min=1,
            help="Seconds that a transaction may stand still, as of a suspended process, until the database ends it.",
        ),
        cfg.IntOpt(
            "transaction_retries",
            default=20,
            min=1,
            help="How often a transaction that lost a deadlock or a race is run at the most.",
        ),
    ],
}
