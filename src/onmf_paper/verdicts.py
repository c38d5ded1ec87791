"""A plain verdict on each table: reproduced, not reproduced, or cannot be tested with our data."""

from collections.abc import Callable
from typing import NamedTuple

from onmf_paper.methods import FAITHFUL, NAMES, PAPER
from onmf_paper.tables import ResultTable, TableEntry

REPRODUCED, NOT = "Reproduced for SNCP and NSNCP", "Not reproduced"
NOISE = 2  # standard errors that the starts alone explain
UNFINISHED = "Not run in full"
UNTESTABLE = "Cannot be tested here"


class Verdict(NamedTuple):
    """The word, and why."""

    word: str
    why: str


def within_points(tolerance: float) -> Callable[[TableEntry], bool]:
    return lambda entry: abs(entry.difference) <= tolerance + 1e-9


def within_percent(tolerance: float) -> Callable[[TableEntry], bool]:
    return lambda entry: abs(entry.mean / (entry.published or 1) - 1) <= tolerance / 100 + 1e-12


def within_noise(entry: TableEntry) -> bool:
    return abs(entry.difference) <= NOISE * entry.standard_error


# measure of the verdict, how near is near enough, in words, and the starts the paper had
EXACT = {
    "table1": ("acc", within_points(0.5), "0.5 points", 20),
    "ari": ("ari", within_points(0.5), "0.5 points", 20),
    "table2": ("sweeps", within_percent(2), "2 %", 10),
}


def reach_verdict(study: str, tables: dict[str, ResultTable]) -> Verdict | None:
    """What to say of a study.

    Parameters
    ----------
    study : str
    tables : dict
        Its tables, by measure.

    Returns
    -------
    Verdict or None
        None for a study without tables, or before anything has been run.
    """
    if study in EXACT:
        measure, near, words, starts = EXACT[study]
        return compare_with_paper(tables[measure], near, words, starts)
    if "acc" in tables and tables["acc"].entries:
        return count_winners(tables["acc"])
    return None


def compare_with_paper(
    table: ResultTable, near: Callable[[TableEntry], bool], words: str, starts: int
) -> Verdict | None:
    """The same data: our numbers must be the paper's."""
    ours = {c: e for c, e in table.entries.items() if e.published is not None}
    core = {cell: entry for cell, entry in ours.items() if cell[0] in FAITHFUL}
    if not core:
        return None
    far = [describe_cell(table, cell, entry) for cell, entry in core.items() if not near(entry)]
    fewest = min(entry.n for entry in core.values())
    missing = [cell for cell in table.missing() if cell[0] in FAITHFUL]
    why = f"SNCP and NSNCP: {len(core) - len(far)} of {len(core)} cells within {words} of the paper"
    why += f" ({'; '.join(far)})." if far else "."
    unfinished = fewest < starts or bool(missing)
    if unfinished:
        why += f" Run from {fewest} starts at least where the paper has {starts}"
        why += f", {len(missing)} cells not run." if missing else "."
    rivals = {cell: entry for cell, entry in ours.items() if cell[0] not in FAITHFUL}
    if rivals:
        close = sum(map(near, rivals.values()))
        methods = sorted({method for method, _ in rivals}, key=PAPER.index)
        why += f" Rivals: {close} of {len(rivals)} cells within {words}. "
        why += " ".join(judge_rival(table, rivals, method, near, words) for method in methods)
    return Verdict(UNFINISHED if unfinished else NOT if far else REPRODUCED, why)


def judge_rival(
    table: ResultTable,
    entries: dict[tuple[str, str], TableEntry],
    method: str,
    near: Callable[[TableEntry], bool],
    words: str,
) -> str:
    """All differences of a method, each with its standard error, unless all of them are small."""
    mine = {data: entry for (name, data), entry in entries.items() if name == method}
    starts = min(entry.n for entry in mine.values())
    if all(map(near, mine.values())):
        return f"{NAMES[method]}: all cells within {words}, {starts} starts."
    far = [data for data, entry in mine.items() if not near(entry) and not within_noise(entry)]
    word = f"within the noise of {starts} starts"
    if far:
        word = f"not reproduced at {', '.join(far)}, {starts} starts"
    differences = (
        f"{entry.difference:+.1f} ± {entry.standard_error:.1f}" for entry in mine.values()
    )
    return f"{NAMES[method]}: {word} (difference ± its standard error: {', '.join(differences)})."


def describe_cell(table: ResultTable, cell: tuple[str, str], entry: TableEntry) -> str:
    method, data = cell
    printed = table.text(entry.published or 0)
    return f"{NAMES[method]} at {data}: {table.text(entry.mean)}, paper {printed}"


def count_winners(table: ResultTable) -> Verdict:
    """Other data: who wins on how many of them, as far as accuracy goes."""
    needed = [method for method in table.methods if method != "onp-mf"]  # it may take too long
    full = [
        name for name in table.data if all((method, name) in table.entries for method in needed)
    ]
    if len(full) < len(table.data):
        return Verdict(UNFINISHED, f"All methods on {len(full)} of {len(table.data)} sets so far.")
    among = {name: winners(table, name, PAPER) for name in full}
    overall = {name: winners(table, name, table.methods) for name in full}
    faithful = sum(bool(set(FAITHFUL) & set(best)) for best in among.values())
    beaten = sum(not set(FAITHFUL) & set(best) for best in overall.values())
    why = (
        f"The paper's data cannot be had. On {len(full)} sets of ours, SNCP or NSNCP is the most "
        f"accurate of the paper's methods on {faithful}; with our additions in the field it is "
        f"beaten on {beaten}. Most accurate: "
    )
    named = (
        f"{name}: {' and '.join(NAMES[method] for method in best)}"
        for name, best in overall.items()
    )
    return Verdict(UNTESTABLE, why + "; ".join(named) + ".")


def winners(table: ResultTable, data: str, methods: tuple[str, ...]) -> list[str]:
    shown = {
        method: table.text(table.entries[method, data].mean)
        for method in methods
        if (method, data) in table.entries
    }
    best = max(map(float, shown.values()))
    return [method for method, value in shown.items() if float(value) == best]
