"""The surroundings of nova-compute when ``compute.py`` runs it: its configuration, its databases, and other services.

Runs where Nova is installed.
"""

import logging
import time
import traceback
from pathlib import Path

import nova.conf
import requests
from nova import config, objects
from nova import context as nova_context
from nova.db.api import api as api_database
from nova.db.api import models as api_models
from nova.db.main import api as main_database
from nova.db.main import models as main_models
from nova.network import model as network_model
from oslo_log import log as oslo_log

CONF = nova.conf.CONF
HOST = "compute-1"
IMAGE = "7e5b0a34-6f0f-4c0e-9a3e-0d6c1b2a3f4d"
CELL = "0f3a2c60-6f0f-4c0e-9a3e-0d6c1b2a3f4e"
PAUSE = 0.02

OPTIONS = """
[DEFAULT]
host = {host}
my_ip = 127.0.0.1
compute_driver = ironic.IronicDriver
transport_url = fake://
state_path = {folder}
log_file = {folder}/nova.log
[database]
connection = sqlite:///{folder}/cell.sqlite
[api_database]
connection = sqlite:///{folder}/api.sqlite
[oslo_concurrency]
lock_path = {folder}
[filter_scheduler]
track_instance_changes = false
[ironic]
api_retry_interval = 0
"""


class NoNetworks:
    """Stands in for the network service of servers that have no networks."""

    def allocate_for_instance(self, *args, **kwargs):
        return network_model.NetworkInfo()

    def get_instance_nw_info(self, *args, **kwargs):
        return network_model.NetworkInfo()

    def deallocate_for_instance(self, *args, **kwargs):
        pass

    def setup_networks_on_host(self, *args, **kwargs):
        pass


class OneImage:
    """Stands in for the image service: it has one image."""

    def get(self, *args, **kwargs):
        return {"id": IMAGE, "name": "image", "status": "active", "properties": {}, "disk_format": "qcow2"}

    def generate_image_url(self, image, context):
        return f"image/{image}"


class Errors(logging.Handler):
    """Nova's log lines of errors."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.said = []

    def emit(self, record):
        text = record.getMessage()
        if text.startswith("No compute node record for host"):  # it has none before it sees its first node
            return
        if record.exc_info:
            text += "\n" + "".join(traceback.format_exception(*record.exc_info))
        self.said.append(text)


class Exchanges:
    """Nova's HTTP requests and their answers, except log-ins: requests is below all its clients."""

    def __init__(self):
        self.seen = []
        send = requests.Session.send

        def watch(session, request, **options):
            if "instance_uuid=" in request.url:  # Nova polls, without a pause as it is configured here
                time.sleep(PAUSE)
            response = send(session, request, **options)
            if not request.path_url.startswith("/v3/auth/"):
                body = request.body.decode() if isinstance(request.body, bytes) else request.body
                self.seen.append([request.method, request.path_url, body, response.status_code, response.text])
            return response

        requests.Session.send = watch


def prepare(folder, access):
    """Configure Nova, and make its databases. ``access``: a file of further options."""
    file = Path(folder, "nova.conf")
    file.write_text(OPTIONS.format(host=HOST, folder=folder))
    config.parse_args(["nova-compute", "--config-file", str(file), "--config-file", access])
    oslo_log.setup(CONF, "nova")
    objects.register_all()
    main_models.BASE.metadata.create_all(main_database.get_engine())
    api_models.BASE.metadata.create_all(api_database.get_engine())
    context = nova_context.get_admin_context()
    for name, uuid in (("cell0", objects.CellMapping.CELL0_UUID), ("cell1", CELL)):
        connection = CONF.database.connection
        objects.CellMapping(
            *(context,), uuid=uuid, name=name, transport_url="fake://", database_connection=connection, disabled=False
        ).create()
