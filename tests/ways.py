"""The ways through the package: which functions a view calls, and in which modules they are.

Names and objects are followed, in the order of the text, depth first:

* A function or a method that is named counts as called. Constants are read where they are named. A class that is named
  counts as constructed (``__init__``, ``__post_init__``).
* The class of an object comes from annotations (of parameters, variables, fields and results, with the arguments of
  generics), from constructors, and from ``self`` and ``cls``. A container has the classes of what it contains, and an
  unknown call those of its arguments: ``sorted(nodes)[0]`` is a node.
* A method without a body, of a ``Protocol`` or an abstract class, is that of each class that inherits it, and of each
  class or module that has all methods of the protocol.

Objects without any annotation are not followed.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tests.definitions import Classes, Definitions, Function, Module, Place, assignments

NOTHING: Classes = frozenset()


@dataclass(frozen=True)
class Way:
    """The modules ("rooms") that a view enters, in the order in which they are read, and which of them calls which."""

    rooms: tuple[str, ...]
    calls: frozenset[tuple[str, str]]

    @property
    def climbs(self) -> list[tuple[str, str]]:
        """The calls that lead back: of a room that is nearer to the view, in calls, than the one that calls it.

        Who reads the way comes back there from below. Rooms where the way ends, as errors and clocks, do not count.
        """
        steps = dict.fromkeys(self.rooms[:1], 0)
        for caller in (order := [*self.rooms[:1]]):
            for room in sorted(called for each, called in self.calls if each == caller and called not in steps):
                steps[room] = steps[caller] + 1
                order.append(room)
        going_on = {caller for caller, _ in self.calls}
        return sorted((a, b) for a, b in self.calls if steps[b] < steps[a] and b in going_on)


class Ways:
    """The ways through the package."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.definitions = Definitions(modules)
        self._read: dict[Place, list[Place]] = {}
        self._values: dict[Place, Classes] = {}

    def way(self, module: str, view: str, within: Collection[str] = ("",)) -> Way:
        """Return the way that begins with the function ``view`` of ``module`` and stays ``within`` packages."""
        entered: dict[Place, None] = {}
        calls: set[tuple[str, str]] = set()
        waiting = [(module, view)]
        while waiting:
            place = waiting.pop()
            if place not in entered:
                entered[place] = None
                called = [each for each in self.called(place) if f"{each[0]}.".startswith(tuple(within))]
                calls |= {(place[0], each[0]) for each in called if each[0] != place[0]}
                waiting += reversed(called)
        return Way(tuple(dict.fromkeys(room for room, _ in entered)), frozenset(calls))

    def called(self, place: Place) -> list[Place]:
        """Return the functions that a function names, in the order of the text."""
        if place not in self._read:
            definition = self.definitions.at[place]
            self._read[place] = []
            reader = _Reader(self, place, definition)
            self._read[place] = list(dict.fromkeys(reader.named(definition)))
        return self._read[place]

    # -- classes -------------------------------------------------------------------------------------------------------

    def annotated(self, module: str, annotation: ast.AST | None, owner: str = "") -> Classes:
        """Return the classes of the package that an annotation names."""
        if annotation is None:
            return NOTHING
        found: Classes = NOTHING
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= self._quoted(module, node.value, owner)
            elif isinstance(node, ast.Name):
                found |= {(module, owner)} if node.id == "Self" and owner else self._class_named(module, node.id)
        return found

    def _quoted(self, module: str, text: str, owner: str) -> Classes:
        try:
            return self.annotated(module, ast.parse(text, mode="eval").body, owner)
        except SyntaxError:
            return NOTHING

    def _class_named(self, module: str, name: str) -> Classes:
        place = self.definitions.resolve(module, name)
        definition = None if place is None else self.definitions.at.get(place)
        if place is None or definition is None:
            return NOTHING
        if isinstance(definition, ast.ClassDef):
            return frozenset({place})
        if isinstance(definition, ast.Assign) and isinstance(definition.value, ast.BinOp | ast.Subscript):  # an alias
            return self.annotated(place[0], definition.value)
        return NOTHING

    def value_of(self, place: Place) -> Classes:
        """Return the classes of a constant, a field or a property; of what a function returns."""
        if place not in self._values:
            self._values[place] = NOTHING  # what is made of itself
            self._values[place] = self._value_of(place, self.definitions.at[place])
        return self._values[place]

    def _value_of(self, place: Place, definition: ast.AST) -> Classes:
        owner = place[1].rpartition(".")[0]
        if isinstance(definition, Function):
            return self.annotated(place[0], definition.returns, owner)
        if isinstance(definition, ast.AnnAssign):
            return self.annotated(place[0], definition.annotation, owner)
        if isinstance(definition, ast.Assign):
            return self._assigned(place, definition)
        return NOTHING

    def _assigned(self, place: Place, definition: ast.Assign) -> Classes:
        # Within a method, the value is read with the parameters of ``__init__``.
        owner = place[1].rpartition(".")[0]
        where = (place[0], f"{owner}.__init__") if owner else place
        within = self.definitions.at.get(where, definition)
        reader = _Reader(self, where, within)
        return reader.classes(definition.value)


