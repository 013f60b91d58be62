"""``python -m tests.mutants [NAME …]``: run these mutants (all; a name may be the beginning of several)."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests import shares
from tests.mutants.mutant import Mutant
from tests.mutants.runner import Copy, Verdict, url_of
from tests.mutants.table import MUTANTS


def main() -> int:
    """Return 0 if every mutant is noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many at the same time (those of SQLite)")
    parser.add_argument("-l", "--list", action="store_true", help="print the table, and run nothing")
    options = parser.parse_args()
    named = [each for each in MUTANTS if not options.names or each.name.startswith(tuple(options.names))]
    chosen = shares.mine(named, lambda each: each.name)
    if not chosen:
        parser.error("there is no mutant of this name")
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.tests}")
        return 0
    return run(chosen, options.jobs)


def run(chosen: Sequence[Mutant], jobs: int) -> int:
    """Run mutants and print what comes of each; return the exit status of the program."""
    possible = [each for each in chosen if each.server is None or url_of(each.server)]
    for mutant in chosen:
        if mutant not in possible:
            print(f"{mutant.name}: left out, since TEST_DATABASE_URLS names no {mutant.server} database")
    copies: SimpleQueue[Copy] = SimpleQueue()

    def judge(mutant: Mutant) -> Verdict:
        copy = copies.get()
        began = time.monotonic()
        try:
            verdict = copy.judge(mutant)
        finally:
            copies.put(copy)
        print(f"{mutant.name}: {verdict.words} ({time.monotonic() - began:.0f} s)", flush=True)
        return verdict

    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        for number in range(jobs):
            copies.put(Copy(Path(folder) / str(number)))
        with ThreadPoolExecutor(jobs) as pool:
            verdicts = list(pool.map(judge, [each for each in possible if each.server is None]))
        verdicts += [judge(each) for each in possible if each.server is not None]  # they share a database
        is_sound = _pass_without_mutants(copies.get(), verdicts)
    noticed = sum(verdict.test is not None for verdict in verdicts)
    print(f"{noticed} of {len(verdicts)} noticed")
    return 0 if is_sound and noticed == len(verdicts) else 1


def _pass_without_mutants(copy: Copy, verdicts: Sequence[Verdict]) -> bool:
    """Return whether the tests that noticed something pass as long as there is nothing to notice."""
    for server in sorted({each.mutant.server for each in verdicts}, key=str):
        tests = {each.test for each in verdicts if each.test is not None and each.mutant.server == server}
        status, output = copy.run(sorted(tests), server) if tests else (0, "")
        if status != 0:
            print(f"without a mutant the tests do not pass\n{output}")
            return False
    return True


sys.exit(main())
