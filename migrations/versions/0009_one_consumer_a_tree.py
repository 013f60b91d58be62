"""The provider of a node says which class can be claimed of it; its tree belongs to one consumer at a time."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

FIT = ["resource_class_id", "free", "provider_id", "min_unit", "max_unit", "step_size"]
FREE = {True: "(capacity - used) * (1 - withheld)", False: "capacity - used"}
KEPT = (
    "provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, capacity, used, "
    "created_at, updated_at"
)

NOT_ALPHANUMERIC = re.compile(r"[^0-9A-Za-z]+")


def upgrade() -> None:
    op.add_column("resource_providers", sa.Column("mirrored_class_id", sa.Integer()))
    for name in ("indivisible", "withheld"):
        op.add_column("resource_providers", sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("resource_providers", sa.Column("holder", sa.String(length=36)))
    make_free_anew(withheld=True)
    connection = op.get_bind()
    mirror_nodes(connection)
    settle_trees(connection)


def downgrade() -> None:
    make_free_anew(withheld=False)
    for name in ("holder", "withheld", "indivisible", "mirrored_class_id"):
        op.drop_column("resource_providers", name)


def make_free_anew(*, withheld: bool) -> None:
    """Make ``free`` again with another expression, which looks at the column ``withheld`` or not."""
    dialect = op.get_bind().dialect.name
    if dialect == "sqlite":
        copy_inventories(withheld=withheld)
    elif dialect == "postgresql":
        op.drop_index("ix_inventories_fit", "inventories")
        op.drop_column("inventories", "free")
        if withheld:
            op.add_column("inventories", withheld_column())
        else:
            op.drop_column("inventories", "withheld")
        op.add_column("inventories", free_column(withheld=withheld))
        op.create_index("ix_inventories_fit", "inventories", FIT)
    elif withheld != has_withheld():  # a migrator that was killed may have done it
        # One statement: the key on resource_class_id needs an index all the time.
        change = "ADD COLUMN withheld SMALLINT NOT NULL DEFAULT 0 AFTER used" if withheld else "DROP COLUMN withheld"
        place = "withheld" if withheld else "used"
        op.execute(
            f"ALTER TABLE inventories DROP INDEX ix_inventories_fit, DROP COLUMN free, {change}, "
            f"ADD COLUMN free BIGINT GENERATED ALWAYS AS ({FREE[withheld]}) STORED AFTER {place}, "
            f"ADD INDEX ix_inventories_fit ({', '.join(FIT)})"
        )


def has_withheld() -> bool:
    return "withheld" in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("inventories")}


def withheld_column() -> sa.Column:
    return sa.Column("withheld", sa.SmallInteger(), server_default="0", nullable=False)


def free_column(*, withheld: bool) -> sa.Column:
    return sa.Column("free", sa.BigInteger(), sa.Computed(FREE[withheld], persisted=True))


def copy_inventories(*, withheld: bool) -> None:
    """SQLite cannot add a column that is computed and stored."""
    op.drop_index("ix_inventories_fit", "inventories")
    op.rename_table("inventories", "inventories_before")
    op.create_table(
        "inventories",
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("resource_class_id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("total", "reserved")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("min_unit", "max_unit", "step_size")),
        sa.Column("allocation_ratio", sa.Double(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), server_default="0", nullable=False),
        *([withheld_column()] if withheld else []),
        free_column(withheld=withheld),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["resource_providers.id"], name="fk_inventories_provider_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["resource_class_id"], ["resource_classes.id"], name="fk_inventories_resource_class_id"
        ),
        sa.PrimaryKeyConstraint("provider_id", "resource_class_id", name="pk_inventories"),
    )
    op.execute(f"INSERT INTO inventories ({KEPT}) SELECT {KEPT} FROM inventories_before")
    op.drop_table("inventories_before")
    op.create_index("ix_inventories_fit", "inventories", FIT)


def mirror_nodes(connection: sa.Connection) -> None:
    """Which class each node's provider has, and whether it can be had."""

    def run(statement: str, **values: object) -> sa.CursorResult:
        return connection.execute(sa.text(statement), values)

    ids = {name: row_id for name, row_id in run("SELECT name, id FROM resource_classes")}
    for (name,) in run("SELECT DISTINCT resource_class FROM nodes WHERE resource_class <> ''").all():
        class_id = ids.get("CUSTOM_" + NOT_ALPHANUMERIC.sub("_", name).upper(), 0)
        run(
            "UPDATE resource_providers SET mirrored_class_id = :id "
            "WHERE uuid IN (SELECT uuid FROM nodes WHERE resource_class = :name)",
            id=class_id,
            name=name,
        )
    run(
        "UPDATE resource_providers SET mirrored_class_id = 0 "
        "WHERE mirrored_class_id IS NULL AND uuid IN (SELECT uuid FROM nodes)"
    )
    run(
        "UPDATE resource_providers SET withheld = true WHERE mirrored_class_id IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM inventories WHERE provider_id = resource_providers.id "
        "AND resource_class_id = mirrored_class_id AND reserved = 0)"
    )
    # Of no other class can anything be claimed of a node.
    run(
        "UPDATE inventories SET withheld = 1 WHERE EXISTS (SELECT 1 FROM resource_providers p "
        "WHERE p.id = inventories.provider_id AND p.mirrored_class_id IS NOT NULL "
        "AND p.mirrored_class_id <> inventories.resource_class_id)"
    )


def settle_trees(connection: sa.Connection) -> None:
    """Which of these trees have children, who holds something of them, and what is withheld therefore."""
    trees = connection.execute(
        sa.text(
            "SELECT root.id, root.withheld FROM resource_providers root WHERE root.mirrored_class_id IS NOT NULL "
            "AND EXISTS (SELECT 1 FROM resource_providers child WHERE child.parent_id = root.id)"
        )
    ).all()
    for root, unavailable in trees:
        holder = connection.scalar(
            sa.text(
                "SELECT c.uuid FROM allocations a JOIN consumers c ON c.id = a.consumer_id "
                "JOIN resource_providers p ON p.id = a.provider_id WHERE p.root_id = :root "
                "ORDER BY CASE WHEN p.id = :root THEN 0 ELSE 1 END, c.id LIMIT 1"
            ),
            {"root": root},
        )
        connection.execute(
            sa.text("UPDATE resource_providers SET indivisible = true WHERE root_id = :root"), {"root": root}
        )
        connection.execute(
            sa.text("UPDATE resource_providers SET holder = :holder WHERE id = :root"), {"holder": holder, "root": root}
        )
        if unavailable or holder:
            connection.execute(
                sa.text(
                    "UPDATE inventories SET withheld = 1 "
                    "WHERE provider_id IN (SELECT id FROM resource_providers WHERE root_id = :root)"
                ),
                {"root": root},
            )
