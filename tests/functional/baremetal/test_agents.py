# tier: first
"""/v1/lookup and /v1/heartbeat: agents on machines."""

import pytest

from tests.functional.baremetal.agents import (
    MAC,
    URL,
    VERSION,
    beat,
    beat_until_done,
    do,
    inspect,
    internal_info,
    look_up,
    state,
    token_of,
)
from tests.service import Service, fault

pytestmark = pytest.mark.usefixtures("agent")


# -- the whole story ---------------------------------------------------------------------------------------------------


def test_an_agent_deploys_and_cleans(service: Service, node: str) -> None:
    do(service, "active")
    assert state(service) == "wait call-back"
    token = token_of(service)
    assert beat(service, token).body == b""
    assert state(service) == "wait call-back"
    beat_until_done(service, token)
    shown = service.node("n1")
    assert (shown["provision_state"], shown["last_error"], shown["reservation"]) == ("active", None, None)
    assert internal_info(service) == {"deploy_steps": None, **VERSION}
    do(service, "deleted")
    assert state(service) == "clean wait"
    beat(service, token_of(service))
    assert state(service) == "available"
    assert internal_info(service) == {"deploy_steps": None, "clean_steps": None, **VERSION}


# -- lookup ------------------------------------------------------------------------------------------------------------


def test_what_an_agent_is_told(service: Service, node: str) -> None:
    do(service, "active")
    document = look_up(service).json
    assert set(document) == {"node", "config"}
    assert set(document["node"]) == {"uuid", "properties", "instance_info", "driver_internal_info", "links"}
    assert document["node"]["uuid"] == node
    token = document["config"]["agent_token"]
    assert document["config"] == {
        "heartbeat_timeout": 300,
        "agent_token": token,
        "agent_token_required": True,
        "agent_md5_checksum_enable": True,
        "agent_skip_bmc_detect": False,
        "enable_bios_bootloader_install": False,
        "tls_min_version": "1.3",
        "tls_cipher_suites": None,
        "disable_deep_image_inspection": False,
        "permitted_image_formats": ["raw", "gpt", "qcow2", "iso"],
        "metrics": {
            "backend": "noop",
            "prepend_host": False,
            "prepend_uuid": False,
            "prepend_host_reverse": True,
            "global_prefix": None,
        },
        "metrics_statsd": {"statsd_host": "localhost", "statsd_port": 8125},
        "agent_containers": {
            "allow_arbitrary_containers": False,
            "allowed_containers": [],
            "container_steps_file": "/etc/ironic-python-agent.d/mysteps.yaml",
            "runner": "podman",
            "pull_options": [],
            "run_options": ["--rm", "--network=host"],
        },
    }
    assert document["node"]["driver_internal_info"]["agent_secret_token"] == "******"
    assert token not in service.baremetal("GET", "/nodes/n1").text
    for query in (f"node_uuid={node}", f"addresses={MAC},x,{MAC.upper()}", f"node_uuid={node}&addresses=x"):
        assert look_up(service, query).json["config"]["agent_token"] == "******"


def test_agents_that_are_older_get_no_token(service: Service, node: str) -> None:
    do(service, "active")
    assert look_up(service, version="1.61").json["config"]["agent_token"] is None
    assert look_up(service, version="1.62").json["config"]["agent_token"]


def test_lookups_that_find_nothing(service: Service, node: str) -> None:
    assert fault(look_up(service, status=404)) == "Resource could not be found."  # the node is available
    do(service, "active")
    other = service.add_node("n2", power=False)
    service.set_columns(other, provision_state="clean wait")
    service.baremetal("POST", "/ports", {"node_uuid": other, "address": "52:54:00:00:00:02"})
    for query, version, status in (
        ("addresses=52:54:00:00:00:03", "1.115", 404),
        (f"addresses={MAC},52:54:00:00:00:02", "1.115", 404),
        ("node_uuid=aaaaaaaa-0000-4000-8000-000000000000", "1.115", 404),
        (f"addresses={MAC}", "1.21", 404),
        ("node_uuid=x", "1.115", 400),
        ("addresses=x", "1.115", 400),
        ("addresses=", "1.115", 400),
        ("", "1.115", 400),
        (f"addresses={MAC}&x=1", "1.115", 400),
    ):
        look_up(service, query, version=version, status=status)
    assert look_up(service, version="1.22").json["node"]["uuid"] == node


