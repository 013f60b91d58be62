"""Ironic, behind gunicorn as we are: API and conductor in one process, as its command ``ironic`` runs them."""

import subprocess
from pathlib import Path

from tests.benchmarks.servers import Server
from tests.benchmarks.stores import Store

REQUIREMENT = "ironic==39.0.0"

_WSGI = '''"""Ironic for gunicorn: the API, and the conductor that it calls, in this process."""

import os

import oslo_service.backend

oslo_service.backend.init_backend(oslo_service.backend.BackendType.THREADING)

from ironic.common import service

service.prepare_service("ironic", ["ironic", "--config-file", os.environ["IRONIC_SETTINGS"]])

from ironic.api import app
from ironic.conductor import rpc_service
from ironic.conf import CONF

conductor = rpc_service.RPCService(CONF.host, "ironic.conductor.manager", "ConductorManager")
conductor.start()
application = app.VersionSelectorApplication()
'''
#: What the conductor does by itself now and then would take time from the API: none of it is wanted here.
SETTINGS = """[DEFAULT]
auth_strategy = noauth
debug = false
host = conductor-1
rpc_transport = none
state_path = {folder}
log_file = {folder}/ironic.log
default_log_levels = ironic=ERROR,oslo_policy=ERROR,oslo_messaging=ERROR
enabled_hardware_types = fake-hardware
enabled_bios_interfaces = fake
enabled_boot_interfaces = fake
enabled_console_interfaces = fake
enabled_deploy_interfaces = fake
enabled_firmware_interfaces = fake
enabled_inspect_interfaces = fake
enabled_management_interfaces = fake
enabled_network_interfaces = noop
enabled_power_interfaces = fake
enabled_raid_interfaces = fake
enabled_rescue_interfaces = fake
enabled_storage_interfaces = noop
enabled_vendor_interfaces = fake

[conductor]
sync_power_state_interval = 0
check_provision_state_interval = 0
check_rescue_state_interval = 86400
check_allocations_interval = 0
cache_clean_up_interval = 0
sync_local_state_interval = 86400
power_failure_recovery_interval = 0
node_history_cleanup_interval = 0
conductor_cleanup_interval = 86400
send_sensor_data = false

[database]
connection = {connection}

[dhcp]
dhcp_provider = none

[pxe]
tftp_root = {folder}/tftp
tftp_master_path = {folder}/tftp/master
images_path = {folder}/images
instance_master_path = {folder}/images/master

[deploy]
http_root = {folder}/http

[service_catalog]
auth_type = none
endpoint_override = http://127.0.0.1:1

[oslo_messaging_notifications]
driver = noop
"""


def server(store: Store, folder: Path, python: Path, headers: dict[str, str], template: str = SETTINGS) -> Server:
    """The service over a database that has its schema; ``template`` is that of its settings."""
    environment = {"IRONIC_SETTINGS": str(_write(store, folder, template))}
    return Server("original", python, "original_wsgi:application", folder, headers=headers, environment=environment)


def make_schema(store: Store, folder: Path, python: Path) -> None:
    """Its tables, empty."""
    command = [python.with_name("ironic-dbsync"), "--config-file", _write(store, folder), "create_schema"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{REQUIREMENT} cannot make its schema:\n{done.stderr[-3000:]}")


def _write(store: Store, folder: Path, template: str = SETTINGS) -> Path:
    (folder / "original_wsgi.py").write_text(_WSGI)
    settings = folder / "ironic.conf"
    connection = store.url_of("psycopg2").replace("%", "%%").replace("$", "$$")
    settings.write_text(template.format(connection=connection, folder=folder))
    return settings
