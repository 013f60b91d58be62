"""List the machines with NVMe, allocate one of class gold, say which one it is, and give it back."""

import os

from ironicclient import client

ironic = client.get_client(1, endpoint=os.environ["OS_BAREMETAL_ENDPOINT_OVERRIDE"], os_ironic_api_version="1.112")
for node in ironic.node.list(fields=["name", "traits"]):
    print(node.name, ", ".join(node.traits))
allocation = ironic.allocation.create(resource_class="gold", traits=["CUSTOM_NVME"])
try:
    allocation = ironic.allocation.wait(allocation.uuid, timeout=60)
    print(f"{ironic.node.get(allocation.node_uuid).name} is yours")
finally:
    ironic.allocation.delete(allocation.uuid)
