"""Allocate a machine of class gold with NVMe, say which one it is, and give it back."""

import openstack

cloud = openstack.connect()
allocation = cloud.baremetal.create_allocation(resource_class="gold", traits=["CUSTOM_NVME"])
try:
    allocation = cloud.baremetal.wait_for_allocation(allocation, timeout=60)
    node = cloud.baremetal.get_node(allocation.node_id)
    print(f"{node.name} is yours: {node.provision_state}, {node.power_state}")
finally:
    cloud.baremetal.delete_allocation(allocation)
