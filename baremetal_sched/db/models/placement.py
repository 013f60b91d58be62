"""Resource providers, inventories, consumers and allocations."""

from sqlalchemy import BigInteger, Computed, Double, ForeignKey, Index, Integer, SmallInteger, String, false
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, Created, HasId, HasUuid, Timestamped, table_args
from baremetal_sched.db.types import LongText


class ResourceProvider(HasUuid, Timestamped, Base):
    """A source of resources. A node is one, with the same UUID.

    A provider that mirrors a node has a ``mirrored_class_id``: the only class that can be claimed (0: none). Its tree
    belongs to one consumer at a time. If it has children, all of the tree are ``indivisible``, and ``holder`` of the
    root is the consumer, by UUID. ``withheld`` of the root: nothing of the tree can be claimed; ``closes_at``: nothing
    from then on, in seconds since 1970 (NULL: never). Every change of these columns, and every claim in the tree of a
    node, writes the row of the root.
    """

    __tablename__ = "resource_providers"

    name: Mapped[str] = mapped_column(String(200), unique=True)
    generation: Mapped[int] = mapped_column(Integer, server_default="0")
    #: NULL for the root of a tree; ``root_id`` is then its own id (NULL only within the transaction that creates it).
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("resource_providers.id"), index=True)
    root_id: Mapped[int | None] = mapped_column(ForeignKey("resource_providers.id"), index=True)
    #: A copy of the rows of ``provider_traits`` as text: see ``placement.trait_ids``.
    trait_ids: Mapped[str] = mapped_column(LongText, server_default="")
    mirrored_class_id: Mapped[int | None] = mapped_column(Integer)
    indivisible: Mapped[bool] = mapped_column(server_default=false())
    withheld: Mapped[bool] = mapped_column(server_default=false())
    closes_at: Mapped[float | None] = mapped_column(Double)
    holder: Mapped[str | None] = mapped_column(String(36))


class ResourceClass(HasId, Timestamped, Base):
    """A kind of resource: standard (os-resource-classes) or ``CUSTOM_…``."""

    __tablename__ = "resource_classes"

    name: Mapped[str] = mapped_column(String(255), unique=True)


class Trait(HasId, Created, Base):
    """A quality: standard (os-traits) or ``CUSTOM_…``."""

    __tablename__ = "traits"

    name: Mapped[str] = mapped_column(String(255), unique=True)


class ProviderTrait(Base):
    """A trait of a provider."""

    __tablename__ = "provider_traits"
    __table_args__ = table_args(Index("ix_provider_traits_trait_id", "trait_id", "provider_id"))

    provider_id: Mapped[int] = mapped_column(ForeignKey("resource_providers.id", ondelete="CASCADE"), primary_key=True)
    trait_id: Mapped[int] = mapped_column(ForeignKey("traits.id"), primary_key=True)


class Aggregate(HasId, Created, Base):
    """A set of providers, identified only by its UUID, as the client wrote it."""

    __tablename__ = "aggregates"

    uuid: Mapped[str] = mapped_column(String(64), unique=True)


class ProviderAggregate(Base):
    """The membership of a provider in an aggregate."""

    __tablename__ = "provider_aggregates"
    __table_args__ = table_args(Index("ix_provider_aggregates_aggregate_id", "aggregate_id", "provider_id"))

    provider_id: Mapped[int] = mapped_column(ForeignKey("resource_providers.id", ondelete="CASCADE"), primary_key=True)
    aggregate_id: Mapped[int] = mapped_column(ForeignKey("aggregates.id"), primary_key=True)


#: The columns of the index over free capacity.
_FIT = ("resource_class_id", "free", "provider_id", "min_unit", "max_unit", "step_size", "closes_at")
#: The columns of the index by which machines are counted.
_NODES = ("withheld", "node_class", "node_group", "node_state", "used", "free", "closes_at")


