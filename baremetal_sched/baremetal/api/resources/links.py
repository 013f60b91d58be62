"""Links in the bodies of the bare metal API."""


def links(base: str, collection: str, ident: str, sub: str = "") -> list[dict[str, str]]:
    """``self`` and ``bookmark`` (without the version) of ``<collection>/<ident>[/<sub>]``."""
    path = f"{collection}/{ident}/{sub}" if sub else f"{collection}/{ident}"
    return [{"href": f"{base}/v1/{path}", "rel": "self"}, {"href": f"{base}/{path}", "rel": "bookmark"}]
