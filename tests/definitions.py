"""The modules of the package, and what is defined in them."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "baremetal_sched"
ROOT = Path(__file__).parents[1]
#: The names of a module and of a function or class in it, ``Class.method`` for a method.
Place = tuple[str, str]
Classes = frozenset[Place]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A module of the package: its dotted name, path below the package, text and syntax tree."""

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Return the number of its lines."""
        return len(self.text.splitlines())

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return [*ast.walk(self.tree)]

    @cached_property
    def imported(self) -> list[tuple[str, str]]:
        """Each name that is imported from the package, with the dotted name of what it stands for."""
        found = [node for node in self.nodes if isinstance(node, ast.ImportFrom)]
        own = [node for node in found if (node.module or "").split(".")[0] == PACKAGE]
        return [(alias.asname or alias.name, f"{node.module}.{alias.name}") for node in own for alias in node.names]


def read(root: Path = ROOT) -> dict[str, Module]:
    """Return the modules of the package below ``root``, by dotted name."""
    modules = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text()
        modules[name] = Module(name, path.relative_to(root / PACKAGE).as_posix(), text, ast.parse(text))
    return modules


class Definitions:
    """The definitions of the package: functions, classes, methods, fields and constants."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        #: Functions, classes, methods, fields and constants, by place.
        self.at: dict[Place, ast.AST] = {}
        self._imported = {name: dict(module.imported) for name, module in modules.items()}
        for name, module in modules.items():
            for statement in module.tree.body:
                self._define(name, "", statement)
        self._classes = [place for place, each in self.at.items() if isinstance(each, ast.ClassDef)]

    def _define(self, module: str, prefix: str, statement: ast.AST) -> None:
        if isinstance(statement, Function | ast.ClassDef):
            self.at.setdefault((module, prefix + statement.name), statement)
        for target in _targets(statement):
            self.at.setdefault((module, prefix + target), statement)
        if isinstance(statement, ast.ClassDef):
            for each in statement.body:
                self._define(module, f"{prefix}{statement.name}.", each)
        if isinstance(statement, Function) and prefix:  # what a method makes of ``self``
            for node in ast.walk(statement):
                for attribute in _attributes_of_self(node):
                    self.at.setdefault((module, prefix + attribute), node)

    def resolve(self, module: str, name: str) -> Place | None:
        """Return what a name stands for in a module: a definition, or a module and ``""``."""
        if (module, name) in self.at:
            return module, name
        dotted = self._imported.get(module, {}).get(name)
        if dotted is None:
            return None
        if dotted in self._modules:
            return dotted, ""
        return self.resolve(*dotted.rpartition(".")[::2])

    def member(self, owner: Place, name: str) -> Place | None:
        """Return the method or field of a class, its own or inherited."""
        place = owner[0], f"{owner[1]}.{name}"
        if place in self.at:
            return place
        return next((found for base in self.bases(owner) if (found := self.member(base, name)) is not None), None)

    def bases(self, owner: Place) -> list[Place]:
        """Return the classes of the package that a class inherits."""
        definition = self.at[owner]
        assert isinstance(definition, ast.ClassDef)
        names = [base.id for base in definition.bases if isinstance(base, ast.Name)]
        found = [self.resolve(owner[0], name) for name in names]
        return [place for place in found if place is not None and place in self.at and place != owner]

    def bodies(self, place: Place) -> list[Place]:
        """Return the method, or its implementations if it has no body."""
        if not _is_empty(self.at[place]):
            return [place]
        owner, _, name = place[1].rpartition(".")
        if not owner:
            return [place]
        found = [self.member(each, name) for each in self._implementations((place[0], owner))]
        modules = [(each, name) for each in self._modules_like((place[0], owner))]
        return sorted({each for each in (*found, *modules) if each is not None and each != place})

    def _implementations(self, owner: Place) -> list[Place]:
        methods = self._methods(owner) if self._is_protocol(owner) else []
        return [
            each
            for each in self._classes
            if each != owner
            and not self._is_protocol(each)
            and (owner in self.bases(each) or (methods and all(self.member(each, method) for method in methods)))
        ]

    def _modules_like(self, owner: Place) -> list[str]:
        methods = self._methods(owner) if self._is_protocol(owner) else []
        return [name for name in self._modules if methods and all((name, each) in self.at for each in methods)]

    def _is_protocol(self, owner: Place) -> bool:
        definition = self.at[owner]
        assert isinstance(definition, ast.ClassDef)
        return any("Protocol" in ast.unparse(base) for base in definition.bases)

    def _methods(self, owner: Place) -> list[str]:
        definition = self.at[owner]
        assert isinstance(definition, ast.ClassDef)
        return [each.name for each in definition.body if isinstance(each, Function) and not each.name.startswith("__")]


def _targets(statement: ast.AST) -> list[str]:
    """Return the names that a statement of a module or a class assigns."""
    return list(dict.fromkeys(name for name, _, _ in assignments(statement)))


def _attributes_of_self(node: ast.AST) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    found = [each for each in targets if isinstance(each, ast.Attribute)]
    return [each.attr for each in found if isinstance(each.value, ast.Name) and each.value.id == "self"]


def assignments(node: ast.AST) -> list[tuple[str, ast.AST | None, ast.AST | None]]:
    """Return the names that a node assigns, with an annotation and a value."""
    if isinstance(node, ast.Assign):
        return [(name, None, node.value) for target in node.targets for name in _names(target)]
    if isinstance(node, ast.AnnAssign):
        return [(name, node.annotation, node.value) for name in _names(node.target)]
    if isinstance(node, ast.NamedExpr):
        return [(name, None, node.value) for name in _names(node.target)]
    if isinstance(node, ast.For | ast.comprehension):
        return [(name, None, node.iter) for name in _names(node.target)]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return [(name, None, node.context_expr) for name in _names(node.optional_vars)]
    return []


def _names(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _is_empty(definition: ast.AST) -> bool:
    """Return whether a function has no body: a docstring, ``...`` or ``raise NotImplementedError`` only."""
    if not isinstance(definition, Function):
        return False
    return all(
        (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Raise) and "NotImplementedError" in ast.unparse(each))
        for each in definition.body
    )
