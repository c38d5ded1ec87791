"""`onmf compare`."""

import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import click
import numpy as np
from onmf.baselines import METHODS
from onmf.bounds.certificate import LARGEST_USEFUL_GAP
from onmf.estimators.baseline import NEAREST
from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn

from onmf import ONMF, PALM, Baseline, certify
from onmf.datasets import make_rays
from onmf.explain import Markers, groups
from onmf.io import Table
from onmf.io.table import one_line, printable
from onmf.losses import LOSSES, loss_of
from onmf.metrics import orthogonality, partition_error
from onmf.palm.penalties import PENALTIES
from onmf.prepare.steps import WEIGHTS_OF_WORDS, suited_loss
from onmf.rows.sweep import Array
from onmf_app import NOT_CONVERGED
from onmf_app.console import progress_bar, say
from onmf_app.options import (
    INPUT,
    bounds_option,
    preparation_options,
    reading_options,
    source_of,
)
from onmf_app.runs.comparison import (
    comparison_grid,
    comparison_json,
    method_means,
    save_comparison,
)
from onmf_app.runs.findings import topic_quality
from onmf_app.runs.inputs import sample_in_memory
from onmf_app.runs.reading import read_and_learn
from onmf_app.runs.tables import agreement_scores, cluster_sizes
from onmf_app.sections import SectionedCommand

OWN_METHOD = "onmf"
COMPARED: dict[str, Callable[..., ONMF | Baseline]] = {
    OWN_METHOD: ONMF,
    **{name: partial(ONMF, solver=PALM(penalty=cast(Any, name))) for name in PENALTIES},
    **{name: partial(Baseline, cast(Any, name)) for name in METHODS},
}
NEGATIVE = re.compile(r"^Negative values in data passed to \w+ at .*: (?=[^:]*$)")  # cells
QUICK_METHODS = ["onmf", "alternation", "k-means", "k-means++", "nmf", "hals"]


def method_names(context: click.Context, option: click.Parameter, words: str | None) -> list[str]:
    """The methods named, all of them, or the quick ones."""
    names = [*COMPARED] if words == "all" else QUICK_METHODS if words is None else words.split(",")
    if unknown := [name for name in names if name not in COMPARED]:
        raise click.BadParameter(
            f"{', '.join(unknown)} is unknown; the methods are {', '.join(COMPARED)}."
        )
    return list(dict.fromkeys(names))


def csv_file(context: click.Context, option: click.Parameter, out: Path) -> Path:
    """The table; the page and the JSON file have the same name with other endings."""
    if out.suffix.lower() != ".csv":
        raise click.BadParameter(f"{out} does not end in .csv.")
    return out


@click.command("compare", cls=SectionedCommand)
@click.argument("input", type=INPUT)
@click.option(
    "-k", "--clusters", "k", type=click.IntRange(1), required=True, help="Number of clusters."
)
@click.option(
    "--methods",
    callback=method_names,
    metavar="NAME,NAME,...",
    help=f"Some of {', '.join(COMPARED)}; or all.  [default: {','.join(QUICK_METHODS)}]",
)
@click.option(
    "--starts", type=click.IntRange(1), default=3, help="Seeds 1, 2, ... for each method."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=csv_file,
    default=Path("compare.csv"),
    help="The table; compare.html is written to the same folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and save it with every fit.")
@click.option("--jobs", type=int, default=1, help="Threads of a fit; -1 uses all processors.")
@reading_options
@preparation_options
@bounds_option
def run_compare(
    k: int,
    methods: list[str],
    starts: int,
    out: Path,
    as_json: bool,
    jobs: int,
    center_bounds: Any,
    **options: Any,
) -> int:
    """Compare methods on the samples of a file, from the same starts.

    INPUT is read and prepared as by `onmf cluster`; of a file larger than the memory 20,000 samples
    are used. Of texts, onmf clusters counts of words, all other methods their tf-idf. The relative
    error is that of the best rays for the labels found. With --labels the agreement with the true
    classes is shown, too, and for texts the coherence and diversity of the topics' words. All
    figures are means over the starts. If a method fails, its row says why. The table and a page
    with every start are saved after each method.

    \b
    Example:
      onmf compare tumours.csv -k 10 --labels type --methods onmf,hals,k-means --starts 10
    """
    fits: list[dict[str, Any]] = []
    out.parent.mkdir(parents=True, exist_ok=True)  # fails before the long computation, not after
    source = source_of(options.pop("input"), options)
    taken = any(name not in METHODS or name in NEAREST for name in methods)
    bounds = center_bounds if taken else (0, None)
    source, loss, learnt = read_and_learn(source, suited_loss(source.steps), bounds)
    table = sample_in_memory(learnt, seed=0)
    data = Compared.of(table, loss)
    n, m = table.X.shape
    facts = {"file": source.path.name, "samples": n, "features": m, "clusters": k, "starts": starts,
             "methods": ", ".join(methods), "steps": ", ".join(source.steps) or "none"}  # fmt: skip
    ONMF(2, random_state=0).fit(make_rays(50, 5, 2, random_state=0)[0])  # compiles, once
    models = {name: model_of(name, center_bounds, k, jobs) for name in methods}
    facts |= lowest_error(data, model_of(OWN_METHOD, center_bounds, k, jobs))
    if OWN_METHOD in models:
        models[OWN_METHOD] = partial(models[OWN_METHOD], loss=data.loss)
    for fit in measure_fits(data, models, range(1, starts + 1)):
        fits.append(fit)
        if len(fits) % starts == 0 and not all(fit["failure"] for fit in fits):
            save_comparison(out, fits, facts, as_json)
    if all(fit["failure"] for fit in fits):
        raise ValueError(fits[0]["failure"])
    if as_json:
        say(comparison_json(fits))
    else:
        means = f"mean of {starts} start{'s' if starts > 1 else ''}"
        title = f"{escape(printable(source.path.name))}, {k} clusters, {means}"
        Console().print(comparison_grid(method_means(fits), title))
        if "bound" in facts:
            say(f"No clustering into {k} clusters has a relative error below {facts['bound']}.")
        say(f"Wrote {out} and {out.with_suffix('.html')}.")
    return 0 if all(fit["converged"] for fit in fits) else NOT_CONVERGED


