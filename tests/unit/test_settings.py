"""Settings: files, environment, overrides; a wrong value stops the start."""

from pathlib import Path

import pytest
from oslo_config import cfg

from baremetal_sched import settings


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


@pytest.mark.parametrize(
    "overrides",
    [
        {"api": {"auth_strategy": "magic"}},
        {"api": {"no_such_option": 1}},
        {"conductor": {"heartbeat_interval": 10, "heartbeat_timeout": 10}},
    ],
)
def test_a_wrong_value_stops_the_start(overrides: dict) -> None:
    with pytest.raises((cfg.Error, ValueError)):
        settings.load(overrides=overrides)


def test_a_wrong_value_in_a_file_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text("[api]\nmax_limit = many\n")
    with pytest.raises(cfg.Error):
        settings.load([str(file)])
