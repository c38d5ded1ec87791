"""Constraints for pip: the lowest version that pyproject.toml allows of each dependency.

    python .ci/minimum.py > constraints.txt

The bounds are written once, in pyproject.toml; a bound that is not `>=` is an error, for a version
that nobody tests must not be promised.
"""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

BOUND = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")


def main() -> None:
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
    declared = project["project"]
    extras = chain.from_iterable(declared["optional-dependencies"].values())
    for wanted in sorted({*declared["dependencies"], *extras}):
        if wanted.startswith("onmf["):
            continue
        found = BOUND.fullmatch(wanted)
        if found is None:
            sys.exit(f"pyproject.toml wants {wanted!r}: write it as name>=version.")
        sys.stdout.write(f"{found[1]}=={found[2]}\n")


if __name__ == "__main__":
    main()
