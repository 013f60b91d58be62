"""Settings: files, environment, overrides; a wrong value stops the start."""

from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_middleware.cors import CORS_OPTS

from baremetal_sched import auth_settings, settings
from baremetal_sched.app import create_app
from baremetal_sched.errors import InvalidValue
from baremetal_sched.options.service import CORS


def test_overrides_beat_the_environment_which_beats_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.conf"
    file.write_text("[api]\nmax_limit = 10\n[conductor]\nconductor_group = file\n[DEFAULT]\nhost = filehost\n")
    monkeypatch.setenv("OS_CONDUCTOR__CONDUCTOR_GROUP", "environment")
    monkeypatch.setenv("OS_DEFAULT__HOST", "environment")
    loaded = settings.load([str(file)], {"DEFAULT": {"host": "override"}})
    assert loaded.api.max_limit == 10
    assert loaded.conductor.conductor_group == "environment"
    assert loaded.host == "override"


def test_two_settings_do_not_share_anything() -> None:
    assert settings.load(overrides={"api": {"max_limit": 5}}).api.max_limit == 5
    assert settings.load().api.max_limit == 1000


def test_a_wrong_value_stops_the_start(subtests: pytest.Subtests) -> None:
    for overrides in [
        {"api": {"auth_strategy": "magic"}},
        {"api": {"no_such_option": 1}},
        {"conductor": {"heartbeat_interval": 10, "heartbeat_timeout": 10}},
    ]:
        with subtests.test(overrides=overrides), pytest.raises((cfg.Error, ValueError)):
            settings.load(overrides=overrides)


def test_a_wrong_value_in_a_file_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text("[api]\nmax_limit = many\n")
    with pytest.raises(cfg.Error):
        settings.load([str(file)])


def refused(text: str, tmp_path: Path) -> str:
    """The complaint about a file with these lines."""
    file = tmp_path / "a.conf"
    file.write_text(text)
    with pytest.raises(cfg.Error) as info:
        settings.load([str(file)])
    return str(info.value).replace(str(file), "FILE")


