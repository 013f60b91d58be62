"""Seconds of a processor and memory that a process of the API needs until it has answered one request of each API.

    python tests/benchmarks/start.py [--runs 9] [CHECKOUT ...]

Each CHECKOUT is a folder with the project and its environment in ``.venv``; the default is this one. With several the
runs alternate, and the first is what the others are compared with.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median

#: Runs in a new process of the checkout's environment, so it must work with each version of the service.
PROBE = """
import io, json, os, resource, sys, time
from baremetal_sched.app import create_app

def memory(name):
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name + ":"))

imported = time.process_time()
settings = {"database": {"connection": sys.argv[1]}, "api": {"auth_strategy": "none"}}
app = create_app(settings)
created = time.process_time()
for path in sys.argv[2:]:
    statuses = []
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query, "HTTP_HOST": "127.0.0.1",
        "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr,
        "wsgi.multithread": False, "wsgi.multiprocess": False, "wsgi.run_once": False,
    }
    answer = app(environ, lambda status, headers, exc_info=None: statuses.append(status))
    body = b"".join(answer)
    assert statuses == ["200 OK"], (path, statuses, body)
answered = time.process_time()
print(json.dumps({
    "import, s": imported, "create_app, s": created - imported, "requests, s": answered - created, "all, s": answered,
    "PSS, MB": memory("Pss"), "RSS, MB": memory("Rss"), "modules": len(sys.modules),
}))
"""

#: One request of each API.
PATHS = (
    "/baremetal/v1/nodes",
    "/placement/resource_providers",
    "/compute/v2.1/flavors",
    "/image/v2/images",
    "/scheduling/v1/capacity",
)


def main() -> None:
    """Measure every checkout, and print the medians."""
    here = Path(__file__).parents[2]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[here])
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    results: list[list[dict[str, float]]] = [[] for _ in arguments.checkouts]
    with tempfile.TemporaryDirectory() as folder:
        databases = [f"sqlite:///{folder}/{number}.sqlite" for number, _ in enumerate(arguments.checkouts)]
        for checkout, database in zip(arguments.checkouts, databases, strict=True):
            run(checkout, folder, "-m", "baremetal_sched", "db", "upgrade", "--database", database)
            run(checkout, folder, "-c", PROBE, database, *PATHS)  # writes what is missing in __pycache__
        for _ in range(arguments.runs):
            for checkout, database, measured in zip(arguments.checkouts, databases, results, strict=True):
                measured.append(json.loads(run(checkout, folder, "-c", PROBE, database, *PATHS).splitlines()[-1]))
    show(arguments.checkouts, results)


def run(checkout: Path, folder: str, *arguments: str) -> str:
    """Run the checkout's Python; return what it prints."""
    command = (checkout.absolute() / ".venv/bin/python", *arguments)
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def show(checkouts: list[Path], results: list[list[dict[str, float]]]) -> None:
    """Print the median of each measure, and its share of the first checkout's."""
    for checkout, measured in zip(checkouts, results, strict=True):
        print(f"{checkout}: medians of {len(measured)} runs")
        for name in measured[0]:
            value, first = (median(row[name] for row in rows) for rows in (measured, results[0]))
            print(f"    {name:14} {value:9.3f}   {value / first:5.2f} times")


if __name__ == "__main__":
    main()