def test_a_token_is_not_made_while_a_conductor_is_at_work(service: Service, node: str) -> None:
    service.set_columns(node, provision_state="cleaning", reservation="c1")
    look_up(service, status=409)
    assert look_up(service, version="1.61").json["node"]["uuid"] == node


def test_options_of_lookups(database_url: str) -> None:
    with Service(database_url, api={"restrict_lookup": False, "ramdisk_heartbeat_timeout": 7}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        assert look_up(service, f"node_uuid={uuid}").json["config"]["heartbeat_timeout"] == 7
    with Service(database_url, api={"enable_ramdisk_endpoints": False}) as service:
        look_up(service, f"node_uuid={uuid}", status=403)
        beat(service, "x", status=403)
        service.baremetal("POST", "/continue_inspection", {}, status=403)


def test_nodes_that_nobody_serves(service: Service, node: str) -> None:
    do(service, "active")
    token = token_of(service)
    service.set_columns(node, conductor_group="elsewhere")
    assert "No valid host" in fault(beat(service, token, status=400))
    service.set_columns(node, driver_internal_info={})
    assert "No valid host" in fault(look_up(service, status=400))
    service.set_columns(node, provision_state="inspect wait")
    service.baremetal("POST", "/continue_inspection", {"inventory": {"interfaces": [{"mac_address": MAC}]}}, status=400)


# -- heartbeats --------------------------------------------------------------------------------------------------------


def test_heartbeats_that_are_refused_change_nothing(service: Service, node: str) -> None:
    do(service, "active")
    token = token_of(service)
    before = service.node("n1")
    for change, version, text in (
        ({"callback_url": None}, "1.115", "callback_url"),
        ({"callback_url": "ftp://x"}, "1.115", "callback_url"),
        ({"callback_url": "http://[x"}, "1.115", "callback_url"),
        ({"callback_url": "http://169.254.169.254:9999"}, "1.115", "is a link-local address"),
        ({"callback_url": "http://127.0.0.1:9999"}, "1.115", "is this machine itself"),
        ({"callback_url": "https://[::ffff:127.0.0.1]"}, "1.115", "is this machine itself"),
        ({"callback_url": "http://localhost"}, "1.115", "is this machine itself"),
        ({"callback_url": 1}, "1.115", "Schema error"),
        ({"callback_url": "http://192.0.2.1:9999/" + "x" * 70_000}, "1.115", "at most 255 characters"),
        ({"callback_url": "http://192.0.2.1:99999"}, "1.115", "no port"),
        ({"callback_url": "http://192.0.2.1:0"}, "1.115", "no port"),
        ({"callback_url": "http://192.0.2.1:x"}, "1.115", "no port"),
        ({"callback_url": "http://user:hunter2@192.0.2.1:9999"}, "1.115", "no user and no password"),
        ({"callback_url": "http://user@192.0.2.1:9999"}, "1.115", "no user and no password"),
        ({"callback_url": "http://@192.0.2.1:9999"}, "1.115", "no user and no password"),
        ({"callback_url": "http://192.0.2.1\r\nX-A: b"}, "1.115", "no blanks and no line breaks"),
        ({"callback_url": "http://192.0.2.1:99\t99"}, "1.115", "no blanks and no line breaks"),
        ({"callback_url": " http://192.0.2.1:9999"}, "1.115", "no blanks and no line breaks"),
        ({"callback_url": "http://192.0.2.1:9999/\u2028"}, "1.115", "no blanks and no line breaks"),
        ({"agent_token": None}, "1.115", "Agent token is required"),
        ({"agent_token": "x"}, "1.115", "Invalid or missing agent token"),
        ({"agent_token": "ü"}, "1.115", "Invalid or missing agent token"),
        ({"agent_version": None}, "1.115", "version"),
        ({"agent_status": "x"}, "1.115", "Agent status is invalid"),
        ({"x": "y"}, "1.115", "Unexpected arguments"),
        ({}, "1.35", "agent_version"),
        ({"agent_verify_ca": "x"}, "1.67", "agent_verify_ca"),
        ({"agent_status": "start"}, "1.71", "agent_status"),
        ({"agent_status_message": "x"}, "1.71", "agent_status_message"),
    ):
        body = {"callback_url": URL, "agent_token": token, "agent_version": "11.0", **change}
        given = {name: value for name, value in body.items() if value is not None}
        assert text in fault(service.baremetal("POST", "/heartbeat/n1", given, version=version, status=400)), change
    service.baremetal("POST", "/heartbeat/nosuch", body, status=404)
    service.baremetal("POST", "/heartbeat/n1", body, version="1.21", status=404)
    service.baremetal("GET", "/heartbeat/n1", status=405)
    assert service.node("n1") == before


def test_a_token_has_to_be_given_out_before(service: Service, node: str) -> None:
    do(service, "active")
    for token in ("", "None", "******"):
        beat(service, token, status=400)
    assert state(service) == "wait call-back"


def test_heartbeats_are_noted_where_nothing_waits(service: Service, node: str) -> None:
    do(service, "active")
    token = token_of(service)
    service.set_columns(node, maintenance=True)
    said = {"agent_verify_ca": "cert", "agent_status": "start", "agent_status_message": "hello"}
    beat(service, token, **said)
    info = internal_info(service)
    assert info.pop("agent_last_heartbeat")
    noted = {"agent_secret_token": "******", "agent_url": URL, "agent_version": "11.0", **said}
    steps = info.pop("deploy_steps")
    assert (steps[0]["step"], info.pop("image_state")) == ("write_image", "was not begun")
    assert info == noted
    assert state(service) == "wait call-back"
    assert "Detected change" in fault(beat(service, token, callback_url="http://192.0.2.2:9999", status=400))
    service.set_columns(node, maintenance=False)
    beat_until_done(service, token)
    assert state(service) == "active"


def test_heartbeats_of_no_consequence(service: Service, node: str) -> None:
    inspect(service)
    token = token_of(service)
    beat(service, token)
    assert state(service) == "inspect wait"
    assert set(internal_info(service)) == {"agent_secret_token"}


def test_heartbeats_while_a_conductor_is_at_work(service: Service, node: str) -> None:
    do(service, "active")
    token = token_of(service)
    service.set_columns(node, reservation="c1")
    beat(service, token, status=409)
    info = {"agent_secret_token": token, "agent_url": URL}
    service.set_columns(node, driver_internal_info=info)
    beat(service, token)
    assert set(service.node("n1")["driver_internal_info"]) == set(info)


def test_tls_may_be_required(database_url: str) -> None:
    with Service(database_url, agent={"require_tls": True}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        service.set_columns(uuid, provision_state="clean wait", driver_internal_info={"agent_secret_token": "t"})
        assert "TLS" in fault(beat(service, "t", status=400))
        beat(service, "t", callback_url=URL.replace("http", "https"))
        assert state(service) == "available"


def test_an_agent_is_forgotten_when_its_machine_is_switched(service: Service, node: str) -> None:
    do(service, "active")
    token = token_of(service)
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "rebooting"})
    service.work()
    beat(service, token, status=400)
    again = token_of(service)
    assert again not in ("******", token)
    beat_until_done(service, again)
    assert state(service) == "active"


def test_an_agent_is_forgotten_when_its_work_is_aborted(service: Service, node: str) -> None:
    do(service, "active")
    token_of(service)
    do(service, "abort")
    assert internal_info(service) == {"deploy_steps": None}
