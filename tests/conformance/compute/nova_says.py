"""Nova's verdict on answers; run by a Python that has nova 34, with a list of answers as JSON on standard input.

Each is an object with ``module`` and ``kind`` (``show_response`` of ``nova.api.openstack.compute.schemas.flavors``),
``version`` (the minor part of the microversion), ``document``, and perhaps ``sample`` (``flavors/flavor-get-resp``, one
of Nova's samples). Prints a list with, for each, ``complaint`` (null if the document fits the schema of that
microversion) and ``sample``: that document of Nova's, or null.
"""

import importlib
import json
import re
import sys
from pathlib import Path

import jsonschema
import nova.tests
from nova.api.validation import validators

SAMPLES = Path(nova.tests.__file__).parent / "functional" / "api_sample_tests" / "api_samples"
_QUOTED = re.compile(r'"[^"\n]*%\(\w+\)s[^"\n]*"')
_BARE = re.compile(r"%\(\w+\)s")


def schema(module, kind, version):
    """Return the newest schema of the kind that is not newer than the microversion."""
    found = vars(importlib.import_module(f"nova.api.openstack.compute.schemas.{module}"))
    since = {0: found[kind]}
    for name, value in found.items():
        if match := re.fullmatch(rf"{kind}_v?2(\d+)", name):
            since[int(match[1])] = value
    return since[max(each for each in since if each <= version)]


def complaint(answer):
    """Return the complaint about an answer."""
    wanted = schema(answer["module"], answer["kind"], answer["version"])
    checked = jsonschema.Draft202012Validator(wanted, format_checker=validators._FORMAT_CHECKER)
    error = jsonschema.exceptions.best_match(checked.iter_errors(answer["document"]))
    return None if error is None else str(error)


def sample(answer):
    """Return Nova's own sample of the newest microversion that is not newer than that of the answer."""
    if not answer.get("sample"):
        return None
    folder, _, name = answer["sample"].rpartition("/")
    since = {}
    for path in SAMPLES.glob(f"{folder}/**/{name}.json.tpl"):
        version = re.fullmatch(r"v2\.(\d+)", path.parent.name)
        since[int(version[1]) if version else 0] = path
    text = since[max(each for each in since if each <= answer["version"])].read_text()
    return json.loads(_BARE.sub("null", _QUOTED.sub('"text"', text)))


def main():
    """Read answers, print what Nova says of them."""
    answers = json.load(sys.stdin)
    json.dump([{"complaint": complaint(each), "sample": sample(each)} for each in answers], sys.stdout)


if __name__ == "__main__":
    main()
