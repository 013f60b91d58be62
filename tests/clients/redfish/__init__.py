"""Redfish machines of emulators, driven by the released ``openstack`` command."""
