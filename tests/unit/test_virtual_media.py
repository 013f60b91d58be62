"""Virtual media of controllers that differ: which device takes an image, and what they say about it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from sushy import VirtualMediaType, exceptions

from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.errors.baremetal import ControllerError
from tests.redfish import machine, quick

CD, DVD, STICK = VirtualMediaType.CD, VirtualMediaType.DVD, VirtualMediaType.USB_STICK
IMAGE = ImageUrl.parse("image", "http://ann:Img-Passw0rd@images.example.com/a.iso?signature=5ecret")


class Answer:
    """A controller's answers, for sushy's errors."""

    def __init__(self, status: int, message: str = "no") -> None:
        self.status_code = status
        self.message = message

    def json(self) -> dict[str, Any]:
        return {"error": {"code": "Base.1.0.GeneralError", "message": self.message}}


def refusal(status: int, message: str = "no") -> exceptions.HTTPError:
    kind = exceptions.ServerSideError if status >= 500 else exceptions.BadRequestError
    return kind("POST", "/insert", Answer(status, message))


class Device:
    """A virtual device. ``refuses`` has what it raises, one for each time that something is inserted; it says that it
    is inserted after ``looks`` looks, never if None."""

    def __init__(self, *media_types: Any, refuses: list[Exception] | None = None, looks: int | None = 0) -> None:
        self.media_types: Any = list(media_types)
        self.json = {"MediaTypes": [kind.value for kind in media_types if kind is not None]}
        self.identity = self.name = "Slot"
        self.inserted: Any = False
        self.image: Any = None
        self.journal: list[Any] = []
        self.stuck = False
        self.fails: list[Exception] = []
        self._refuses = refuses or []
        self._looks = looks

    def insert_media(self, url: str, **options: Any) -> None:
        self.journal.append((url, {name: value for name, value in options.items() if value is not None}))
        if self._refuses:
            raise self._refuses.pop(0)
        self.image = url

    def eject_media(self) -> None:
        self.journal.append("eject")
        if self.stuck:
            raise refusal(400, "nothing to eject")
        self.inserted, self.image = False, None

    def refresh(self, force: bool) -> None:
        if self.fails:
            raise self.fails.pop()
        if self.image is not None and self._looks is not None:
            self.inserted = self._looks <= 0
            self._looks -= 1


class Owner:
    """A machine or a controller with devices; ``None``: without virtual media."""

    def __init__(self, devices: list[Device] | None, managers: "list[Owner] | None" = None) -> None:
        self._devices = devices
        self._managers = managers
        self.asked = 0

    @property
    def virtual_media(self) -> Any:
        if self._devices is None:
            raise exceptions.MissingAttributeError(attribute="VirtualMedia", resource="/x")
        return self

    @property
    def managers(self) -> Any:
        if self._managers is None:
            raise exceptions.MissingAttributeError(attribute="ManagedBy", resource="/x")
        return self._managers

    @property
    def members_identities(self) -> list[int]:
        return list(range(len(self._devices or ())))

    def get_member(self, number: int) -> Device:
        self.asked += 1
        assert self._devices is not None
        return self._devices[number]


MACHINE = machine(settings=quick(vmedia_insert_timeout=0.2, vmedia_insert_poll_interval=0.1))


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the machine be behind a controller."""

    def put(owner: Owner) -> Owner:
        @contextmanager
        def system(machine: Any) -> Iterator[Owner]:
            yield owner

        monkeypatch.setattr(virtual_media.connection, "system", system)
        monkeypatch.setattr(virtual_media, "_PAUSE", 0)
        return owner

    return put


def insert() -> None:
    virtual_media.insert(MACHINE, "cdrom", IMAGE)


def test_user_and_password_stand_beside_the_url(controller: Any) -> None:
    device = Device(CD)
    controller(Owner([Device(STICK), device]))
    insert()
    credentials = {"username": "ann", "password": "Img-Passw0rd"}
    assert device.journal == [("http://images.example.com/a.iso?signature=5ecret", credentials)]


def test_a_device_that_only_takes_dvds_and_one_of_an_older_controller(controller: Any) -> None:
    for owner in (
        Owner([Device(DVD)]),
        Owner(None, [Owner(None), Owner([Device(CD)])]),
        Owner([], [Owner([Device(CD)])]),
    ):
        controller(owner)
        insert()


def test_what_is_inserted_is_ejected_first(controller: Any) -> None:
    device = Device(CD, DVD)
    device.inserted, device.image = True, "http://images.example.com/old.iso"
    controller(Owner([device]))
    insert()
    assert [entry if entry == "eject" else "insert" for entry in device.journal] == ["eject", "insert"]


