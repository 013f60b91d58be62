"""Queries with hundreds of tags or properties: PostgreSQL planned a condition for each for longer than a request may
take."""

from collections.abc import Iterable

import pytest

from tests.service import Service

MANY = range(300)
VERSION = {"OpenStack-API-Version": "compute 2.100"}


def ask(service: Service, path: str) -> list[str | None]:
    """The names of what a list has. There are few queries, with few subqueries, which every database plans at once."""
    with service.statements() as statements:
        document = service.http.get(path, headers=VERSION).json
    assert len(statements) < 12
    assert max((statement.upper().count("SELECT") for statement in statements), default=0) < 12
    return [each["name"] for each in document["images" if path.startswith("/image") else "servers"]]


def image(service: Service, name: str, tags: Iterable[str] = (), **properties: str) -> None:
    body = {"name": name, "disk_format": "raw", "container_format": "bare", "tags": list(tags), **properties}
    service.http.post_json("/image/v2/images", body, status=201)


def test_an_image_cannot_have_so_many(service: Service, subtests: pytest.Subtests) -> None:
    for query in ["&".join(f"tag=t{number}" for number in MANY), "&".join(f"p{n}=v" for n in MANY)]:
        with subtests.test(query=query):
            image(service, "a", ["t0"], p0="v")
            assert ask(service, f"/image/v2/images?{query}") == []


def test_an_image_has_all_of_them(service: Service) -> None:
    """As many as it may have."""
    numbers = range(128)
    image(service, "full", (f"t{number}" for number in numbers), **{f"p{number}": "v" for number in numbers})
    image(service, "less", (f"t{number}" for number in numbers[1:]), **{f"p{number}": "v" for number in numbers[1:]})
    image(service, "same", ["t"], p0="v", p1="w")
    tags, properties = "&".join(f"tag=t{n}" for n in numbers), "&".join(f"p{n}=v" for n in numbers)
    assert ask(service, f"/image/v2/images?{tags}") == ["full"]
    assert ask(service, f"/image/v2/images?{properties}") == ["full"]
    assert ask(service, f"/image/v2/images?{tags}&{properties}&sort=name:asc") == ["full"]
    assert ask(service, "/image/v2/images?tag=t1&tag=t1&tag=%20t1&p1=v&sort=name:asc") == ["full", "less"]
    assert ask(service, "/image/v2/images?p0=v&p1=w") == ["same"]
    assert ask(service, "/image/v2/images?p0=w&p1=v") == []
    assert ask(service, "/image/v2/images?tag=T1&tag=t2") == []


def test_a_key_to_sort_by_counts_once(service: Service) -> None:
    for name in ("b", "a", "c"):
        image(service, name)
    keys = "&".join(["sort_key=name"] * 300)
    assert ask(service, f"/image/v2/images?{keys}&sort_dir=asc") == ["a", "b", "c"]
    marker = service.http.get("/image/v2/images?name=a").json["images"][0]["id"]
    assert ask(service, f"/image/v2/images?{keys}&sort_dir=asc&marker={marker}") == ["b", "c"]
    assert ask(service, "/image/v2/images?sort=name:asc,name:desc") == ["a", "b", "c"]


def test_a_server_cannot_have_so_many(service: Service) -> None:
    flavor = service.add_flavor("f", specs={"resources:CUSTOM_GOLD": "1"})
    image(service, "i")
    uuid = service.http.get("/image/v2/images").json["images"][0]["id"]
    for name, tags in (("full", [f"t{number}" for number in range(50)]), ("less", ["t0", "t1"])):
        server = {"name": name, "flavorRef": flavor, "imageRef": uuid, "networks": "none", "tags": tags}
        service.compute("POST", "/servers", {"server": server}, status=202)
    tags = ",".join(f"t{number}" for number in MANY)
    fifty = ",".join(f"t{number}" for number in range(50))
    for path in ("/compute/v2.1/servers", "/compute/v2.1/servers/detail"):
        assert ask(service, f"{path}?tags={tags}") == []
        assert ask(service, f"{path}?not-tags={tags}") == ["less", "full"]
        assert ask(service, f"{path}?tags-any={tags}") == ["less", "full"]
        assert ask(service, f"{path}?not-tags-any={tags}") == []
        assert ask(service, f"{path}?tags={fifty},t0") == ["full"]
        assert ask(service, f"{path}?not-tags={fifty}") == ["less"]
        assert ask(service, f"{path}?tags=t1,t0,t1") == ["less", "full"]
