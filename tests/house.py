"""What the package costs to read: ``python -m tests.house`` prints the figures.

A test holds ``LIMITS``; ``lint-imports`` holds the direction of imports. All other figures are printed with their
difference to those of the last release, which are in ``house.json``: a commit that adds a feature states its price.
A release rewrites that file with ``--release``.
"""

import argparse
import ast
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.definitions import PACKAGE, ROOT, Module, read
from tests.ways import Way, Ways

#: Files below this number of lines are fragments, but for ``__init__`` and what must be a file of its own.
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
    "short files": 0,
    "lines of the longest file": 351,
    "lines of the longest function": 68,
    "class names that are used twice": 5,
    "modules in circles": 0,
    "rooms of an explanation that is created, in the knot": 28,
    "rooms of a claim that waits, in the knot": 29,
    "rooms of a boot, in the knot": 24,
    "climbs of an explanation that is created, in the knot": 9,
    "climbs of a claim that waits, in the knot": 8,
    "climbs of a boot, in the knot": 6,
}
#: The figures of the last release.
RELEASE = Path(__file__).with_suffix(".json")
#: Docstrings are not what is to be saved.
LEAST_DOCSTRINGS = 4_000

#: Views, and a function that no view is, whose ways through the package are counted, by name: rooms and climbs (see
#: ``tests.ways``).
VIEWS = {
    "the candidate search": ("placement.api.allocation_candidates", "list_candidates"),
    "replacing traits": ("baremetal.api.nodes.traits", "replace_traits"),
    "an explanation": ("scheduling.api.explanations", "show_explanation"),
    "an explanation that is created": ("scheduling.api.explanations", "create_explanation"),
    "a claim that waits": ("scheduling.api.claims", "create_claim"),
    "a boot": ("compute.api.servers", "create_servers"),
    "a hold": ("scheduling.api.holds", "create_node_hold"),
    "a plain claim": ("placement.api.allocations", "replace_allocations"),
    "a release": ("placement.api.allocations", "delete_allocations"),
    "the serving of a claim of several": ("scheduling.gathering", "serve_freed"),
}
#: The packages in which a machine is asked for, chosen and explained, and the ways in which only they are entered.
KNOT = (
    "scheduling",
    "explain",
    "compute.hosts",
    "compute.servers",
    "baremetal.allocations",
    "baremetal.matching",
    "baremetal.provider",
)
KNOT_VIEWS = {
    "an explanation that is created": VIEWS["an explanation that is created"],
    "a claim that waits": VIEWS["a claim that waits"],
    "a boot": ("compute.servers.servers", "create"),
}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def figures(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return all figures by name."""
    nodes = [node for module in modules.values() for node in module.nodes]
    documented = sum(ast.get_docstring(node) is not None for node in nodes if isinstance(node, Definition | ast.Module))
    classes = Counter(n.name for n in nodes if isinstance(n, ast.ClassDef) and not n.name.startswith("_"))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = ways(modules)
    return {
        "statements": sum(isinstance(node, ast.stmt) for node in nodes) - documented,
        "files": len(modules),
        "short files": sum(_is_short(module) for module in modules.values()),
        "lines of the longest file": max(module.lines for module in modules.values()),
        "lines of the longest function": max((_lines(function) for function in functions), default=0),
        "uses of Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
        "class names that are used twice": sum(number > 1 for number in classes.values()),
        "modules in circles": sum(len(circle) for circle in circles(modules)),
        **{f"rooms of {name}": len(way.rooms) for name, way in found.items()},
        **{f"climbs of {name}": len(way.climbs) for name, way in found.items()},
        "docstrings": documented,
    }


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


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


def ways(modules: Mapping[str, Module]) -> dict[str, Way]:
    """Return the ways of ``VIEWS`` and of ``KNOT_VIEWS``, by name, of those views that there are."""
    found = Ways(modules)
    everywhere = {name: (view, ("",)) for name, view in VIEWS.items()}
    in_knot = {
        f"{name}, in the knot": (view, tuple(f"{PACKAGE}.{each}." for each in KNOT))
        for name, view in KNOT_VIEWS.items()
    }
    return {
        name: found.way(f"{PACKAGE}.{module}", view, within)
        for name, ((module, view), within) in {**everywhere, **in_knot}.items()
        if found.definitions.at.get((f"{PACKAGE}.{module}", view)) is not None
    }


def _module_of(modules: Mapping[str, Module], what: str) -> str:
    return what if what in modules else what.rpartition(".")[0]


def too_much(found: Mapping[str, int], limits: Mapping[str, int] = LIMITS) -> dict[str, int]:
    """Return the figures that are above their limit."""
    return {figure: number for figure, number in found.items() if number > limits.get(figure, number)}


def described(found: Mapping[str, int], released: Mapping[str, int]) -> list[str]:
    """Return a line for each figure: with its limit, or with its difference to the last release."""
    return [
        f"{number:>7,}  {figure} "
        + (f"(at most {LIMITS[figure]:,})" if figure in LIMITS else f"({number - released.get(figure, 0):+,})")
        for figure, number in found.items()
    ]


def main() -> None:
    """Print the figures or a way, or write the figures of a release."""
    parser = argparse.ArgumentParser("python -m tests.house", description="What the package costs to read.")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the tree that is read, by default this one")
    parser.add_argument(
        "--rooms", metavar="VIEW", help="print the rooms and climbs of a view, as 'a boot, in the knot'"
    )
    parser.add_argument("--release", action="store_true", help=f"write the figures to {RELEASE.name}")
    arguments = parser.parse_args()
    modules = read(arguments.root)
    if arguments.release:
        RELEASE.write_text(json.dumps(figures(modules), indent=2) + "\n")
    elif arguments.rooms is None:
        print(*described(figures(modules), json.loads(RELEASE.read_text())), sep="\n")
    elif (way := ways(modules).get(arguments.rooms)) is None:
        parser.error(f"there is no such view; there are: {'; '.join(ways(modules))}")
    else:
        print(*way.rooms, *(f"climb: {caller} -> {called}" for caller, called in way.climbs), sep="\n")


if __name__ == "__main__":
    main()
