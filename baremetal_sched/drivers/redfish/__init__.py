"""``redfish``: machines whose management controllers speak Redfish. Needs sushy, the extra ``redfish``."""
