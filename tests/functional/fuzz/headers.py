"""Headers that no client sends."""

from hypothesis import strategies as st

from tests.functional.fuzz.extremes import TEXTS

_DIGITS = "9" * 5000

_ODD = (
    *("", " ", ",", ",,,,", ";", "*", "a" * 8000, "1.1, 2.2", "\xff\xfe", "\t", '"', "q=0", "💥", "null"),
    *(text for text in TEXTS if text and text.isprintable()),
)
_VERSIONS = (
    *(
        "latest",
        "1.1",
        "1.999999",
        "-1.1",
        "1.-1",
        "1",
        "1.",
        ".1",
        "1.1.1",
        "0.0",
        "\u0661.\u0663",
        "1.3_9",
        " 1.39 ",
        "1.1e3",
    ),
    *(
        f"1.{_DIGITS}",
        f"{_DIGITS}.1",
        "baremetal 1.1",
        "placement 1.39",
        "placement latest",
        "placement 1.39, compute 2.1",
    ),
    *(
        "placement",
        "placement 1.39 1.38",
        f"placement 1.{_DIGITS}",
        "baremetal latest",
        ",".join(["placement 1.1"] * 500),
    ),
)
_HOSTS = (
    "",
    "a b",
    "[::1",
    "[::1]:99999",
    "example.com:0",
    "a" * 300,
    "user@host",
    "é.example",
    "a_b:80",
    "/",
    "\\",
    "::",
)
_TYPES = (
    *("application/json", "text/plain", "application/json; charset=utf-16", "*/*", "application/*;q=0.0", "text/html"),
    *("application/json;q=" + "9" * 400, ",".join(["text/a"] * 2000), "multipart/form-data", "application/", "/json"),
    *(
        "application/json;" * 400,
        "application/json; a=" + '"' * 99,
        "image/png;q=1e9",
        "application/x-www-form-urlencoded",
    ),
)
_PATHS = ("/", "//", "/..", "/a" * 2000, "http://x", "/%00", "/a b", "/<script>", "x")

#: Which values a header gets. Those of the framing are for real connections only.
_VALUES: dict[str, tuple[str, ...]] = {
    "X-OpenStack-Ironic-API-Version": _VERSIONS,
    "OpenStack-API-Version": _VERSIONS,
    "Host": _HOSTS,
    "X-Forwarded-Host": _HOSTS,
    "X-Forwarded-Proto": ("https", "ftp", "javascript", "http, https", "x" * 3000),
    "X-Forwarded-Prefix": _PATHS,
    "X-Forwarded-For": (*_HOSTS, ", ".join(["10.0.0.1"] * 500)),
    "X-Forwarded-Port": ("0", "-1", "99999999", _DIGITS),
    "Forwarded": ("for=x;host=y", ";" * 5000),
    "Accept": _TYPES,
    "Content-Type": _TYPES,
    "Accept-Language": (",".join(f"x-{number}" for number in range(900)),),
    "Accept-Encoding": ("gzip;q=9", "identity;q=0, *;q=0"),
    "Content-Encoding": ("gzip", "br"),
    "Origin": ("null", "http://evil", "é"),
    "Access-Control-Request-Method": ("GET", "é"),
    "OpenStack-Request-ID": ("req-x", "x" * 5000),
    "X-Openstack-Request-Id": ("req-x", "x" * 5000),
    "X-Auth-Token": _ODD,
    "X-Roles": _ODD,
    "X-Project-Id": _ODD,
    "X-Is-Admin-Project": _ODD,
    "Authorization": ("Basic", "Basic é", "Basic Og==", "Bearer " + "x" * 7000),
    "Cookie": ("a=" * 3000,),
    "Range": ("bytes=0-", "bytes=" + "0-1," * 900),
    "If-None-Match": ("*",),
    "If-Modified-Since": ("Thu, 99 Foo 99999 99:99:99 GMT",),
    "X-HTTP-Method-Override": ("DELETE",),
    "Connection": ("close, upgrade", "keep-alive"),
    "Upgrade": ("h2c", "websocket"),
    "Expect": ("100-continue", "200-ok"),
    **{f"X-Made-Up-{number}": _ODD for number in range(3)},
}
FRAMING: dict[str, tuple[str, ...]] = {
    "Content-Length": (
        "-1",
        "",
        "x",
        "1",
        "99",
        _DIGITS,
        str(2**63),
        str(2**64),
        "0x10",
        "+5",
        "1, 1",
        "1_0",
        "\u0663",
    ),
    "Transfer-Encoding": ("chunked", "gzip, chunked", "identity", "chunked, chunked", "\x0bchunked", "x" * 3000),
}


@st.composite
def hostile_headers(draw: st.DrawFn, *, framing: bool = False) -> tuple[tuple[str, str], ...]:
    """Some headers; with ``framing`` also the headers that say where the body ends."""
    values = _VALUES | FRAMING if framing and draw(st.integers(0, 3)) == 0 else _VALUES
    names = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=4))
    return tuple((name, draw(st.sampled_from(values[name] if draw(st.booleans()) else _ODD))) for name in names)
