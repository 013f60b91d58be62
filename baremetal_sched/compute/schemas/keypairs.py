"""Bodies of requests about key pairs."""

from baremetal_sched.compute.schemas.form import NAME, Form, closed
from baremetal_sched.documents.schema import SchemaDict

TYPE_SINCE = 2
USER_SINCE = 10
PAGES_SINCE = 35
#: From here on no pair is generated, and names may have more characters.
IMPORT_ONLY_SINCE = 92


_FIRST: SchemaDict = {"name": NAME, "public_key": {"type": "string", "minLength": 1, "maxLength": 65535}}
_WITH_TYPE = {**_FIRST, "type": {"type": "string", "enum": ["ssh", "x509"]}}
_WITH_USER = {**_WITH_TYPE, "user_id": {"type": "string", "minLength": 1, "maxLength": 255}}


def _form(properties: SchemaDict, *required: str) -> Form:
    return Form(closed({"keypair": closed(properties, "name", *required)}, "keypair"))


_FORMS = (
    (IMPORT_ONLY_SINCE, _form(_WITH_USER, "public_key")),
    (USER_SINCE, _form(_WITH_USER)),
    (TYPE_SINCE, _form(_WITH_TYPE)),
    (1, _form(_FIRST)),
)


def create(version: int) -> Form:
    """Return the form of the body that makes or imports a key pair."""
    return next(form for since, form in _FORMS if version >= since)
