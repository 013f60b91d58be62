"""The hardware type redfish, with controllers of our own and those of others."""