def test_a_slip_in_a_name_is_an_error_that_proposes_the_right_one(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for text, said in [
        ("[databse]\nconnection = x\n", "FILE, line 2: there is no group [databse]. Did you mean [database]?"),
        ("[default]\nhost = x\n", "FILE, line 2: there is no group [default]. Did you mean [DEFAULT]?"),
        (
            "[oslo_polcy]\npolicy_file = x\n",
            "FILE, line 2: there is no group [oslo_polcy]. Did you mean [oslo_policy]?",
        ),
        (
            "# a\n\n[database]\nconection = x\n",
            "FILE, line 4: there is no option conection in [database]. Did you mean connection?",
        ),
        (
            "[api]\nmax-limit=5\n",
            "FILE, line 2: there is no option max-limit in [api]. Did you mean max_limit?",
        ),
        ("[DEFAULT]\nmax_limit: 5\n", "FILE, line 2: there is no option max_limit in [DEFAULT]. It is in [api]."),
        (
            "[oslo_policy]\nnosuchthing = 1\n",
            "FILE, line 2: there is no option nosuchthing in [oslo_policy]; see api-ref/configuration.rst for the "
            "existing options.",
        ),
    ]:
        with subtests.test(text=text):
            assert refused(text, tmp_path) == said


def test_every_slip_is_named_at_once(tmp_path: Path) -> None:
    assert len(refused("[databse]\na = 1\n[api]\nb = 2\n", tmp_path).splitlines()) == 2


def test_a_slip_in_a_variable(subtests: pytest.Subtests) -> None:
    for name, said in [
        ("OS_DATABSE__CONNECTION", "no group [databse]. Did you mean [database]?"),
        ("OS_DATABASE__CONECTION", "no option conection in [database]. Did you mean connection?"),
        ("OS_DATABASE___CONNECTION", "no option _connection in [database]. Did you mean connection?"),
        ("OS_database__CONNECTION", "is not read: OS_DATABASE__CONNECTION must be in capitals."),
        ("os_api__max_limit", "is not read: OS_API__MAX_LIMIT must be in capitals."),
    ]:
        with subtests.test(name), pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setenv(name, "5")
            with pytest.raises(cfg.Error, match=rf"environment variable {name}\b.*") as info:
                settings.load()
            assert said in str(info.value)


def test_variables_of_clients_and_of_other_services_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OS_CLOUD", "OS_DATABSE_CONNECTION", "OS_AUTH_URL", "OS_KEYSTONE_AUTHTOKEN__PASSWORD"):
        monkeypatch.setenv(name, "x")
    loaded = settings.load()
    assert settings.NAMES.others(settings.entries_of(loaded)) == ["keystone_authtoken"]


def test_groups_of_other_services_are_left_alone(tmp_path: Path) -> None:
    """Options of Ironic and Placement, and of oslo's libraries, are no slips."""
    others = """
        anaconda ansible api_database audit cifs cinder console dhcp disk_utils dnsmasq drac errors
        glance healthcheck inventory ironic_lib ironic_networking json_rpc keystone_authtoken mdns
        neutron nfs nova oci oslo_concurrency oslo_limit oslo_messaging_kafka
        oslo_messaging_notifications oslo_messaging_rabbit oslo_reports oslo_versionedobjects placement_database
        profiler pxe pxe_filter sensor_data service_catalog service_user swift vnc workarounds
    """.split()  # noqa: SIM905
    file = tmp_path / "a.conf"
    file.write_text("".join(f"[{group}]\na = 1\n" for group in others) + "[Database]\nmax_pool_size = 3\n")
    loaded = settings.load([str(file)])
    assert settings.NAMES.others(settings.entries_of(loaded)) == sorted(others)
    assert loaded.database.max_pool_size == 3


def test_a_wrong_value_names_its_place(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for text, said in [
        ("[api]\n\nmax_limit = many\n", "FILE, line 3: [api] max_limit = many: 'many' is not an integer"),
        (
            "[conductor]\nheartbeat_interval = soon\n",
            "FILE, line 2: [conductor] heartbeat_interval = soon: 'soon' is not a number",
        ),
        ("[cors]\nmax_age = many\n", "FILE, line 2: [cors] max_age = many: "),
        ("[inspector]\nhooks = $nosuch\n", "FILE, line 2: [inspector] hooks = $nosuch: "),
        ("[api]\nauth_strategy = magic\n", "FILE, line 2: [api] auth_strategy = magic: Valid values are"),
    ]:
        with subtests.test(text=text):
            assert refused(text, tmp_path).startswith(said)


def test_addresses_names_and_levels_are_checked(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for option, wrong, right in [
        (
            "[api]\npublic_endpoint",
            ("https://[2001:db8::10:6385", "not a url", "cloud.example.com:6385", "ftp://a", "https://", "https://a?b=c",
             "https://a:x", "https://a#b", "https://a:99999", "https://\u00e4"),
            ("https://cloud.example.com", "http://[2001:db8::10]:6385", "http://10.0.0.1:6385/cloud", ""),
        ),
        ("[conductor]\ndeploy_iso", ("agent.iso", "file:///agent.iso"), ("http://u:p@images/agent.iso?s=1", "")),
        ("[conductor]\ndeploy_iso_by_arch", ("x86_64:agent.iso",), ("x86_64:http://a/b.iso,arm:http://a/c.iso", "")),
        ("[cors]\nallowed_origin", ("https://a/", "a", "https://a, b"), ("*", "https://a:8443,http://b", "null")),
        ("[metrics_statsd]\nagent_statsd_host", ("a b",), ("stats.example.com", "::1")),
        ("[metrics]\nagent_backend", ("statds",), ("statsd",)),
        ("[compute]\nserver_group_level", ("Rack", "my rack", "rack,row", "1", "r" * 65), ("rack", "row-2", "")),
        ("[compute]\ndefault_availability_zone", ("a:b", "z" * 256, ""), ("nova", "zone 1")),
        ("[compute]\nproject_id", ("p" * 256, ""), ("p1",)),
        ("[compute]\nuser_id", ("u" * 256,), ("u1",)),
        ("[placement]\nincomplete_consumer_project_id", ("p" * 256,), ("p1",)),
        ("[placement]\nincomplete_consumer_user_id", ("u" * 256,), ("u1",)),
        ("[conductor]\nconductor_group", ("a b", "g" * 256), ("Rack-1", "")),
        ("[DEFAULT]\ndefault_conductor_group", ("a/b",), ("rack.1", "")),
        ("[DEFAULT]\ndefault_resource_class", ("c" * 81,), ("gold", "")),
        ("[DEFAULT]\ndefault_portgroup_mode", ("m" * 256,), ("802.3ad",)),
    ]:  # fmt: skip
        group, name = option.split("\n")
        for value in wrong:
            with subtests.test(option=name, wrong=value):
                assert f"{group} {name}" in refused(f"{option} = {value}\n", tmp_path)
        for value in right:
            with subtests.test(option=name, right=value):
                file = tmp_path / "a.conf"
                file.write_text(f"{option} = {value}\n")
                settings.load([str(file)])


def test_lists_of_hosts_are_checked_before_the_first_request(subtests: pytest.Subtests) -> None:
    for group in ("events", "inspection_rules"):
        with subtests.test(group), pytest.raises(InvalidValue, match=rf"\[{group}\] allowed_hosts: 'a/b' is not"):
            create_app({group: {"allowed_hosts": "a/b"}})


def test_an_address_with_a_password_is_not_repeated(tmp_path: Path) -> None:
    said = refused("[api]\npublic_endpoint = https://user:hunter2@cloud.example.com\n", tmp_path)
    assert said.startswith("FILE, line 2: [api] public_endpoint = https://***@cloud.example.com: Expected a URL with")


def test_a_password_with_a_dollar_is_not_repeated(tmp_path: Path) -> None:
    said = refused("[database]\nconnection = mariadb://u:hunter$two@h/d\n", tmp_path)
    assert said == "FILE, line 2: [database] connection: a $ must be written $$"
    file = tmp_path / "b.conf"
    file.write_text("[database]\nconnection = mariadb://u:hunter$$two@h/d\n")
    assert settings.load([str(file)]).database.connection == "mariadb://u:hunter$two@h/d"


def test_lines_are_those_of_the_parser(tmp_path: Path) -> None:
    """Values that go on in the next line, and characters that only Python takes for the end of one."""
    file = tmp_path / "a.conf"
    file.write_text(
        "[inspector]\npci_device_alias = {}\n  and = more\n\t[x]\n;c = 1\n\n[DEFAULT]\nhost: a\u2028b\x0cc\n"
    )
    loaded = settings.load([str(file)])
    assert loaded.host == "a\u2028b\x0cc"
    assert [entry.where for entry in settings.entries_of(loaded)][:2] == [f"{file}, line 2", f"{file}, line 8"]


def test_a_wrong_value_in_the_environment_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_API__MAX_LIMIT", "0")
    with pytest.raises(cfg.Error, match=r"^environment variable OS_API__MAX_LIMIT: \[api\] max_limit = 0: Should be"):
        settings.load()


def test_a_wrong_value_on_the_command_line_names_its_option() -> None:
    with pytest.raises(cfg.Error, match=r"^\[api\] auth_strategy: Valid values are"):
        settings.load(overrides={"api": {"auth_strategy": "magic"}})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(cfg.Error, match=r"^There is no configuration file /nosuch/a\.conf\.$"):
        settings.load(["/nosuch/a.conf"])
    with pytest.raises(cfg.Error, match="cannot be read"):
        settings.load([str(tmp_path)])
    binary = tmp_path / "b.conf"
    binary.write_bytes(b"[api]\nmax_limit = \xff\n")
    with pytest.raises(cfg.Error, match="cannot be read"):
        settings.load([str(binary)])
    assert "Section must be started" in refused("a = 1\n", tmp_path)


def test_the_scope_of_requests_can_be_named(tmp_path: Path) -> None:
    """Files of other services have it, although oslo.policy has not any more."""
    file = tmp_path / "a.conf"
    file.write_text("[oslo_policy]\nenforce_scope = false\n")
    assert settings.load([str(file)]).oslo_policy.enforce_scope is False
    assert settings.load().oslo_policy.enforce_scope is True


def test_the_name_that_ironic_has_for_the_strategy_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text("[DEFAULT]\nauth_strategy = noauth2\n")
    assert settings.load([str(file)]).api.auth_strategy == "noauth2"


def test_the_name_that_ironic_has_for_the_strategy_is_understood_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is stronger than a file, and weaker than our own name."""
    monkeypatch.setenv("OS_DEFAULT__AUTH_STRATEGY", "noauth2")
    assert settings.load().api.auth_strategy == "noauth2"
    assert auth_settings.names_strategy(settings.load())
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth")
    assert settings.load().api.auth_strategy == "noauth"
    monkeypatch.delenv("OS_API__AUTH_STRATEGY")
    monkeypatch.setenv("OS_DEFAULT__AUTH_STRATEGY", "magic")
    with pytest.raises(cfg.Error, match=r"^\[api\] auth_strategy: Valid values are"):
        settings.load()


def test_options_of_cors_are_those_of_the_library() -> None:
    """It is not imported for them."""
    own, its = ([(option.dest, type(option), option.default) for option in some] for some in (CORS, CORS_OPTS))
    assert own == its
