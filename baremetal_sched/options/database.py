"""Options of the database."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "database": [
        cfg.StrOpt(
            "connection",
            default="sqlite:///baremetal-sched.sqlite",
            secret=True,
            help="SQLAlchemy URL of the database: ``sqlite:///FILE``, ``postgresql://…``, ``mariadb://…`` or "
            "``mysql://…``. A relative path of an SQLite file is relative to the directory in which the command is "
            "started. SQLite in memory is refused. Command line: ``--database``. ``mariadb+mysqldb://…`` and "
            "``mysql+mysqldb://…`` select the driver mysqlclient instead of PyMySQL (:doc:`guides/production`).",
        ),
        cfg.StrOpt(
            "secrets_key_file",
            help="A file of Fernet keys, one per line, which its group must not be able to write, and others not to "
            "read (mode 600 or 640). The secrets in the database are encrypted with the first key, and decrypted "
            "with any of them: passwords, tokens and keys in ``driver_info``, ``instance_info`` and "
            "``driver_internal_info`` of nodes (with config drives and the tokens of agents), in properties of "
            "volume targets, in steps, in inventories and in BIOS settings, and everything that the API and "
            "conductors exchange about work and driver calls. The API and the conductors need the same keys. A "
            "change of the file is noticed within a second; an invalid file is not used, and the log says why. "
            "Without this option secrets are stored unencrypted. See :doc:`guides/secrets`.",
        ),
        cfg.BoolOpt(
            "sqlite_synchronous",
            default=True,
            help="SQLite: a write is confirmed when it is on the disk, so it survives a power failure. With ``false`` "
            "writes take less time, but a power failure may lose the last of them; the database remains "
            "consistent.",
        ),
        cfg.IntOpt(
            "max_pool_size",
            default=10,
            min=1,
            help="The number of connections that a process keeps open for reading, and also for writing. One more "
            "connection checks the schema once a second.",
        ),
        cfg.IntOpt(
            "max_overflow",
            default=20,
            min=0,
            help="The number of additional connections that a process may open when it is busy.",
        ),
        cfg.IntOpt("pool_timeout", default=30, min=1, help="Seconds to wait for a free connection."),
        cfg.IntOpt("connection_recycle_time", default=1800, min=1, help="Seconds after which a connection is renewed."),
        cfg.IntOpt(
            "connect_timeout",
            default=5,
            min=1,
            help="Seconds to wait for the database to accept a connection (PostgreSQL, MariaDB and MySQL).",
        ),
        cfg.FloatOpt(
            "lock_timeout",
            default=5,
            min=0.1,
            help="Seconds that a request may wait for a lock that another database session holds; then it is answered "
            "with 503 and ``Retry-After``, so that it does not prevent others from being served. Attempts that "
            "waited this long are not repeated. Of several requests that queue for one row, the first may wait "
            "twice as long, because the servers queue in two places (PostgreSQL for the row and for its owner, "
            "MariaDB for an index and for the row), each with its own time-out. MariaDB and MySQL count whole "
            "seconds. The limit does not apply to commands, migrations and conductors.",
        ),
        cfg.IntOpt(
            "idle_transaction_timeout",
            default=10,
            min=1,
            help="Seconds that a transaction may be idle until the database ends it (PostgreSQL and MariaDB), so that "
            "a process that is suspended, or whose host is down, does not keep rows locked. It should be shorter "
            "than ``heartbeat_timeout``.",
        ),
        cfg.IntOpt(
            "transaction_retries",
            default=20,
            min=1,
            help="The maximum number of times that a transaction is run if it loses deadlocks or races. Then the "
            "request is answered with 503.",
        ),
    ],
}
