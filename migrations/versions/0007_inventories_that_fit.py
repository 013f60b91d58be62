"""The index that a search reads tells all that it asks of an inventory."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

FREE = ["resource_class_id", "free", "provider_id"]


def upgrade() -> None:
    # First the new one: MariaDB wants an index for the key on resource_class_id all the time.
    op.create_index("ix_inventories_fit", "inventories", [*FREE, "min_unit", "max_unit", "step_size"])
    op.drop_index("ix_inventories_free", "inventories")


def downgrade() -> None:
    op.create_index("ix_inventories_free", "inventories", FREE)
    op.drop_index("ix_inventories_fit", "inventories")
