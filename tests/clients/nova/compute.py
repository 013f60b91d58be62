"""nova-compute and as much of the scheduler as comes before it, in a process of its own: ``compute.py FOLDER ACCESS``.

It runs in whatever Python has Nova. What it runs is Nova's own compute manager, with its Ironic driver, its resource
tracker and its report client, on a database of Nova's in FOLDER (SQLite, made from Nova's models). ACCESS is a file of
options: how it finds the services, and who it is there. Networks and images belong to other services and are left out;
nothing else is replaced.

It reads a JSON object a line: ``{"do": NAME, …arguments}``, the name of a method of ``Compute``, and answers with a
line: ``result`` (null if it failed), ``errors`` (what was raised, and what Nova logged as an error) and ``exchanges``
(every HTTP request that Nova sent to answer: method, path, request, status, response).
"""

# ruff: noqa: E402
import sys

from nova import monkey_patch

monkey_patch.patch(backend="threading")  # as nova-compute begins

import json
import logging
import os
import traceback

import nova.conf
from nova import context as nova_context
from nova import exception, objects
from nova.compute import manager, task_states, vm_states
from nova.network import model as network_model
from nova.scheduler import request_filter
from nova.scheduler import utils as scheduler_utils
from nova.scheduler.client import report
from oslo_utils import uuidutils
from surroundings import HOST, IMAGE, Errors, Exchanges, NoNetworks, OneImage, prepare

CONF = nova.conf.CONF
USER = PROJECT = "6b1c0f5ec0c94f5a8a4b6ab7bb7d1f3d"


