"""The tables of placement, for statements without entities, which are much faster to create."""

from typing import Any

from sqlalchemy import ColumnElement, or_

from baremetal_sched.db import models
from baremetal_sched.db.clock import epoch, row_epoch
from baremetal_sched.db.models import table_of

PROVIDERS = table_of(models.ResourceProvider)
CLASSES = table_of(models.ResourceClass)
TRAITS = table_of(models.Trait)
PROVIDER_TRAITS = table_of(models.ProviderTrait)
AGGREGATES = table_of(models.Aggregate)
PROVIDER_AGGREGATES = table_of(models.ProviderAggregate)
INVENTORIES = table_of(models.Inventory)
CONSUMERS = table_of(models.Consumer)
ALLOCATIONS = table_of(models.Allocation)
PENDING_CLAIMS = table_of(models.PendingClaim)


def is_open(row: Any, now: type[epoch] = row_epoch) -> ColumnElement[bool]:
    """SQL condition on a provider or an inventory: can be claimed now (closes_at IS NULL OR closes_at > now).

    A claim needs the time when it has the row's lock; what only reads, when the statement started.
    """
    return or_(row.c.closes_at.is_(None), row.c.closes_at > now())
