"""A finished ledger to files: the page, a CSV file a table, an SVG file a figure."""

import datetime
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version

from onmf_paper.escapes import judge_settings, tally_settings
from onmf_paper.ledger import Ledger, Row
from onmf_paper.methods import NAMES
from onmf_paper.page import Picture, Section, paper_page
from onmf_paper.studies import STUDIES, Study
from onmf_paper.tables import make_table, table_csv
from onmf_paper.trials import Trial
from onmf_paper.verdicts import reach_verdict

PACKAGES = ("onmf", "numpy", "scipy", "scikit-learn", "matplotlib")


def paper_files(ledger: Ledger, plans: dict[str, list[Trial]]) -> dict[str, str]:
    """Name and text of every file.

    Parameters
    ----------
    ledger : Ledger
    plans : dict
        The trials of each study, by its name, all of them planned in the ledger.

    Returns
    -------
    dict
        "index.html" and, for what has been run, "table1-acc.csv" and the like, "accuracy.svg" and
        the like.
    """
    sections = [study_section(STUDIES[name], ledger.rows(trials)) for name, trials in plans.items()]
    files = {
        f"{part.name}-{table.measure}.csv": table_csv(table)
        for part in sections
        for table in part.tables
        if table.entries
    }
    files |= {f"{shown.name}.svg": shown.svg for part in sections for shown in part.pictures}
    starts = [trial["seed"] for trials in plans.values() for trial in trials]
    return files | {"index.html": paper_page(sections, run_facts(max(starts, default=0)))}


def study_section(study: Study, rows: Sequence[Row]) -> Section:
    """The tables and figures of one study."""
    cells = [(data, method) for data, method, changed in study.cells if not changed]
    data = tuple(dict.fromkeys(name for name, _ in cells))
    methods = tuple(name for name in NAMES if name in {method for _, method in cells})
    tables = {
        measure: make_table(rows, measure, data, methods, study.source or study.name)
        for measure in study.measures
    }
    done = [row for row in rows if row.state == "done"]
    settings = done if study.name == "unlucky-starts" else []
    return Section(
        study.name,
        study.title,
        reach_verdict(study.name, tables) or judge_settings(tally_settings(settings)),
        study.note,
        list(tables.values()),
        study_pictures(study, done),
        len(rows) - len(done),
    )


def study_pictures(study: Study, done: list[Row]) -> list[Picture]:
    """The figures of a study; tables alone do without matplotlib."""
    if not study.figures:
        return []
    from onmf_paper import figures

    names = [name for name in study.figures if done or name in figures.WITHOUT_TRIALS]
    return [
        Picture(name, figures.figure_caption(name), figures.draw_figure(name, done))
        for name in names
    ]


def run_facts(starts: int) -> dict[str, str]:
    """What a reader must know to run it again."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores; one thread a trial",
        **{name: version(name) for name in PACKAGES},
        "seeds": f"1 to {starts} at most, the same for all methods",
    }
