"""The tables of placement, for statements without entities, which are much faster to create."""

from baremetal_sched.db import models
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
