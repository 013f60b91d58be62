"""What the package costs to read: ``python -m tests.house`` prints the figures; ``LIMITS`` are the most that may be.

A limit is what has been reached. Who adds more than a limit allows takes something out first; who takes something out
lowers the limit.
"""

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "baremetal_sched"
ROOT = Path(__file__).parents[1]
#: Files below this number of lines are fragments, but for ``__init__`` and what has to be a file of its own.
SHORT = 25
SHORT_FILES = {
    "__main__.py": "python -m",
    "cli/conductor.py": "each command is in the module of its name",
    "scheduling/api/edge.py": "each API has an edge",
    "placement/consumers.py": "below claims and allocations, which share it",
    "placement/tables.py": "what all statements without entities name",
    "suggestions.py": "below errors, and used by settings, pages and policies",
}

LIMITS: Mapping[str, int] = {
    "statements": 40_320,
    "files": 642,
    "short files": 0,
    "lines of the longest file": 351,
    "uses of Any": 1_854,
    "class names that are used twice": 5,
    "modules in circles": 0,
    "rooms of the candidate search": 20,
    "rooms of replacing traits": 7,
    "rooms of an explanation": 16,
}
#: Docstrings are not what is to be saved.
LEAST_DOCSTRINGS = 4_000

#: Views whose way through the package is counted in modules, by name of the figure.
VIEWS = {
    "rooms of the candidate search": ("placement.api.allocation_candidates", "list_candidates"),
    "rooms of replacing traits": ("baremetal.api.nodes.traits", "replace_traits"),
    "rooms of an explanation": ("scheduling.api.explanations", "show_explanation"),
}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


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


def figures(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return the figures that ``LIMITS`` limits, and the number of docstrings."""
    nodes = [node for module in modules.values() for node in module.nodes]
    documented = sum(ast.get_docstring(node) is not None for node in nodes if isinstance(node, Definition | ast.Module))
    classes = Counter(n.name for n in nodes if isinstance(n, ast.ClassDef) and not n.name.startswith("_"))
    return {
        "statements": sum(isinstance(node, ast.stmt) for node in nodes) - documented,
        "files": len(modules),
        "short files": sum(_is_short(module) for module in modules.values()),
        "lines of the longest file": max(module.lines for module in modules.values()),
        "uses of Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
        "class names that are used twice": sum(number > 1 for number in classes.values()),
        "modules in circles": sum(len(circle) for circle in circles(modules)),
        **{
            figure: len(rooms(modules, f"{PACKAGE}.{module}", view))
            for figure, (module, view) in VIEWS.items()
            if f"{PACKAGE}.{module}" in modules
        },
        "docstrings": documented,
    }


def _is_short(module: Module) -> bool:
    return module.lines < SHORT and not module.path.endswith("__init__.py") and module.path not in SHORT_FILES


def circles(modules: Mapping[str, Module]) -> list[set[str]]:
    """Return the sets of modules that import each other, whether at the start, later or for types only."""
    needs = {name: {_module_of(modules, what) for _, what in m.imported} - {name} for name, m in modules.items()}
    reached: dict[str, set[str]] = {}
    for start in needs:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for each in needs[waiting.pop()] - seen:
                seen.add(each)
                waiting.append(each)
        reached[start] = seen
    found: list[set[str]] = []
    for name in needs:
        circle = {each for each in reached[name] if name in reached[each]}
        if circle and circle not in found:
            found.append(circle)
    return found


def rooms(modules: Mapping[str, Module], module: str, view: str) -> set[str]:
    """Return the modules with functions that the function ``view`` of ``module`` names, directly or by others.

    A function that is named counts as called. Methods are not followed, as their objects are not known.
    """
    seen: set[tuple[str, str]] = set()
    waiting = [(module, view)]
    while waiting:
        place, name = waiting.pop()
        definition = _definition(modules[place], name)
        if (place, name) in seen or definition is None:
            continue
        seen.add((place, name))
        known = dict(modules[place].imported)
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and node.id in known:
                what = known[node.id]
                if what.rpartition(".")[0] in modules:
                    waiting.append((what.rpartition(".")[0], what.rpartition(".")[2]))
            elif isinstance(node, ast.Name):
                waiting.append((place, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                what = known.get(node.value.id, "")
                if what in modules:
                    waiting.append((what, node.attr))
    return {place for place, _ in seen}


def _definition(module: Module, name: str) -> ast.FunctionDef | None:
    return next((each for each in module.tree.body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _module_of(modules: Mapping[str, Module], what: str) -> str:
    return what if what in modules else what.rpartition(".")[0]


def too_much(found: Mapping[str, int], limits: Mapping[str, int] = LIMITS) -> dict[str, int]:
    """Return the figures that are above their limit."""
    return {figure: number for figure, number in found.items() if number > limits.get(figure, number)}


def main() -> None:
    """Print the figures beside their limits."""
    for figure, number in figures(read()).items():
        print(f"{number:>7,}  {figure}" + (f" (at most {LIMITS[figure]:,})" if figure in LIMITS else ""))


if __name__ == "__main__":
    main()
