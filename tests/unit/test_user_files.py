"""The files of users and roles: what may stand in them, and how they are followed and changed."""

import io
import os
import stat
import threading
from pathlib import Path

import bcrypt
import pytest
from oslo_config import cfg

from baremetal_sched.cli import user_files
from baremetal_sched.settings import load
from baremetal_sched.watched_file import WatchedFile
from baremetal_sched.web.authentication import password_file
from baremetal_sched.web.authentication.password_file import Assignment, roles_path, users_path

HASH = "$2b$04$" + "a" * 53
#: As Apache's htpasswd -B made it for the password "myPassword"; it is in Ironic's documentation too.
APACHE = "myName:$2y$05$lE3eGtyj41jZwrzS87KTqe6.JETVCWBkc32C63UP2aYrGoYOEpbJm"


# -- users ------------------------------------------------------------------------------------------------------------


def test_what_apache_writes_is_understood() -> None:
    users = password_file.parse_users(f"# of the team\n\n{APACHE}\r\n  bob:{HASH}  \n")
    assert set(users.hashes) == {"myName", "bob"}
    assert bcrypt.checkpw(b"myPassword", users.hashes["myName"])


def test_lines_that_are_refused(subtests: pytest.Subtests) -> None:
    for text, reason in [
        ("bob", "line 1 is not NAME:HASH"),
        (f":{HASH}", "line 1 is not NAME:HASH"),
        (f"# x\nbob :{HASH}", "line 2 is not NAME:HASH"),
        ("bob:plain", "line 1: the password of 'bob' must be hashed with bcrypt"),
        ("bob:", "line 1: the password of 'bob' must be hashed with bcrypt"),
        ("bob:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=", "must be hashed with bcrypt"),
        ("bob:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/", "must be hashed with bcrypt"),
        (f"bob:{HASH}x", "must be hashed with bcrypt"),
        (f"bob:{HASH}:x", "must be hashed with bcrypt"),
        (f"bob:{HASH.replace('04', '31')}", "the cost of the hash of 'bob' must be from 4 to 15"),
        (f"bob:{HASH.replace('04', '03')}", "the cost of the hash of 'bob' must be from 4 to 15"),
        (f"bob:{HASH}\nann:{HASH}\nbob:{HASH}", "line 3: there is another line of 'bob' above"),
    ]:
        with subtests.test(text=text):
            with pytest.raises(ValueError) as caught:
                password_file.parse_users(text)
            assert reason in str(caught.value)
            for secret in ("plain", HASH, "qUqP5", "HqJZ"):
                assert secret not in str(caught.value)


def test_the_decoy_is_as_much_work_as_most_hashes() -> None:
    """And no password is right for it."""
    text = f"a:{HASH}\nb:{HASH.replace('04', '05')}\nc:{HASH.replace('04', '05')}"
    decoy = password_file.parse_users(text).decoy
    assert decoy.startswith(b"$2b$05$")
    assert not bcrypt.checkpw(b"", decoy)
    assert password_file.parse_users("").decoy.startswith(b"$2b$12$")


def test_passwords_that_bcrypt_cannot_hash_are_refused(subtests: pytest.Subtests) -> None:
    for password in ["", "a\0b", "ä" * 37, "\ud800"]:
        with subtests.test(password=password), pytest.raises(ValueError):
            password_file.hash_password(password)


def test_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert users_path(load()) == tmp_path / "htpasswd"
    assert users_path(load(overrides={"database": {"connection": "sqlite:////srv/x.db"}})) == Path("/srv/htpasswd")
    named = {"http_basic_auth_user_file": "/etc/users", "http_basic_auth_roles_file": "/etc/roles"}
    assert users_path(load(overrides={"DEFAULT": named})) == Path("/etc/users")
    assert roles_path(load(overrides={"DEFAULT": named})) == Path("/etc/roles")
    assert roles_path(load()) is None
    for url in ("postgresql://a@b/c", "sqlite:///file:x?uri=true"):
        with pytest.raises(cfg.Error, match=r"\[DEFAULT\] http_basic_auth_user_file must name"):
            users_path(load(overrides={"database": {"connection": url}}))


# -- roles ------------------------------------------------------------------------------------------------------------


def test_roles() -> None:
    found = password_file.parse_roles(
        "root: {roles: [admin], system_scope: all}\nann: {roles: [member, Auditor], project_id: p1}\nbob: {}\n"
    )
    assert found == {
        "root": Assignment(("admin", "manager", "member", "reader"), None, "all"),
        "ann": Assignment(("member", "auditor", "reader"), "p1", None),
        "bob": Assignment(),
    }
    assert password_file.parse_roles("# nothing yet\n") == {}


