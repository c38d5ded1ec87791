"""Attack the package for some minutes: kills, races, hostile files, names and numbers.

    python tests/attack/run.py --minutes 10 [--seed 1] [--only kills]

Each attack is a function of a random generator and an empty folder; it raises AssertionError, or
anything at all, where a promise of docs/reliability.md is broken, and may say what became of it.
Until the time is up the one is next that has had least of it, for its weight. Printed are the seed,
how many of each kind were tried and failed, and of each failure its number and what was seen: the
n-th of a kind is the same for the same seed.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from attack import answers, files, kills, laws, names, races

WEIGHTS = {kills: 3, races: 1, files: 1, names: 1, answers: 2, laws: 1}  # of each attack's time
KINDS = {attack.__name__: attack for module in WEIGHTS for attack in module.ATTACKS}
SHARES = {attack: weight for module, weight in WEIGHTS.items() for attack in module.ATTACKS}
MOST_TOLD = 20  # failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None, help="a new one each time unless given")
    parser.add_argument("--count", type=int, default=0, help="of each kind at least")
    parser.add_argument("--only", default="", help="attacks whose names contain this")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    attacks = [attack for name, attack in KINDS.items() if options.only in name]
    print(f"seed {seed}, {len(attacks)} kinds, {options.minutes:g} minutes", flush=True)
    tried, failed, ends = run(attacks, seed, 60 * options.minutes, options.count)
    for attack in attacks:
        name = attack.__name__
        print(f"{name:52}{tried[name]:8,} tried {failed[name]:6,} failed")
        for (own, end), count in sorted(ends.items()):
            if own == name:
                print(f"    {end:48}{count:8,}")
    print(f"{tried.total():,} attacks tried, {failed.total():,} failed.")
    return 1 if failed else 0


def run(attacks, seed, seconds, count=0):
    """How often each was tried, failed, and came to which end; each at least once, and `count`."""
    end = time.monotonic() + seconds
    tried, failed, ends = Counter(), Counter(), Counter()
    spent = dict.fromkeys(attacks, 0.0)
    while (
        not all(spent.values())
        or time.monotonic() < end
        or any(tried[attack.__name__] < count for attack in attacks)
    ):
        attack, begin = min(attacks, key=lambda each: spent[each] / SHARES[each]), time.monotonic()
        name = attack.__name__
        tried[name] += 1
        folder = Path(tempfile.mkdtemp(prefix="onmf-attack-"))
        try:
            rng = np.random.default_rng([seed, [*KINDS].index(name), tried[name]])
            if end_of_it := attack(rng, folder):
                ends[name, end_of_it] += 1
        except Exception:
            failed[name] += 1
            if failed.total() <= MOST_TOLD:
                print(f"--- {name}, number {tried[name]}:\n{traceback.format_exc()}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        spent[attack] += time.monotonic() - begin
    return tried, failed, ends


if __name__ == "__main__":
    sys.exit(main())
