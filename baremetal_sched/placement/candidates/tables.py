"""The tables, for statements without entities: those are made much faster."""

from typing import cast

from sqlalchemy import Table

from baremetal_sched.db import models

PROVIDERS = cast(Table, models.ResourceProvider.__table__)
CLASSES = cast(Table, models.ResourceClass.__table__)
TRAITS = cast(Table, models.Trait.__table__)
PROVIDER_TRAITS = cast(Table, models.ProviderTrait.__table__)
AGGREGATES = cast(Table, models.Aggregate.__table__)
PROVIDER_AGGREGATES = cast(Table, models.ProviderAggregate.__table__)
INVENTORIES = cast(Table, models.Inventory.__table__)
