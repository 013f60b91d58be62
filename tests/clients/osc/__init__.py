"""Our commands in the ``openstack`` command, installed beside those of others."""
