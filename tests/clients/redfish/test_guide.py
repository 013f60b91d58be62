"""The guide from a boxed server to a claimed machine is true: its commands do what it says, with emulated controllers,
and the errors that it explains are ours."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import baremetal_sched
from tests.certificates import make_certificate
from tests.clients.redfish.site import Site, site
from tests.emulators import Emulator, ImageServer, fake_systems, image_server, libvirt_systems

GUIDE = (Path(__file__).parents[3] / "api-ref" / "guides" / "machines.rst").read_text()
NODE, USERS = "r1u12", {"baremetal": "emulated-password-1"}


def sections() -> dict[str, str]:
    """The text of each section, by the beginning of its title, such as ``5``."""
    parts = re.split(r"^(.+)\n=+$", GUIDE, flags=re.MULTILINE)
    return {title.partition(".")[0].strip(): text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def commands(*names: str) -> Iterator[str]:
    """The commands of the client in these sections, each on one line."""
    for name in names:
        pending = ""
        for line in re.findall(r"^    (.*)$", sections()[name], re.MULTILINE):
            pending = f"{pending} {line.strip()}".strip()
            if pending.endswith("\\"):
                pending = pending[:-1].strip()
            elif pending.count("'") % 2 == 0:
                if pending.startswith("openstack "):
                    yield pending
                pending = ""


def follow(here: Site, emulator: Emulator, images: ImageServer | None, *names: str) -> None:
    """Do what these sections say, at this controller."""
    assert emulator.certificate is not None
    for command in commands(*names):
        for ours, theirs in (
            ("https://bmc-r1u12.example.com", emulator.url),
            ("/redfish/v1/Systems/1", emulator.path()),
            ("PASSWORD", USERS["baremetal"]),
            ("/etc/baremetal-sched/controllers.pem", str(emulator.certificate)),
            ("http://images.example.com", images.url if images else "http://127.0.0.1:1"),
        ):
            command = command.replace(ours, theirs)
        done = here.openstack.run(shlex.split(command)[1:])
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if " power " in command:
            here.wait_for(NODE, reservation=None, target_power_state=None, last_error=None)


def test_from_enrolment_to_the_end_of_an_instance(tmp_path: Path) -> None:
    """A controller with virtual media: all but what it has no BIOS for."""
    certificate = make_certificate(tmp_path)
    with (
        fake_systems(1, users=USERS, tls=certificate) as emulator,
        image_server() as images,
        site(tmp_path, emulator) as here,
    ):
        follow(here, emulator, images, "2", "4", "5", "6")
        (bios,) = (command for command in commands("7") if "apply_configuration" in command)
        assert here.openstack.run(shlex.split(bios)[1:]).returncode != 0
        node = here.node(NODE)
        assert (node["provision_state"], node["maintenance"]) == ("clean failed", True)
        assert "does not support bios" in node["last_error"]
        follow(here, emulator, images, "When a step fails", "8")
        assert len(here.openstack("allocation candidate list --resource CUSTOM_GOLD=1 -f json")) == 1
        add_another(here)
        follow(here, emulator, images, "9")
        # By the machine of the allocation, and by that of the server unless it is the other one.
        assert set(images.fetched) == {"/rescue.iso"}
        node = here.node(NODE)
        assert (node["provision_state"], node["power_state"], node["instance_uuid"]) == ("available", "power off", None)
        assert len(here.openstack("allocation candidate list --resource CUSTOM_GOLD=1 -f json")) == 2


def add_another(here: Site) -> None:
    """Another free machine of the class, which the allocation must not take."""
    here.openstack("baremetal node create --driver fake-hardware --name another --resource-class gold")
    here.openstack("baremetal node add trait another CUSTOM_NVME")
    for command in ("manage another --wait", "power off another", "provide another --wait"):
        here.openstack(f"baremetal node {command}")


def test_bios_settings_and_firmware(tmp_path: Path) -> None:
    """A controller with a BIOS."""
    certificate = make_certificate(tmp_path)
    with libvirt_systems(users=USERS, tls=certificate) as emulator, site(tmp_path, emulator) as here:
        follow(here, emulator, None, "4", "5", "7")
        assert emulator.get(f"{emulator.path()}/BIOS")["Attributes"]["QuietBoot"] == "false"
        assert emulator.get(emulator.path())["BiosVersion"] == "1.1.0"


def test_errors_are_ours() -> None:
    """The texts that the guide explains are in the source."""
    root = Path(baremetal_sched.__file__).parent
    source = "".join(path.read_text() for path in root.rglob("*.py"))
    # A text may go on in the next line.
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    explained = re.findall(r"^``([^`]+)``\n    ", sections()["When it does not work"], re.MULTILINE)
    assert len(explained) > 6
    for text in explained:
        pattern = re.escape(text).replace(r"HTTP\ 5", r"HTTP\ \{").replace("…", ".*")
        assert re.search(pattern, source), text
