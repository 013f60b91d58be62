"""The path of a request in log lines."""

from urllib.parse import unquote_plus

from baremetal_sched import masking

#: Longer paths are cut.
_MOST = 1000


def loggable(path: str) -> str:
    """Return a path with its query string for logging: without secrets, and cut if it is long."""
    path, mark, query = path.partition("?")
    if query:
        query = "&".join(map(_masked, query.split("&")))
    line = path + mark + query
    return line if len(line) <= _MOST else line[:_MOST] + "…"


def _masked(parameter: str) -> str:
    """Mask one parameter. Names and values may be encoded, which hides them from the masking of the whole line."""
    name, _, value = parameter.partition("=")
    if not value:
        return parameter
    plain = unquote_plus(name)
    if masking.names_secret(plain) or "configdrive" in plain.lower():
        return f"{name}={masking.MASK}"
    text = unquote_plus(value)
    return parameter if masking.mask_text(text) == text else f"{name}={masking.MASK}"
