"""The whole schema."""

from baremetal_sched.db.models.base import Base, SchemaState, table_of
from baremetal_sched.db.models.bookings import BookedMachine, Booking, BookingLock
from baremetal_sched.db.models.conductors import Conductor, ConductorHardwareType, ConductorInterface, DriverCall
from baremetal_sched.db.models.domains import Domain, DomainMember
from baremetal_sched.db.models.ends import ClaimEnd
from baremetal_sched.db.models.events import CapacitySample, EventNote, EventProject, EventStream, NumberedEvent
from baremetal_sched.db.models.findings import BiosSetting, FirmwareComponent, NodeInventory
from baremetal_sched.db.models.flavors import Flavor, FlavorProject, Keypair
from baremetal_sched.db.models.holds import Hold
from baremetal_sched.db.models.images import Image, ImageMember, ImageProperty, ImageTag
from baremetal_sched.db.models.machine_groups import GroupMember, MachineGroup
from baremetal_sched.db.models.nodes import Chassis, Node, NodeAllocation, NodeHistory, NodeTrait, NodeWork
from baremetal_sched.db.models.page_sessions import PageSession
from baremetal_sched.db.models.placement import (
    Aggregate,
    Allocation,
    Consumer,
    Inventory,
    ProviderAggregate,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from baremetal_sched.db.models.ports import Port, Portgroup
from baremetal_sched.db.models.server_groups import ServerGroup, ServerGroupMember
from baremetal_sched.db.models.servers import Server, ServerAction, ServerTag
from baremetal_sched.db.models.steps import DeployTemplate, InspectionRule, Runbook, RunbookTrait
from baremetal_sched.db.models.volume import VolumeConnector, VolumeTarget
from baremetal_sched.db.models.waiting_requests import WaitingRequest
from baremetal_sched.db.models.webhooks import Webhook, WebhookTest

__all__ = [
    "Aggregate",
    "Allocation",
    "Base",
    "BiosSetting",
    "BookedMachine",
    "Booking",
    "BookingLock",
    "CapacitySample",
    "Chassis",
    "ClaimEnd",
    "Conductor",
    "ConductorHardwareType",
    "ConductorInterface",
    "Consumer",
    "DeployTemplate",
    "Domain",
    "DomainMember",
    "DriverCall",
    "EventNote",
    "EventProject",
    "EventStream",
    "FirmwareComponent",
    "Flavor",
    "FlavorProject",
    "GroupMember",
    "Hold",
    "Image",
    "ImageMember",
    "ImageProperty",
    "ImageTag",
    "InspectionRule",
    "Inventory",
    "Keypair",
    "MachineGroup",
    "Node",
    "NodeAllocation",
    "NodeHistory",
    "NodeInventory",
    "NodeTrait",
    "NodeWork",
    "NumberedEvent",
    "PageSession",
    "Port",
    "Portgroup",
    "ProviderAggregate",
    "ProviderTrait",
    "ResourceClass",
    "ResourceProvider",
    "Runbook",
    "RunbookTrait",
    "SchemaState",
    "Server",
    "ServerAction",
    "ServerGroup",
    "ServerGroupMember",
    "ServerTag",
    "Trait",
    "VolumeConnector",
    "VolumeTarget",
    "WaitingRequest",
    "Webhook",
    "WebhookTest",
    "table_of",
]