class Inventory(Timestamped, Base):
    """A provider's inventory of one class.

    ``used`` is the sum of the allocations, maintained by the transaction that writes them. ``capacity`` is int((total -
    reserved) * allocation_ratio), ``free`` the rest of it: nothing if the inventory is ``withheld``, which clients do
    not see (``placement.indivisible``). From ``closes_at`` on (in seconds since 1970; NULL: never) nothing can be
    claimed: a hold of the node is planned (``baremetal.holds``). The index over free capacity covers all columns that a
    search needs, so that a search reads only what it returns.

    An inventory of a node's own class repeats columns of the node, so that an index tells how many machines are free:
    ``node_class`` and ``node_group`` (its resource class and conductor group), and ``node_state``: in one word, why the
    node is not available (NULL if it is). In others ``node_group`` is NULL. ``calendar`` counts the changes of when the
    machine will be free: ends of claims, planned holds and bookings (``placement.calendars``).
    """

    __tablename__ = "inventories"
    __table_args__ = table_args(
        Index("ix_inventories_fit", *_FIT),
        Index("ix_inventories_nodes", *_NODES),
    )

    provider_id: Mapped[int] = mapped_column(ForeignKey("resource_providers.id", ondelete="CASCADE"), primary_key=True)
    resource_class_id: Mapped[int] = mapped_column(ForeignKey("resource_classes.id"), primary_key=True)
    total: Mapped[int] = mapped_column(Integer)
    reserved: Mapped[int] = mapped_column(Integer)
    min_unit: Mapped[int] = mapped_column(Integer)
    max_unit: Mapped[int] = mapped_column(Integer)
    step_size: Mapped[int] = mapped_column(Integer)
    allocation_ratio: Mapped[float] = mapped_column(Double)
    capacity: Mapped[int] = mapped_column(BigInteger)
    used: Mapped[int] = mapped_column(BigInteger, server_default="0")
    withheld: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    free: Mapped[int | None] = mapped_column(BigInteger, Computed("(capacity - used) * (1 - withheld)", persisted=True))
    node_class: Mapped[str | None] = mapped_column(String(80))
    node_group: Mapped[str | None] = mapped_column(String(255))
    node_state: Mapped[str | None] = mapped_column(String(32))
    closes_at: Mapped[float | None] = mapped_column(Double)
    calendar: Mapped[int] = mapped_column(Integer, server_default="0")


class Consumer(HasUuid, Timestamped, Base):
    """A holder of allocations: an instance, a bare metal allocation, a migration.

    ``request_kind`` is the kind of the request that it was made for (``waiting_requests.kind``), or ``placement``; None
    if an earlier release made it. One of generation 0 has no allocations: its UUID is reserved for a request that
    waits.
    """

    __tablename__ = "consumers"
    __table_args__ = table_args(Index("ix_consumers_usages", "project_id", "user_id", "usages"))

    project_id: Mapped[str] = mapped_column(String(255))
    user_id: Mapped[str] = mapped_column(String(255))
    consumer_type: Mapped[str | None] = mapped_column(String(255))
    generation: Mapped[int] = mapped_column(Integer, server_default="0")
    request_kind: Mapped[str | None] = mapped_column(String(16))
    #: What it has, with its type: see ``placement.usages``. In ASCII, as keys of MariaDB hold no more in UTF-8.
    usages: Mapped[str | None] = mapped_column(
        String(500).with_variant(mysql.VARCHAR(500, charset="ascii", collation="ascii_bin"), "mysql", "mariadb")
    )


class Allocation(Created, Base):
    """An amount of one class of one provider, held by a consumer."""

    __tablename__ = "allocations"
    __table_args__ = table_args(Index("ix_allocations_provider_id", "provider_id", "resource_class_id"))

    consumer_id: Mapped[int] = mapped_column(ForeignKey("consumers.id"), primary_key=True)
    provider_id: Mapped[int] = mapped_column(ForeignKey("resource_providers.id"), primary_key=True)
    resource_class_id: Mapped[int] = mapped_column(ForeignKey("resource_classes.id"), primary_key=True)
    used: Mapped[int] = mapped_column(Integer)
