"""python -m tests.conformance.differential"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import structlog

from tests.conformance.differential.runner import Finding, Runner
from tests.conformance.differential.sides import original, ours


def main() -> int:
    """Make the calls and print every difference; 1 if there is any."""
    parser = argparse.ArgumentParser(prog="differential", description=sys.modules["__main__"].__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--original-python", required=True, help="an interpreter that has openstack-placement 16.0.0")
    parser.add_argument("--database", help="URL of ours, whose rows are deleted; a SQLite file if it is not given")
    parser.add_argument("--without-candidates", action="store_true", help="leave GET /allocation_candidates out")
    parser.add_argument("--statuses", action="store_true", help="print how often which call got which status")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    print(f"seed {options.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        ours(Path(folder), options.database) as our_side,
        original(options.original_python, Path(folder)) as original_side,
    ):
        runner = Runner(our_side, original_side, candidates=not options.without_candidates, tell=_tell)
        report = runner.run(options.seed, options.calls)
    times = sum(finding.times for finding in report.findings.values())
    if options.statuses:
        for (what, status), count in sorted(report.statuses.items()):
            print(f"{count:6} {status} {what}")
    print(f"{report.calls} calls, {times} differences of {len(report.findings)} kinds")
    return 1 if report.findings else 0


def _tell(finding: Finding) -> None:
    print(finding, "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