class Compute:
    """The possible requests. Servers and nodes are called by their UUIDs."""

    def __init__(self):
        self.context = nova_context.RequestContext(USER, PROJECT, is_admin=True)
        self.placement = report.SchedulerReportClient()
        self.service = objects.Service(self.context, host=HOST, binary="nova-compute", topic="compute")
        self.service.create()
        self.start()

    def start(self):
        """Start nova-compute (again): it has what is in the databases, and nothing else."""
        self.manager = manager.ComputeManager()
        self.manager.network_api = NoNetworks()
        self.manager.image_api = OneImage()
        self.manager.init_host(self.service)
        self.manager.pre_start_hook(self.service)

    def update(self):
        """The periodic task: all that this host's nodes are goes to Placement."""
        self.manager.update_available_resource(self.context)

    def age(self):
        """More than ``resource_provider_association_refresh`` seconds pass: what was read from Placement is stale."""
        self.manager.reportclient._association_refresh_time.clear()

    def configure(self, skip_reserve_in_use_ironic_nodes):
        """The workaround of that name."""
        CONF.set_override("skip_reserve_in_use_ironic_nodes", skip_reserve_in_use_ironic_nodes, group="workarounds")

    def enable(self, enabled, hears=True):
        """``openstack compute service set --enable`` or ``--disable``; nova-compute hears of it if it runs."""
        self.service.disabled = not enabled
        self.service.save()
        if hears:
            self.manager.set_host_enabled(self.context, enabled)

    def aggregate(self, node, aggregate):
        """Put the node into a host aggregate."""
        self.placement.aggregate_add_host(self.context, aggregate, host_name=node)

    def nodes(self):
        """Nova's compute nodes."""
        return [node.uuid for node in objects.ComputeNodeList.get_all(self.context)]

    def candidates(self, resource_class, traits=()):
        """The nodes that the scheduler finds for a flavor."""
        return sorted(
            {next(iter(each["allocations"])) for each in self._candidates(self._spec(resource_class, traits))}
        )

    def claim(self, node, resource_class, traits=()):
        """Do the work of conductor and scheduler for a new server on ``node``; returns its UUID, null if refused."""
        instance = self._instance(resource_class, traits)
        spec = self._spec(resource_class, traits)
        found = [each for each in self._candidates(spec) if node in each["allocations"]]
        version = self.version
        if not found or not scheduler_utils.claim_resources(
            self.context, self.placement, spec, instance.uuid, found[0], version
        ):
            instance.destroy()
            return None
        return instance.uuid

    def build(self, server, node):
        """Have nova-compute build a server that was given ``node``; returns its state."""
        self.manager._build_and_run_instance(
            *(self.context, self._get(server), self.manager.image_api.get(), [], None),
            *(objects.NetworkRequestList(objects=[]), None, objects.BlockDeviceMappingList(), node, {}, {}),
        )
        return self._get(server).vm_state

    def prepare(self, server, node):
        """The first part of that: the node is the server's, and nothing is deployed yet."""
        instance = self._get(server)
        allocations = self.manager.reportclient.get_allocations_for_consumer(self.context, server)
        self.manager.rt.instance_claim(self.context, instance, node, allocations)
        self.manager.driver.prepare_for_spawn(instance)

    def abandon(self, server):
        """A server that has only been claimed, or prepared, for is deleted."""
        instance = self._get(server)
        if instance.node:
            self.manager.driver.failed_spawn_cleanup(instance)
        self.placement.delete_allocation_for_instance(self.context, server, force=True)
        instance.destroy()

    def delete(self, server):
        """Delete a server."""
        instance = self._begin(server, "delete", task_states.DELETING)
        self.manager.terminate_instance(self.context, instance, objects.BlockDeviceMappingList())

    def rebuild(self, server):
        """Rebuild a server with the image that it has; returns its state."""
        instance = self._begin(server, "rebuild", task_states.REBUILDING)
        self.manager.rebuild_instance(
            *(self.context, instance, IMAGE, IMAGE, [], None, {}, objects.BlockDeviceMappingList()),
            *(False, False, False, None, None, None, None, []),
        )
        return self._get(server).vm_state

    def stop(self, server):
        """Switch a server off; returns its state."""
        self.manager.stop_instance(self.context, self._begin(server, "stop", task_states.POWERING_OFF), False)
        return self._get(server).vm_state

    def resume(self, server):
        """Switch a server on; returns its state."""
        self.manager.start_instance(self.context, self._begin(server, "start", task_states.POWERING_ON))
        return self._get(server).vm_state

    def held(self, server):
        """The server's allocations in Placement: resources by node."""
        held = self.placement.get_allocations_for_consumer(self.context, server)
        return {node: each["resources"] for node, each in held.items()}

    def _candidates(self, spec):
        request_filter.process_reqspec(self.context, spec)
        resources = scheduler_utils.resources_from_request_spec(self.context, spec, None)
        found, _, self.version = self.placement.get_allocation_candidates(self.context, resources) or ([], None, None)
        return found or []

    def _spec(self, resource_class, traits):
        spec = objects.RequestSpec.from_components(
            *(self.context, uuidutils.generate_uuid(), objects.ImageMeta(properties=objects.ImageMetaProps())),
            *(self._flavor(resource_class, traits), None, None, {}, None, None),
            project_id=PROJECT,
            user_id=USER,
        )
        spec.requested_destination = None
        return spec

    def _flavor(self, resource_class, traits):
        return objects.Flavor(
            id=1,
            flavorid="bare",
            name="bare",
            memory_mb=1024,
            vcpus=1,
            root_gb=10,
            ephemeral_gb=0,
            swap=0,
            rxtx_factor=1.0,
            vcpu_weight=0,
            disabled=False,
            is_public=True,
            extra_specs={
                f"resources:{resource_class}": "1",
                **{f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")},
                **{f"trait:{name}": "required" for name in traits},
            },
            description=None,
            created_at=None,
            updated_at=None,
            deleted_at=None,
            deleted=False,
        )

    def _instance(self, resource_class, traits):
        instance = objects.Instance(
            self.context,
            user_id=USER,
            project_id=PROJECT,
            image_ref=IMAGE,
            display_name="server",
            hostname="server",
            vm_state=vm_states.BUILDING,
            task_state=None,
            power_state=0,
            memory_mb=1024,
            vcpus=1,
            root_gb=10,
            ephemeral_gb=0,
            metadata={},
            system_metadata={"image_disk_format": "qcow2"},
            flavor=self._flavor(resource_class, traits),
            instance_type_id=1,
            pci_requests=objects.InstancePCIRequests(requests=[]),
            numa_topology=None,
            availability_zone="nova",
            config_drive="",
        )
        instance.info_cache = objects.InstanceInfoCache(network_info=network_model.NetworkInfo())
        instance.create()
        return instance

    def _begin(self, server, action, task_state):
        """The server with its task noted, as Nova's API does before it calls nova-compute."""
        objects.InstanceAction.action_start(self.context, server, action, want_result=False)
        instance = self._get(server)
        instance.task_state = task_state
        instance.save()
        return instance

    def _get(self, server):
        expected = ["metadata", "system_metadata", "flavor", "info_cache", "numa_topology", "pci_requests", "resources"]
        return objects.Instance.get_by_uuid(self.context, server, expected_attrs=expected)


def main(folder, access):
    """Answer until there are no more lines."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else is printed
    prepare(folder, access)
    errors, exchanges = Errors(), Exchanges()
    logging.getLogger("nova").addHandler(errors)
    compute = None
    for line in sys.stdin:
        order = json.loads(line)
        errors.said, exchanges.seen, result = [], [], None
        try:
            if compute is None:
                compute = Compute()
            result = getattr(compute, order.pop("do"))(**order)
        except Exception as error:
            shown = "" if isinstance(error, exception.NovaException) else traceback.format_exc()
            errors.said.append(f"{type(error).__name__}: {error}\n{shown}")
        print(json.dumps({"result": result, "errors": errors.said, "exchanges": exchanges.seen}), file=answers)
    os._exit(0)  # without waiting for its threads


if __name__ == "__main__":
    main(*sys.argv[1:])
