"""``baremetal-sched secrets``"""

import io
from pathlib import Path

from click.testing import CliRunner, Result

from baremetal_sched.cli import cli
from baremetal_sched.db.keyring import generate_key
from tests.service import Service

PASSWORD = "hunter2hunter2"


def run(command: str, database_url: str, keys: Path | None = None, **variables: str) -> Result:
    environment = {"OS_DATABASE__CONNECTION": database_url, **variables}
    if keys is not None:
        environment["OS_DATABASE__SECRETS_KEY_FILE"] = str(keys)
    return CliRunner().invoke(cli, ["secrets", command], env=environment)


def write(path: Path, *keys: str) -> Path:
    path.touch(mode=0o600)
    path.write_text("\n".join(keys))
    return path


def test_from_none_to_one_key_to_another_and_back(database_url: str, tmp_path: Path, lines: io.StringIO) -> None:
    with Service(database_url) as service:
        service.add_conductor("c1")
        service.add_node("n1", power=False, driver_info={"ipmi_password": PASSWORD})
    first, second = generate_key(), CliRunner().invoke(cli, ["secrets", "generate-key"]).output.strip()
    one, both, new = write(tmp_path / "1", first), write(tmp_path / "2", second, first), write(tmp_path / "3", second)
    said = []

    def check(keys: Path | None, status: int, *expected: str) -> None:
        result = run("check", database_url, keys)
        said.append(result.output)
        assert result.exit_code == status, result.output
        for text in expected:
            assert text in result.output

    check(None, 1, "nodes.driver_info: 1 not encrypted", "keys: none")
    check(one, 1, "0 first key, 0 other keys, 1 not encrypted, 0 missing keys")
    said.append(run("encrypt", database_url, one).output)
    check(one, 0, "nodes.driver_info: 1 first key")
    check(new, 1, "1 missing keys")
    check(both, 0, "nodes.driver_info: 1 other keys")
    assert run("rotate", database_url, both).stdout == "1 values encrypted with the first key\n"
    check(new, 0, "1 first key, 0 other keys")
    result = run("rotate", database_url, one)
    assert (result.exit_code, "1 values could not be" in result.output) == (1, True)
    assert run("decrypt", database_url, new).stdout == "1 values decrypted\n"
    check(new, 1, "1 not encrypted")
    assert not [text for text in said if PASSWORD in text or first in text or second in text]


def test_refusals(database_url: str, tmp_path: Path, lines: io.StringIO) -> None:
    keys = write(tmp_path / "keys", generate_key())
    for command in ("encrypt", "rotate", "decrypt"):
        result = run(command, database_url)
        assert "secrets_key_file is not set" in str(result.exception)
    result = run("encrypt", database_url, keys, OS_DEFAULT__PIN_RELEASE_VERSION="38.0")
    assert "pin_release_version" in str(result.exception)
    readable = write(tmp_path / "readable", generate_key())
    readable.chmod(0o644)
    assert "chmod 600" in str(run("check", database_url, readable).exception)
    assert "No such file" in str(run("check", database_url, tmp_path / "missing").exception)
