"""``python -m tests.conformance.policies record PYTHON``: ask Ironic's enforcer again."""

import argparse

from tests.conformance.policies import facts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.policies", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write facts.json anew, as Ironic's enforcer decides")
    record.add_argument("python", help="a Python that has Ironic installed")
    chosen = parser.parse_args()
    facts.record(chosen.python)


if __name__ == "__main__":
    main()
