# tier: first
"""Images in the domain: the stored records, who may see and change them, and that a failed change leaves nothing."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import ImageMember, ImageProperty, ImageTag
from baremetal_sched.errors.image import (
    ImageAlreadyExists,
    ImageChangeForbidden,
    ImageMemberNotFound,
    ImageNotFound,
    InvalidImageProperty,
    TooManyOfAnImage,
)
from baremetal_sched.image import data, images, listing, members, patch
from baremetal_sched.image.access import EVERYTHING, ImageRequester
from baremetal_sched.image.records import ImageRecord
from tests.restored import restored
from tests.service import Service

ANNA, BERT = ImageRequester("anna"), ImageRequester("bert")
ADMIN = ImageRequester("operators", is_admin=True)
T = TypeVar("T")


def written(service: Service, work: Callable[..., T], *arguments: Any) -> T:
    """The result of ``work``, called with a session and ``arguments`` in a transaction that writes."""
    return service.database.write(lambda session: work(session, *arguments))


def create(service: Service, requester: ImageRequester = ANNA, **fields: Any) -> ImageRecord:
    properties, tags = fields.pop("properties", {}), fields.pop("tags", ())
    given = {"name": "ubuntu", "disk_format": "raw", "container_format": "bare", **fields}
    return written(service, images.create, requester, given, properties, tags)


def change(
    service: Service, image: ImageRecord, requester: ImageRequester, *operations: tuple[Any, ...]
) -> ImageRecord:
    body = [
        {"op": kind, "path": f"/{name}", **({"value": value[0]} if value else {})} for kind, name, *value in operations
    ]
    return written(service, images.update, image.uuid, patch.parse(body, older=False), requester)


def listed(service: Service, requester: ImageRequester, **parameters: str) -> set[str]:
    def select_uuids(session: Session) -> set[str]:
        query = listing.parse(parameters.items())
        return {image.uuid for image in listing.select_page(session, query, requester, 100)}

    return service.database.read(select_uuids)


def test_a_record_has_all_that_a_server_needs(service: Service) -> None:
    image = create(service, properties={"trait:CUSTOM_A": "required", "kernel_id": "k"}, min_ram=512, tags=["t"])
    found = service.database.read(lambda session: images.get(session, image.uuid))
    assert found == image
    assert found.properties == {"trait:CUSTOM_A": "required", "kernel_id": "k"}
    assert (found.status, found.min_ram, found.owner, found.visibility) == ("queued", 512, "anna", "shared")
    assert found.image_source == image.uuid


def test_where_an_image_lies(service: Service) -> None:
    image = create(service)
    body = {"method": {"name": "web-download", "uri": "https://x/ubuntu.raw"}}
    written(service, data.import_location, image.uuid, body, ANNA)
    imported = service.database.read(lambda session: images.get(session, image.uuid))
    assert (imported.status, imported.image_source) == ("active", "https://x/ubuntu.raw")
    changed = change(service, image, ANNA, ("add", "image_source", "file:///images/ubuntu.raw"))
    assert changed.image_source == "file:///images/ubuntu.raw"


def test_an_id_is_given_once(service: Service) -> None:
    image = create(service)
    with pytest.raises(ImageAlreadyExists):
        create(service, id=image.uuid.upper())


def test_nothing_is_changed_by_a_request_that_fails(service: Service) -> None:
    image = create(service, properties={"os_type": "linux"})
    with pytest.raises(InvalidImageProperty):
        change(service, image, ANNA, ("replace", "name", "debian"), ("add", "trait:CUSTOM_A", "forbidden"))
    assert service.database.read(lambda session: images.get(session, image.uuid)) == image


def test_deleting_leaves_nothing(service: Service) -> None:
    image = create(service, properties={"os_type": "linux"}, tags=["t"])
    written(service, members.add, image.uuid, "bert", ANNA)
    written(service, images.delete, image.uuid, ANNA)
    for model in (ImageProperty, ImageTag, ImageMember):
        count = select(func.count()).select_from(model)
        assert service.database.read(lambda session, count=count: session.scalar(count)) == 0
    with pytest.raises(ImageNotFound):
        service.database.read(lambda session: images.get(session, image.uuid))


def test_who_sees_an_image(service: Service, subtests: pytest.Subtests) -> None:
    for visibility, seen, in_list in [
        ("private", False, False),
        ("shared", False, False),
        ("community", True, False),
        ("public", True, True),
    ]:
        with subtests.test(visibility=visibility), restored(service):
            image = create(service, ADMIN, owner="anna", visibility=visibility)
            get = partial(images.get, ident=image.uuid, requester=BERT)
            assert listed(service, ANNA) == listed(service, ADMIN, visibility="all") == {image.uuid}
            assert listed(service, BERT) == ({image.uuid} if in_list else set())
            assert listed(service, BERT, visibility="all") == ({image.uuid} if seen else set())
            if seen:
                assert service.database.read(get) == image
                with pytest.raises(ImageChangeForbidden):
                    change(service, image, BERT, ("replace", "name", "mine"))
            else:
                with pytest.raises(ImageNotFound):
                    service.database.read(get)
                with pytest.raises(ImageNotFound):
                    written(service, images.delete, image.uuid, BERT)


def test_sharing(service: Service) -> None:
    image = create(service)
    with pytest.raises(ImageNotFound):
        written(service, members.add, image.uuid, "bert", BERT)
    written(service, members.add, image.uuid, "bert", ANNA)
    assert service.database.read(lambda session: images.get(session, image.uuid, BERT)) == image
    assert listed(service, BERT) == set()
    assert listed(service, BERT, member_status="pending") == listed(service, BERT, member_status="all") == {image.uuid}
    with pytest.raises(ImageChangeForbidden):
        written(service, members.set_status, image.uuid, "bert", "accepted", ANNA)
    written(service, members.set_status, image.uuid, "bert", "accepted", BERT)
    assert listed(service, BERT) == {image.uuid}
    with pytest.raises(ImageChangeForbidden):
        written(service, members.remove, image.uuid, "bert", BERT)
    with pytest.raises(ImageMemberNotFound):
        service.database.read(lambda session: members.get(session, image.uuid, "carl", BERT))
    written(service, members.remove, image.uuid, "bert", ANNA)
    assert listed(service, BERT) == set()


def test_only_the_requester_is_shown_among_the_members_of_an_image_of_others(service: Service) -> None:
    image = create(service)
    for project in ("bert", "carl"):
        written(service, members.add, image.uuid, project, ANNA)

    def names(requester: ImageRequester) -> list[str]:
        found = service.database.read(lambda session: members.list_all(session, image.uuid, requester))
        return [member.member for member in found]

    assert (names(ANNA), names(BERT), names(EVERYTHING)) == (["bert", "carl"], ["bert"], ["bert", "carl"])


def test_only_an_administrator_publishes_and_gives_away(service: Service) -> None:
    image = create(service)
    for operation in (("replace", "visibility", "public"), ("replace", "owner", "bert")):
        with pytest.raises(ImageChangeForbidden):
            change(service, image, ANNA, operation)
    for fields in ({"visibility": "public"}, {"owner": "bert"}):
        with pytest.raises(ImageChangeForbidden):
            create(service, **fields)
    changed = change(service, image, ADMIN, ("replace", "visibility", "public"), ("replace", "owner", "bert"))
    assert (changed.visibility, changed.owner) == ("public", "bert")


def test_limits(service: Service) -> None:
    image = create(service, tags=[f"t{number}" for number in range(images.MOST_TAGS)])
    with pytest.raises(TooManyOfAnImage):
        written(service, images.add_tag, image.uuid, "one more", ANNA)
    written(service, images.add_tag, image.uuid, "t1", ANNA)
    many = {f"p{number}": "" for number in range(images.MOST_PROPERTIES + 1)}
    with pytest.raises(TooManyOfAnImage):
        create(service, properties=many)
    found = service.database.read(lambda session: images.get(session, image.uuid))
    assert len(found.tags) == images.MOST_TAGS
