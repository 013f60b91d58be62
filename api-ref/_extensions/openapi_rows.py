"""Parameters and members of an OpenAPI document as rows of tables (needs no Sphinx)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from openapi_words import beginning, listed, type_of, words_of

Schema = dict[str, Any]

#: The least number of members of an answer that others are described as extensions of.
_LONG = 5


class Row(NamedTuple):
    """A parameter or a member. ``described``: the operation that describes the members of its value, if any does."""

    name: str
    required: bool
    place: str
    type: str
    text: str
    described: Schema | None


class Rows:
    """The operations of a document, with their parameters and members."""

    def __init__(self, document: Schema) -> None:
        self.document = document
        self.operations = {
            (verb.upper(), path): operation
            for path, verbs in document["paths"].items()
            for verb, operation in verbs.items()
        }
        #: The first operation that only shows a component, by reference.
        self._showing: dict[str, Schema] = {}
        for (verb, _), operation in self.operations.items():
            if verb == "GET" and "$ref" in answer_of(operation):
                self._showing.setdefault(answer_of(operation)["$ref"], operation)

    def resolved(self, part: Schema) -> Schema:
        """Return what a reference refers to; anything else as it is."""
        while "$ref" in part:
            found: Any = self.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def parameters(self, operation: Schema) -> Iterator[Row]:
        """Yield the parameters of path and query. One that stands for several is a row for each of these."""
        for each in operation["parameters"]:
            schema = {**each["schema"], "description": each.get("description", "")}
            if each.get("explode"):
                yield from self._members(schema, each["in"])
            else:
                yield self._row(each["name"], schema, each["in"], each["required"])

    def body(self, operation: Schema) -> tuple[list[str], list[Row]]:
        """Return sentences about the body as a whole, and the members of all its forms."""
        if "requestBody" not in operation:
            return [], []
        # It is the same for all media types.
        schema = self.resolved(next(iter(operation["requestBody"]["content"].values()))["schema"])
        forms = [self.resolved(each) for each in schema.get("oneOf", [schema])]
        sentences = []
        if not operation["requestBody"]["required"]:
            sentences.append("The body may be empty.")
        if "minProperties" in schema:
            sentences.append("It needs at least one member.")
        if "maxProperties" in schema:
            sentences.append(f"It has at most {schema['maxProperties']} of these members.")
        if len(forms) == 1:
            return sentences, list(self._members(schema, "body"))
        marks = [sorted(set(form.get("required", ())) - _of_others(forms, form)) for form in forms]
        sentences.append(f"The body has one of {listed([name for each in marks for name in each])}.")
        properties = {name: each for form in reversed(forms) for name, each in form["properties"].items()}
        common = set.intersection(*(set(form["properties"]) for form in forms))
        ordered = {name: properties[name] for form in forms for name in form["properties"] if name not in common}
        ordered |= {name: properties[name] for name in forms[0]["properties"] if name in common}
        rows = []
        for row in self._members({"properties": ordered}, "body"):
            name = row.name.partition(".")[0]
            having = [form for form in forms if name in form["properties"]]
            beside = [each for form, names in zip(forms, marks, strict=True) if form in having for each in names]
            if "." not in row.name and len(having) < len(forms) and name not in beside:
                row = row._replace(text=f"Only with {listed(beside, 'or')}. {row.text}".strip())
            rows.append(row)
        return sentences, rows

    def answer(self, operation: Schema) -> tuple[Schema | None, list[Row]]:
        """Return the operation that describes the answer, or most of it, if another one does; and the other members."""
        schema = answer_of(operation)
        whole = self.resolved(schema)
        for reference, showing in self._showing.items():
            known = self.resolved({"$ref": reference})["properties"]
            extends = len(known) >= _LONG and known.items() <= whole.get("properties", {}).items()
            if showing is not operation and (extends or reference == schema.get("$ref")):
                others = {name: each for name, each in whole["properties"].items() if name not in known}
                return showing, list(self._members({**whole, "properties": others}, "body"))
        return None, list(self._members(whole, "body"))

    def _members(self, schema: Schema, place: str, before: str = "") -> Iterator[Row]:
        """Yield the members of an object, each followed by those of its value."""
        named = [*schema.get("properties", {}).items()]
        patterns = schema.get("patternProperties", {}).items()
        named += [(f"{beginning(pattern)}…", each) for pattern, each in patterns if beginning(pattern)]
        for name, member in named:
            row = self._row(f"{before}{name}", member, place, name in schema.get("required", ()))
            yield row
            if row.described is None:
                yield from self._below(member, place, row.name)

    def _below(self, schema: Schema, place: str, name: str) -> Iterator[Row]:
        schema = self.resolved(schema)
        yield from self._members(schema, place, f"{name}.")
        for each in (*schema.get("oneOf", ()), schema.get("items")):
            if each is not None:
                yield from self._below(each, place, name)
        if isinstance(schema.get("additionalProperties"), dict):
            yield from self._below(schema["additionalProperties"], place, f"{name}.*")

    def _row(self, name: str, schema: Schema, place: str, required: bool) -> Row:
        values = (schema, schema.get("items", {}), schema.get("additionalProperties") or {})
        described = next((self._showing[each["$ref"]] for each in values if each.get("$ref") in self._showing), None)
        schema = {**self.resolved(schema), **schema}
        if "items" in schema:
            schema["items"] = self.resolved(schema["items"])
        return Row(name, required, place, type_of(schema), words_of(schema), described)


def answer_of(operation: Schema) -> Schema:
    """Return the schema of the answer of an operation that is done; empty if it has no body."""
    done = (each for status, each in operation["responses"].items() if status.startswith("2"))
    return next((each["content"]["application/json"]["schema"] for each in done if "content" in each), {})


def _of_others(forms: list[Schema], form: Schema) -> set[str]:
    return {name for each in forms if each is not form for name in each.get("required", ())}
