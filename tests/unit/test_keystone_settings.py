"""The options of strategy ``keystone`` are there if it is used, and are checked like all others."""

from pathlib import Path

import pytest
from oslo_config import cfg

from baremetal_sched import keystone_settings
from baremetal_sched.settings import load

COMPLETE = """
[api]
auth_strategy = keystone
[keystone_authtoken]
auth_type = password
auth_url = http://identity.example.com/v3
username = sched
password = secret
project_name = service
user_domain_id = default
project_domain_id = default
"""


def refused(text: str, tmp_path: Path) -> str:
    """The complaint about a file with these lines."""
    file = tmp_path / "a.conf"
    file.write_text(text)
    with pytest.raises(cfg.Error) as info:
        load([str(file)])
    return str(info.value).replace(str(file), "FILE")


def test_a_group_as_other_services_have_it(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text(COMPLETE)
    settings = load([str(file)])
    assert settings.keystone_authtoken.username == "sched"
    assert settings.keystone_authtoken.service_token_roles == ["service"]
    assert keystone_settings.auth_url(settings) == "http://identity.example.com/v3"
    file.write_text(COMPLETE + "www_authenticate_uri = https://public.example.com/v3\n")
    assert keystone_settings.auth_url(load([str(file)])) == "https://public.example.com/v3"


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"AUTH_TYPE": "v3applicationcredential", "AUTH_URL": "http://a/v3", "APPLICATION_CREDENTIAL_ID": "i"}
    for name, value in (values | {"APPLICATION_CREDENTIAL_SECRET": "s"}).items():
        monkeypatch.setenv(f"OS_KEYSTONE_AUTHTOKEN__{name}", value)
    settings = load(overrides={"api": {"auth_strategy": "keystone"}})
    assert settings.keystone_authtoken.application_credential_secret == "s"


def test_nothing_waits_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text(COMPLETE)
    own = load([str(file)]).keystone_authtoken
    assert (own.http_connect_timeout, own.http_request_max_retries) == (10, 1)
    file.write_text(COMPLETE + "http_connect_timeout = 7\n")
    assert load([str(file)]).keystone_authtoken.http_connect_timeout == 7


def test_another_section_may_say_how_to_log_in(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    text = COMPLETE.replace("[keystone_authtoken]", "[keystone_authtoken]\nauth_section = login\n[login]")
    file.write_text(text)
    settings = load([str(file)])
    assert settings.login.username == "sched"
    assert keystone_settings.auth_url(settings) == "http://identity.example.com/v3"
    said = "there is no option usrname in [login]. Did you mean username?"
    assert said in refused(text.replace("username", "usrname"), tmp_path)


def test_what_is_wrong_stops_the_start(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for old, new, said in [
        (
            "username",
            "usrname",
            "FILE, line 7: there is no option usrname in [keystone_authtoken]. Did you mean username?",
        ),
        ("[keystone_authtoken]\nauth_type = password", "[keystone_authtoken]", "there is no option auth_url in"),
        ("auth_type = password", "auth_type = magic", "[keystone_authtoken] auth_type = magic: "),
        ("auth_url = http://identity.example.com/v3\n", "", "parameters which were not given: auth_url"),
        ("[api]", "[keystone_authtoken]\ntoken_cache_time = x\n[api]", "[keystone_authtoken] token_cache_time = x: "),
        ("auth_type", "token_cache_time = 0\nauth_type", "0 would cache tokens for ever; -1 disables the cache"),
        (
            "auth_type",
            "memcached_servers = a:1\nmemcache_security_strategy = ENCRYPT\nauth_type",
            "memcache_secret_key must be set",
        ),
        (
            "auth_type",
            "memcached_servers = a:1\nmemcache_tls_enabled = true\nauth_type",
            "the package python-binary-memcached must be installed",
        ),
        (
            COMPLETE,
            "[api]\nauth_strategy = keystone\n",
            "[keystone_authtoken] auth_type and the service's credentials must be set",
        ),
    ]:
        with subtests.test(old=old, new=new):
            assert old in COMPLETE
            assert said in refused(COMPLETE.replace(old, new, 1), tmp_path)


def test_with_other_strategies_the_group_is_one_of_another_service(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text(COMPLETE.replace("keystone\n", "none\n").replace("username", "usrname"))
    assert keystone_settings.GROUP not in load([str(file)])
