"""The liberties that paths of the bare metal API may take: no ``/v1``, a slash at the end, ``.json`` at the end."""

from typing import Any

from baremetal_sched.baremetal.api.versions import HEADER

#: Key of the WSGI environment: a ``.json`` was taken off the path.
STRIPPED = "baremetal_sched.stripped_json"

#: From here on a path is taken literally.
_LITERAL_SINCE = 91
#: More digits than the minor part of a microversion has; Python refuses to convert thousands of them.
_MOST_DIGITS = 100


def rewrite(environ: dict[str, Any]) -> None:
    """Bring PATH_INFO into the form of the route table: ``/v1/…`` without a slash or ``.json`` at the end."""
    path: str = environ.get("PATH_INFO", "")
    if path in ("", "/"):
        return
    if path != "/v1" and not path.startswith(("/v1/", "/v2")):
        path = "/v1" + path
    if path.endswith("/"):
        path = path[:-1]
    if path.endswith(".json") and not _is_literal(environ):
        path = path.removesuffix(".json")
        environ[STRIPPED] = True
    environ["PATH_INFO"] = path


def _is_literal(environ: dict[str, Any]) -> bool:
    """Only Ironic's own header is looked at, and without one the path is literal (as Ironic has it)."""
    header = environ.get("HTTP_" + HEADER.upper().replace("-", "_"), "").strip()
    _, _, minor = header.partition(".")
    return not minor.isdecimal() or len(minor) > _MOST_DIGITS or int(minor) >= _LITERAL_SINCE
