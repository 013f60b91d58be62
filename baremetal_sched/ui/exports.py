"""Lists for programs and spreadsheets: ``?format=json`` or ``csv`` of a page.

Rows are written to a temporary file while they are read, a few at a time, and the file is sent. So memory is bounded,
a failure has its own status, and a client that reads slowly holds neither a transaction nor a slot.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import islice
from operator import attrgetter, itemgetter
from tempfile import SpooledTemporaryFile
from types import SimpleNamespace
from typing import IO, Any, TypeVar

import orjson
from flask import Response

from baremetal_sched.errors import InvalidValue
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import machine_time

#: The most rows of a list.
MOST = 50_000

#: The columns of a list: what their functions make of a row.
Columns = dict[str, Callable[[Any], object]]
Schema = Mapping[str, Any]
T = TypeVar("T")

_JSON, _CSV = "json", "csv"
_TYPES = {_JSON: "application/json", _CSV: "text/csv; charset=utf-8"}

#: Bytes that are kept in memory, and bytes that are sent at a time.
_IN_MEMORY, _AT_ONCE = 1_000_000, 65_536

#: A spreadsheet takes a text that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


#: The number of rows that are read at a time.
_CHUNK = 1000


def attributes(*names: str) -> Columns:
    """Return columns that are attributes of a row."""
    return {name: attrgetter(name) for name in names}


def members(kind: str, schema: Schema, names: Iterable[str] | None = None) -> Columns:
    """Return the members of documents with this schema as columns: all, or these ``names``. Those of CSV are flattened:
    dots join the names of members of members. ``links`` are left out: they are for clients of the API."""
    known = schema["properties"]
    shown = {name: known.get(name, {}) for name in names or known if name != "links"}
    if kind == _JSON:
        return {name: itemgetter(name) for name in shown}
    return {".".join(path): partial(_at, path) for path in _paths(shown)}


def _paths(properties: Schema, *before: str) -> Iterator[tuple[str, ...]]:
    for name, schema in properties.items():
        inner = schema.get("items", schema).get("properties")
        yield from ((*before, name),) if inner is None else _paths(inner, *before, name)


def _at(path: tuple[str, ...], value: Any) -> Any:
    """Return the member at this path; within a list, the list of those of its elements."""
    if isinstance(value, list):
        found = (_at(path, each) for each in value)
        return [inner for each in found for inner in (each if isinstance(each, list) else [each])] if path else value
    return value if not path or value is None else _at(path[1:], value[path[0]])


def chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield the rows, some at a time: for what one statement adds to each of them."""
    iterator = iter(rows)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def format_of(call: UiCall) -> str | None:
    """Return the requested format, which is no filter: it is taken out of the parameters. None: a page. Raises
    InvalidValue."""
    given = [value.strip().lower() for name, value in call.query if name == "format" and value.strip()]
    call.query = [pair for pair in call.query if pair[0] != "format"]
    if len(given) > 1:
        raise InvalidValue(message=f"Expected one value for format: {given}")
    found = given[0] if given else None
    if found is not None and found not in _TYPES:
        known = ", ".join(_TYPES)
        raise InvalidValue(message=f"There is no format '{found}', only {known}.{did_you_mean(found, _TYPES)}")
    return found


def export(call: UiCall, kind: str, name: str, columns: Columns, rows: Iterable[object], most: int = MOST) -> Response:
    """Return the file ``name`` of this format, with at most ``most`` of the rows.

    JSON says with ``has_more`` whether there are more; the name of a file of CSV says that it has only the first.
    """
    file: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with the response
    try:
        has_more = _write(file, kind, name, columns, rows, most)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    response = Response(iter(partial(file.read, _AT_ONCE), b""), content_type=_TYPES[kind])
    response.content_length = size
    response.call_on_close(file.close)
    if call.http.method == "HEAD":  # nothing is read from it
        file.close()
    called = f"{name}-first-{most}.{kind}" if has_more else f"{name}.{kind}"
    response.headers["Content-Disposition"] = f'attachment; filename="{called}"'
    return response


def _write(file: IO[bytes], kind: str, name: str, columns: Columns, rows: Iterable[object], most: int) -> bool:
    """Write the rows; return whether there are more."""
    has_more, options = False, orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
    # Spreadsheets also split cells at semicolons and tabs, unless they are quoted.
    sheet = csv.writer(SimpleNamespace(write=lambda text: file.write(text.encode())), quoting=csv.QUOTE_NONNUMERIC)
    if kind == _CSV:
        sheet.writerow(columns)
    else:
        file.write(b'{"%s":[' % name.encode())
    for number, row in enumerate(rows):
        if number == most:
            has_more = True
            break
        values = [value(row) for value in columns.values()]
        if kind == _CSV:
            sheet.writerow([cell(each) for each in values])
        else:
            file.write(b",\n" if number else b"\n")
            file.write(orjson.dumps(dict(zip(columns, values, strict=True)), option=options))
    if kind == _JSON:
        file.write(b'\n],"has_more":%s}\n' % orjson.dumps(has_more))
    return has_more


def cell(value: object) -> object:
    """Return a value as a cell of a sheet. A text that would be a formula begins with an apostrophe."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return machine_time(value)
        case dict():
            return cell(", ".join(f"{key}: {_word(each)}" for key, each in value.items()))
        case list() | tuple():
            return cell(", ".join(map(_word, value)))
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
    return value


def _word(value: object) -> str:
    """Return a value within a cell; a document as JSON."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else str(cell(value))