class Compared(NamedTuple):
    """The data of all methods.

    table : samples; for methods that take counts, if they are texts.
    loss : of `onmf`, as in `onmf cluster`.
    weighted : for methods that minimise squares; the same samples, or the tf-idf of texts.
    """

    table: Table
    loss: str
    weighted: Any

    @classmethod
    def of(cls, table: Table, loss: str) -> Self:
        weighted = table.X
        if LOSSES[loss].takes_counts:
            for step in WEIGHTS_OF_WORDS:
                weighted = step.fit(weighted)(weighted)
        return cls(table, loss, weighted)

    @property
    def texts(self) -> bool:
        return self.weighted is not self.table.X

    def samples_for(self, model: ONMF | Baseline) -> Any:
        return self.table.X if loss_of(model).takes_counts else self.weighted

    def words(self, labels: Array) -> Markers:
        """The words of clusters, as `onmf cluster` shows them."""
        return groups(labels, self.table.X, rank="presence")


def model_of(name: str, center_bounds: Any, k: int, jobs: int) -> Callable[..., ONMF | Baseline]:
    """A method with its settings; rivals have no bounds."""
    own = {} if name in METHODS else {"center_bounds": center_bounds}
    return partial(COMPARED[name], n_clusters=k, n_jobs=jobs, **own)


def lowest_error(data: Compared, model: Callable[..., Any]) -> dict[str, str]:
    """The lower bound of the error, rounded down; none if it proves little or no fit succeeds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(random_state=0).fit(data.weighted)
            proof = certify(fitted, data.weighted)
            if proof.gap > LARGEST_USEFUL_GAP:
                return {}
            return {"bound": f"{np.floor(1e6 * proof.bound) / 1e6:.6f}"}
    except ValueError:  # each method will report it
        return {}


def measure_fits(
    data: Compared, models: dict[str, Callable[..., ONMF | Baseline]], seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The facts of each fit, with a progress bar."""
    with progress_bar(MofNCompleteColumn()) as bar:
        task = bar.add_task("", total=len(models) * len(seeds))

        def follow(label: str, event: Any) -> bool:
            bar.update(task, description=f"{label}, {event.sweep} passes")
            return False

        for name, seed in product(models, seeds):
            callback = partial(follow, f"{name}, start {seed}")
            model = models[name](random_state=seed, callback=callback)
            yield {"method": name, "start": seed, **measure_fit(model, data)}
            bar.advance(task)


def measure_fit(model: ONMF | Baseline, data: Compared) -> dict[str, Any]:
    """Quality and cost of a fit, or why it failed."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table has columns for them
            model.fit(data.samples_for(model))
    except Exception as error:  # of any kind: the other methods still run
        said = NEGATIVE.sub("", one_line(error)) or type(error).__name__
        return {"converged": False, "failure": said}
    seconds, labels = time.perf_counter() - begin, model.labels_
    agreement = agreement_scores(data.table.labels, labels) or {}
    return {
        **dict(zip(("acc", "ari", "nmi"), agreement.values(), strict=False)),
        **((data.texts and topic_quality(data.words(labels), data.table.X)) or {}),
        "relative_error": partition_error(data.weighted, labels),
        "orthogonality": orthogonality(model.membership_),
        "empty_clusters": int(np.sum(cluster_sizes(labels, len(model.cluster_centers_)) == 0)),
        "sweeps": model.history_[-1].sweeps,
        "seconds": seconds,
        "converged": bool(model.converged_),
        "failure": "",
    }
