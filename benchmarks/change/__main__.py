"""Starts `benchmarks.change.command` where it can run."""

import importlib.util
import sys


def main() -> int:
    problem = _problem()
    if problem:
        print(f"bench-change: {problem}", file=sys.stderr)
        return 2
    # Lazy: it needs Linux, and packages that only the environment has.
    from benchmarks.change.command import run

    return run(sys.argv[1:])


def _problem() -> str:
    if sys.platform != "linux":
        return f"needs Linux, because it reads /proc; this is {sys.platform}"
    if importlib.util.find_spec("msgspec") is None:
        return f"{sys.executable} has no packages of kaa: run `make setup`, then .venv/bin/python -m benchmarks.change"
    return ""


if __name__ == "__main__":
    sys.exit(main())
