"""The hardware type redfish, without a database."""
