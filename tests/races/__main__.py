"""Let requests meet in a drawn order, on the databases of TEST_DATABASE_URLS; SQLite has one writer at a time.

python -m tests.races [--seconds N] [--seed S] [--states STATE …]
    [--operations OPERATION …] [--afterwards OPERATION] [--pairs STATE|OPERATION|OPERATION[|OPERATION] …]

The exit status is 1 if something ended like no order of the requests, one after the other.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.races import drawing
from tests.races.operations import OPERATIONS
from tests.races.running import explore, explore_drawn
from tests.races.states import STATES


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.races", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="for how long, on all databases at a time")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the order is drawn from")
    parser.add_argument("--pairs", nargs="+", metavar="STATE|OPERATION|OPERATION", help="these, and no others")
    parser.add_argument("--states", nargs="+", choices=list(STATES), default=list(STATES), help="only in these")
    parser.add_argument(
        "--operations",
        nargs="+",
        choices=list(OPERATIONS),
        default=list(OPERATIONS),
        metavar="OPERATION",
        help="only these",
    )
    parser.add_argument(
        "--afterwards",
        choices=list(OPERATIONS),
        metavar="OPERATION",
        help="an operation after each meeting, as of a task",
    )
    options = parser.parse_args(arguments)
    urls = [url for url in os.environ.get("TEST_DATABASE_URLS", "").split() if not url.startswith("sqlite")]
    if not urls:
        parser.error("TEST_DATABASE_URLS names no database on a server")
    if options.pairs:
        meetings = [(state, tuple(names)) for state, *names in (text.split("|") for text in options.pairs)]
        results = [explore(url, meetings, options.seconds, options.afterwards) for url in urls]
    else:
        print(f"seed {options.seed}", flush=True)
        with ProcessPoolExecutor(len(urls), mp_context=get_context("spawn")) as pool:
            running = [
                pool.submit(
                    explore_drawn,
                    url,
                    options.seed,
                    options.seconds,
                    options.states,
                    options.operations,
                    options.afterwards,
                )
                for url in urls
            ]
            results = [each.result() for each in running]
    for result in results:
        print(
            f"{result.database}: {result.runs} runs of {result.meetings} meetings, "
            f"of {drawing.count()} pairs and more; {len(result.findings)} not serial"
        )
    return int(any(result.findings for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
