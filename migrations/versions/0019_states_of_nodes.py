"""The inventory of a node repeats what the node says of itself, so that an index tells how many machines are free."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

COLUMNS = {"node_class": 80, "node_group": 255, "node_state": 32}
INDEX = ["withheld", "node_class", "node_group", "node_state", "used", "free"]

STATE = (
    "CASE WHEN n.instance_uuid IS NOT NULL THEN 'allocated' WHEN n.parent_node IS NOT NULL THEN 'parent node' "
    "WHEN n.maintenance <> {false} THEN 'maintenance' WHEN n.provision_state <> 'available' THEN n.provision_state "
    "WHEN n.power_state IS NULL OR n.power_state = 'error' THEN 'power unknown' END"
)
OWN = "n.uuid = p.uuid AND n.resource_class <> ''"
BY_JOIN = (
    "UPDATE inventories i JOIN resource_providers p ON p.id = i.provider_id AND p.mirrored_class_id = "
    f"i.resource_class_id JOIN nodes n ON {OWN} SET i.node_class = n.resource_class, "
    f"i.node_group = n.conductor_group, i.node_state = {STATE}"
)
BY_FROM = (
    "UPDATE inventories SET node_class = n.resource_class, node_group = n.conductor_group, "
    f"node_state = {STATE} FROM resource_providers p, nodes n WHERE p.id = inventories.provider_id "
    f"AND p.mirrored_class_id = inventories.resource_class_id AND {OWN}"
)


def upgrade() -> None:
    for name, length in COLUMNS.items():
        op.add_column("inventories", sa.Column(name, sa.String(length=length)))
    dialect = op.get_bind().dialect.name
    statement = BY_JOIN if dialect in ("mysql", "mariadb") else BY_FROM
    op.execute(statement.format(false="false" if dialect == "postgresql" else "0"))
    op.create_index("ix_inventories_nodes", "inventories", INDEX)


def downgrade() -> None:
    op.drop_index("ix_inventories_nodes", "inventories")
    for name in COLUMNS:
        op.drop_column("inventories", name)
