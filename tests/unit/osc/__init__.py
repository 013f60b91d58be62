"""The plug-in of the ``openstack`` command, without a service."""