def test_the_next_device_is_tried(controller: Any) -> None:
    missing = exceptions.MissingActionError(action="#VirtualMedia.InsertMedia", resource="/x")
    devices = [Device(CD, refuses=[missing]), Device(CD, refuses=[refusal(405)]), Device(CD), Device(CD)]
    controller(Owner(devices))
    insert()
    assert [device.inserted for device in devices] == [False, False, True, False]


def test_a_controller_that_is_busy_is_asked_again(controller: Any) -> None:
    device = Device(CD, refuses=[refusal(500), refusal(503)])
    controller(Owner([device]))
    insert()
    assert len(device.journal) == 3


def test_a_refusal_says_why_and_no_secret(controller: Any) -> None:
    said = "cannot fetch /a.iso?signature=5ecret as ann with Img-Passw0rd"
    controller(Owner([Device(CD, refuses=[refusal(500, said)] * 3), Device(CD, refuses=[refusal(400, "other")])]))
    with pytest.raises(ControllerError) as refused:
        insert()
    text = str(refused.value)
    assert (
        "did not insert http://images.example.com/a.iso into 'cdrom': it failed (HTTP 500): cannot fetch /a.iso" in text
    )
    assert "5ecret" not in text
    assert "Passw0rd" not in text


def test_a_controller_without_virtual_media(subtests: pytest.Subtests, controller: Any) -> None:
    for owner in [Owner(None), Owner(None, []), Owner([]), Owner(None, [Owner(None)])]:
        with subtests.test(owner=owner):
            controller(owner)
            for call in (insert, lambda: virtual_media.show(MACHINE)):
                with pytest.raises(ControllerError, match="has no virtual media"):
                    call()
            with pytest.raises(ControllerError, match="has no virtual media device of the type 'floppy'"):
                virtual_media.eject(MACHINE, ["floppy"])
            virtual_media.eject(MACHINE)


def test_a_controller_without_a_device_of_the_type(controller: Any) -> None:
    controller(Owner([Device(STICK)]))
    with pytest.raises(ControllerError, match="has no virtual media device of the type 'cdrom'"):
        insert()


def test_it_is_waited_for(controller: Any) -> None:
    device = Device(CD, looks=1)
    device.fails = [refusal(503)]
    controller(Owner([device]))
    insert()
    assert device.inserted


def test_an_image_that_is_never_there(controller: Any) -> None:
    controller(Owner([Device(CD, looks=None)]))
    with pytest.raises(ControllerError, match=r"does not say that it is inserted, 0\.2 seconds later"):
        insert()


def test_a_controller_that_does_not_say_is_believed(controller: Any) -> None:
    device = Device(CD, looks=None)
    device.inserted = None
    controller(Owner([device]))
    insert()


def test_ejecting(controller: Any) -> None:
    disc, stick, empty = Device(CD), Device(STICK), Device(CD)
    for device in (disc, stick):
        device.inserted, device.image = True, "x"
    controller(Owner([disc, stick, empty]))
    virtual_media.eject(MACHINE, ["cdrom"])
    assert (disc.journal, stick.journal, empty.journal) == (["eject"], [], [])
    virtual_media.eject(MACHINE)
    assert (disc.journal, stick.journal) == (["eject"], ["eject"])


def test_somebody_was_faster_at_ejecting(subtests: pytest.Subtests, controller: Any) -> None:
    for still in [True, False]:
        with subtests.test(still=still):
            device = Device(CD, looks=None)
            device.inserted, device.image, device.stuck = True, "x", True
            device.refresh = lambda force, one=device, to=still: setattr(one, "inserted", to)
            controller(Owner([device]))
            with pytest.raises(exceptions.HTTPError) if still else nullcontext():
                virtual_media.eject(MACHINE)


def test_what_is_shown_is_no_secret_and_not_without_end(controller: Any) -> None:
    odd, leaking = Device(None), Device(CD)
    odd.inserted, odd.image = "yes", {"a": 1}
    leaking.inserted, leaking.image = True, f"https://ann:Img-Passw0rd@h/{'a' * 1000}?signature=5ecret"
    owner = controller(Owner([odd, leaking, *(Device(STICK) for _ in range(1000))]))
    shown = virtual_media.show(MACHINE)
    assert shown[0] == {"media_types": [], "inserted": None, "image": None}
    assert shown[1]["image"].startswith("https://ann:******@h/aaa")
    assert len(shown[1]["image"]) < 600
    assert len(shown) == owner.asked == 32


def test_a_device_of_several_types_is_emptied_once(controller: Any) -> None:
    device = Device(CD, STICK)
    device.inserted = True
    controller(Owner([device]))
    virtual_media.eject(MACHINE, ["cdrom", "disk"])
    assert device.journal == ["eject"]
