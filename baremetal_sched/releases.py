"""Ironic's releases, with the facts that a service pinned to one of them needs.

While conductors are upgraded host by host, the new ones are pinned to the old release (``[DEFAULT]
pin_release_version``) and behave like it, so that all of them agree on the owner of each node.
"""

#: Releases, and the newest microversion (minor) of each.
API_VERSIONS: dict[str, int] = {
    "9.1": 34,
    "9.2": 35,
    "10.0": 36,
    "10.1": 38,
    "11.0": 43,
    "11.1": 46,
    "12.0": 49,
    "12.1": 56,
    "12.2": 58,
    "13.0": 58,
    "14.0": 61,
    "15.0": 65,
    "15.1": 67,
    "16.0": 68,
    "16.1": 68,
    "16.2": 69,
    "17.0": 72,
    "18.0": 74,
    "18.1": 75,
    "18.2": 78,
    "19.0": 78,
    "20.0": 78,
    "20.1": 78,
    "20.2": 78,
    "21.0": 79,
    "21.1": 80,
    "21.2": 80,
    "21.3": 81,
    "21.4": 82,
    "22.0": 83,
    "22.1": 86,
    "23.0": 87,
    "23.1": 88,
    "24.0": 89,
    "24.1": 90,
    "25.0": 91,
    "26.0": 91,
    "26.1": 93,
    "27.0": 94,
    "28.0": 95,
    "29.0": 96,
    "30.0": 99,
    "31.0": 99,
    "32.0": 101,
    "33.0": 104,
    "34.0": 109,
    "35.0": 111,
    "36.0": 112,
    "37.0": 112,
    "38.0": 113,
    "39.0": 115,
}

#: The releases of a cycle, by its name and by its year.
CYCLES: dict[str, str] = {
    "pike": "9.1",
    "queens": "10.1",
    "rocky": "11.1",
    "stein": "12.1",
    "train": "13.0",
    "ussuri": "15.0",
    "victoria": "16.0",
    "wallaby": "17.0",
    "xena": "18.2",
    "yoga": "20.1",
    "zed": "21.1",
    "antelope": "21.4",
    "2023.1": "21.4",
    "2023.2": "23.0",
    "2024.1": "24.1",
    "2024.2": "26.1",
    "2025.1": "29.0",
    "2025.2": "32.0",
    "2026.1": "35.0",
    "2026.2": "39.0",
}

#: Releases to which a service can be pinned.
RELEASES: tuple[str, ...] = (*CYCLES, *API_VERSIONS)

#: The first release whose conductors have groups (RPC version 1.47).
_FIRST_WITH_GROUPS = (11, 1)


def has_groups(release: str | None) -> bool:
    """Return whether conductors pinned to ``release`` (None: not pinned) have conductor groups."""
    return release is None or _number(release) >= _FIRST_WITH_GROUPS


def newest_microversion(release: str | None, ours: int) -> int:
    """Return the minor of the newest microversion that a service pinned to ``release`` offers, at most ``ours``."""
    return ours if release is None else min(ours, API_VERSIONS[CYCLES.get(release, release)])


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in CYCLES.get(release, release).split("."))