def test_roles_that_are_refused(subtests: pytest.Subtests) -> None:
    for text, reason in [
        ("- a", "must map user names"),
        ("a: [", "is not YAML"),
        ("a: !!python/object:os.system x", "is not YAML"),
        ("a: admin", "a: a user has project_id, roles, system_scope, and nothing else"),
        ("a: {role: [admin]}", "and nothing else"),
        ("a: {roles: admin}", "a: roles must be a list"),
        ("a: {roles: [1]}", "a: a role must be a string"),
        ("a: {project_id: 123}", "a: project_id must be a string, in quotation marks if it looks like a number: 123"),
        ("a: {system_scope: some}", "a: system_scope can only be all"),
        ("a: {project_id: p, system_scope: all}", "a: project_id and system_scope cannot be combined"),
        ("1: {}", "the name of a user must be a string"),
    ]:
        with subtests.test(text=text):
            with pytest.raises(ValueError) as caught:
                password_file.parse_roles(text)
            assert reason in str(caught.value)


# -- following --------------------------------------------------------------------------------------------------------


def number_in(text: str) -> int:
    return int(text)


def test_a_file_is_followed(tmp_path: Path) -> None:
    """Also if size and time of its last change stay the same."""
    path = tmp_path / "file"
    path.write_text("1")
    file = WatchedFile(path, number_in, "The file")
    assert file.contents() == 1
    status = path.stat()
    path.write_text("2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.contents() == 2
    other = tmp_path / "other"
    other.write_text("3")
    other.replace(path)
    assert file.contents() == 3


def test_a_file_is_read_only_if_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    # As if that were long ago.
    monkeypatch.setattr("time.time_ns", lambda: path.stat().st_ctime_ns + 5_000_000_000)
    read = []
    file = WatchedFile(path, lambda text: read.append(text) or number_in(text), "The file")  # type: ignore[func-returns-value]
    assert [file.contents() for _ in range(3)] == [1, 1, 1]
    assert read == ["1"]
    path.write_text("22")
    assert [file.contents() for _ in range(3)] == [22, 22, 22]
    assert read == ["1", "22"]


def test_a_change_that_is_not_valid_changes_nothing(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for content in [b"nonsense", b"", b"\xff"]:
        with subtests.test(content=content):
            path = tmp_path / "file"
            path.write_text("1")
            file = WatchedFile(path, number_in, "The file")
            path.write_bytes(content)
            assert file.contents() == 1
            path.write_text("2")
            assert file.contents() == 2


def test_a_file_that_is_gone_is_lost_and_keeps_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    file = WatchedFile(path, number_in, "The file")
    path.unlink()
    for _ in range(2):
        assert file.contents() == 1
        assert file.is_lost
    path.write_text("2")
    assert file.contents() == 2
    assert not file.is_lost


def test_a_file_that_cannot_be_used_stops_the_start(subtests: pytest.Subtests, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "text").write_text("x")
    for name, reason in [
        ("nothing", "No such file"),
        ("folder", "Is a directory"),
        ("bytes", "it is not UTF-8"),
        ("text", "invalid literal"),
    ]:
        said = f"The file {tmp_path}/{name} cannot be used: .*{reason}"
        with subtests.test(name), pytest.raises(cfg.Error, match=said):
            WatchedFile(tmp_path / name, number_in, "The file")


def test_a_file_that_others_may_read_is_warned_of(lines: io.StringIO, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    for mode, is_open in ((0o600, False), (0o640, False), (0o644, True), (0o602, True)):
        path.chmod(mode)
        before = len(lines.getvalue())
        WatchedFile(path, number_in, "The file")
        assert ("other users" in lines.getvalue()[before:]) == is_open


# -- changing ---------------------------------------------------------------------------------------------------------


def test_users_are_added_changed_and_removed(tmp_path: Path) -> None:
    """The other lines stay as they are."""
    path = tmp_path / "htpasswd"
    path.write_text(f"# the team\n{APACHE}\nbob:{HASH}")
    assert user_files.put_user(path, f"ann:{HASH}") is True
    assert user_files.put_user(path, f"bob:{HASH.replace('a', 'b')}") is False
    assert path.read_text() == f"# the team\n{APACHE}\nbob:{HASH.replace('a', 'b')}\nann:{HASH}\n"
    user_files.remove_user(path, "myName")
    with pytest.raises(ValueError, match="There is no user myName in"):
        user_files.remove_user(path, "myName")
    assert path.read_text() == f"# the team\nbob:{HASH.replace('a', 'b')}\nann:{HASH}\n"


def test_lines_of_users() -> None:
    name, _, hashed = user_files.line_of("ann", "secret").partition(":")
    assert name == "ann"
    assert bcrypt.checkpw(b"secret", hashed.encode())
    for name in ("", "a:b", " a", "a ", "#a", "a\nb", "a" * 256):
        with pytest.raises(ValueError, match="is not a valid user name"):
            user_files.line_of(name, "secret")


def test_the_first_user_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "htpasswd"
    password = user_files.put_first_user(path, "admin")
    assert password is not None
    assert len(password) == 32
    assert bcrypt.checkpw(password.encode(), password_file.parse_users(path.read_text()).hashes["admin"])
    assert user_files.put_first_user(path, "admin") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_not_valid_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "htpasswd"
    path.write_text("bob:plain\n")
    with pytest.raises(ValueError, match="line 1"):
        user_files.put_user(path, f"ann:{HASH}")
    assert path.read_text() == "bob:plain\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_owner_and_group(tmp_path: Path) -> None:
    """And no other user may read it."""
    path = tmp_path / "htpasswd"
    path.write_text("")
    path.chmod(0o644)
    groups = [group for group in (*os.getgroups(), 4321 if os.geteuid() == 0 else None) if group is not None]
    os.chown(path, -1, groups[-1])
    link = tmp_path / "link"
    link.symlink_to(path)
    user_files.put_user(link, f"ann:{HASH}")
    status = path.stat()
    assert (status.st_uid, status.st_gid) == (os.geteuid(), groups[-1])
    assert stat.S_IMODE(status.st_mode) == 0o640
    assert link.is_symlink()


def test_a_new_file_takes_owner_and_mode_of_the_other_one(tmp_path: Path) -> None:
    """Who may read one of users and roles may read both, also if an administrator adds the first user with a role."""
    users, roles = tmp_path / "htpasswd", tmp_path / "roles.yaml"
    user_files.put_roles(roles, "root", Assignment(("admin",), None, "all"), users)
    user_files.put_user(users, f"root:{HASH}", roles)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (users, roles)] == [0o600, 0o600]
    owner = (65534, 4321) if os.geteuid() == 0 else (os.geteuid(), os.getgroups()[-1])
    for given, taking in ((users, roles), (roles, users)):
        os.chown(given, *owner)
        given.chmod(0o644)
        taking.unlink()
        user_files.put_roles(roles, "ann", Assignment(("member",), "p1"), users)
        user_files.put_user(users, f"ann:{HASH}", roles)
        status = taking.stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (*owner, 0o640)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be written: No such file or directory"):
        user_files.put_user(tmp_path / "nowhere" / "htpasswd", f"ann:{HASH}")


def test_no_change_is_lost_to_another(tmp_path: Path) -> None:
    path = tmp_path / "htpasswd"
    threads = [
        threading.Thread(target=user_files.put_user, args=(path, f"user{number}:{HASH}")) for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(password_file.parse_users(path.read_text()).hashes) == 20
    assert list(tmp_path.iterdir()) == [path]


ROLES = """\
# who may do what
root: {roles: [admin], system_scope: all}  # the boss
ann:
  roles:
    - member
  project_id: p1

# guests
bob: {roles: [reader],
  project_id: p2}
carl: {}
"""


def test_roles_are_changed_in_place(tmp_path: Path) -> None:
    """Comments and the other users stay as they are."""
    path = tmp_path / "roles.yaml"
    path.write_text(ROLES)
    user_files.put_roles(path, "dora", Assignment(("reader",), "007"))
    assert path.read_text().startswith(ROLES)
    user_files.remove_roles(path, "ann")
    user_files.remove_roles(path, "nobody")
    user_files.put_roles(path, "bob", Assignment(("service",), None, "all"))
    text = path.read_text()
    assert text.startswith("# who may do what\nroot: {roles: [admin], system_scope: all}  # the boss\n")
    assert "# guests\ncarl: {}\n" in text
    assert password_file.parse_roles(text) == {
        "root": Assignment(("admin", "manager", "member", "reader"), None, "all"),
        "carl": Assignment(),
        "dora": Assignment(("reader",), "007"),
        "bob": Assignment(("service",), None, "all"),
    }


def test_roles_on_one_line_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "roles.yaml"
    path.write_text("{ann: {roles: [reader]}}\n")
    with pytest.raises(ValueError, match="in braces"):
        user_files.put_roles(path, "bob", Assignment(("reader",)))
    assert path.read_text() == "{ann: {roles: [reader]}}\n"
