"""The plug-in for the ``openstack`` command. It talks HTTP, and imports nothing of the service."""