class _Reader:
    """Reads one function: which functions it names, by the classes of its parameters and variables."""

    def __init__(self, ways: Ways, place: Place, definition: ast.AST) -> None:
        self._ways = ways
        self._definitions = ways.definitions
        self._module = place[0]
        self._owner = place[1].rpartition(".")[0]
        self._local: dict[str, Classes] = {}
        if isinstance(definition, Function):
            self._read_locals(definition)

    def _read_locals(self, definition: Function) -> None:
        nodes = [*ast.walk(definition)]
        arguments = [node for node in nodes if isinstance(node, ast.arg)]
        for argument in arguments:
            self._local[argument.arg] = self._ways.annotated(self._module, argument.annotation, self._owner)
        if self._owner and definition.args.args:
            self._local[definition.args.args[0].arg] = frozenset({(self._module, self._owner)})
        assigned = [pair for node in nodes for pair in assignments(node)]
        self._local |= {name: NOTHING for name, _, _ in assigned if name not in self._local}
        for _ in range(3):  # a variable may be assigned what a later one holds
            for name, annotation, value in assigned:
                found = self._ways.annotated(self._module, annotation, self._owner)
                self._local[name] |= found or (NOTHING if value is None else self.classes(value))

    # -- names ---------------------------------------------------------------------------------------------------------

    def named(self, node: ast.AST) -> Iterator[Place]:
        """Yield the functions that are named in ``node``, in the order of the text; annotations do not count."""
        if isinstance(node, ast.Name):
            yield from self._entered(self._global(node.id))
        elif isinstance(node, ast.Attribute):
            yield from self.named(node.value)
            for place in self._members(node):
                yield from self._entered(place)
        else:
            for name, value in ast.iter_fields(node):
                if name in ("annotation", "returns"):
                    continue
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, ast.AST):
                        yield from self.named(each)

    def _entered(self, place: Place | None) -> Iterator[Place]:
        definition = None if place is None else self._definitions.at.get(place)
        if place is None or definition is None:
            return
        if isinstance(definition, Function):
            yield from self._definitions.bodies(place)
        elif isinstance(definition, ast.ClassDef):
            for name in ("__init__", "__post_init__"):
                method = self._definitions.member(place, name)
                if method is not None:
                    yield method
        elif "." not in place[1]:  # a constant
            yield from self._ways.called(place)

    def _global(self, name: str) -> Place | None:
        return None if name in self._local else self._definitions.resolve(self._module, name)

    def _members(self, node: ast.Attribute) -> list[Place]:
        """Return what an attribute of a module or an object stands for."""
        if isinstance(node.value, ast.Name):
            place = self._global(node.value.id)
            if place is not None and not place[1]:
                found = self._definitions.resolve(place[0], node.attr)
                return [] if found is None else [found]
        if isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()":
            bases = self._definitions.bases((self._module, self._owner))
            return [found for base in bases if (found := self._definitions.member(base, node.attr)) is not None]
        members = [self._definitions.member(owner, node.attr) for owner in sorted(self.classes(node.value))]
        return [each for each in members if each is not None]

    # -- of which classes it is ----------------------------------------------------------------------------------------

    def classes(self, node: ast.AST) -> Classes:
        """Return the classes of which the value of an expression, or of its elements, may be."""
        if isinstance(node, ast.Name):
            if node.id in self._local:
                return self._local[node.id]
            return self._value(self._global(node.id))
        if isinstance(node, ast.Attribute):
            members = self._members(node)
            return _union(self._value(each) for each in members) if members else self.classes(node.value)
        if isinstance(node, ast.Call):
            function = self.classes(node.func)
            is_known = isinstance(node.func, ast.Name) and self._global(node.func.id) is not None
            return function if is_known else function or _union(self.classes(each) for each in node.args)
        if isinstance(node, ast.Compare | ast.Constant | ast.JoinedStr):
            return NOTHING
        if isinstance(node, ast.DictComp):
            return self.classes(node.key) | self.classes(node.value)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self.classes(node.elt)
        if isinstance(node, ast.Subscript):
            return self.classes(node.value)
        if isinstance(node, ast.IfExp):
            return self.classes(node.body) | self.classes(node.orelse)
        if isinstance(node, ast.Lambda):
            return self.classes(node.body)
        return _union(self.classes(each) for each in ast.iter_child_nodes(node))

    def _value(self, place: Place | None) -> Classes:
        definition = None if place is None else self._definitions.at.get(place)
        if place is None or definition is None:
            return NOTHING
        return frozenset({place}) if isinstance(definition, ast.ClassDef) else self._ways.value_of(place)


def _union(found: Iterator[Classes]) -> Classes:
    return frozenset().union(*found)
