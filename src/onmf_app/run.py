"""A finished run: what was found, its record, and the folder they are in."""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

import onmf
from onmf import Clusters
from onmf.files import (
    Content,
    checksum,
    finish_replacement,
    replace_files,
    replace_together,
    seal_files,
    to_json_values,
)
from onmf.metrics import topic_coherence, topic_diversity
from onmf.page import package_versions
from onmf.rows import DOCUMENTS, one_line
from onmf_app import tables
from onmf_app.console import note, notes, waiting
from onmf_app.inputs import (
    OF_SAMPLES,
    described,
    joined,
    read,
    relative,
    spec_again,
    spec_of,
)
from onmf_app.read import Input

LABELS, CLUSTERS, MARKERS, CENTERS, SCALES, TREE, MODEL, REPORT, RUN = RESULTS = (
    "labels.csv",
    "clusters.csv",
    "markers.csv",
    "centers.csv",
    "scales.csv",  # of a run that chose K
    "tree.json",  # with --tree
    "model.onmf",
    "report.html",
    "run.json",
)
LARGEST_RECORD = 100_000_000  # bytes of run.json
WORDS_PER_TOPIC = 10  # of which coherence and diversity are usually computed
MOST_NAMED = 12  # clusters whose names are printed
MOST_OUTLIERS_NAMED = 10
SHAPE: dict[str, Any] = {  # of what is read again
    "files": dict, "inputs": list, "read": dict, "asked": dict, "beside": dict,
    "parameters": dict, "results": dict, "lineage": list, "notes": list,
}  # fmt: skip


@dataclass
class Run:
    """What was found, the samples, and the record that becomes run.json.

    data : None until the inputs are read again.
    earlier : rows of labels.csv of samples that are not there any more.
    """

    found: Clusters
    record: dict[str, Any]
    data: Input | None = None
    texts: Sequence[str] | None = None
    earlier: Any = None

    @classmethod
    def of(
        cls,
        found: Clusters,
        data: Input,
        *,
        folder: Path,
        inputs: Sequence[dict[str, Any]],
        file: str,
        read: Mapping[str, Any],
        asked: Mapping[str, Any],
        seconds: float,
        texts: Sequence[str] | None = None,
    ) -> Self:
        """A new run, to be written into a folder.

        inputs : of `input_record`, in the order of their samples.
        file : the name of the first.
        read : options of `read_input`.
        asked : what else the page and later commands need: images, describe, ...
        """
        specs = {k: spec_of(folder, read[k]) for k in OF_SAMPLES if read.get(k) is not None}
        asked = dict(asked)
        beside = {name: digest for name, (_, digest) in specs.items() if digest is not None}
        if asked.get("describe") is not None:
            path = Path(asked["describe"])
            beside["describe"], asked["describe"] = checksum(path), relative(folder, path)
        n, m = len(data.samples), len(found.feature_names)
        record = {
            "input": {"file": file, "sha256": inputs[0]["sha256"], "samples": n,
                      "features": m, "missing": int(getattr(found.onmf, "n_missing_", 0))},
            "inputs": [*inputs],
            "read": {**read, **{name: spec for name, (spec, _) in specs.items()}},
            "beside": beside,
            "asked": asked,
            "notes": [found.terms.say(said) for said in (*data.notes, *found.notes)],
            "versions": package_versions(),
            "lineage": [],
        }  # fmt: skip
        own = cls(found, record, data, texts)
        own.finish(seconds)
        return own

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The run in a folder, which exists if run.json does; its samples are not read."""
        finish_replacement(folder)
        if not (folder / RUN).exists():
            raise FileNotFoundError(
                f"{folder} has no {RUN}, so the run did not finish: run onmf cluster again, or "
                "name a model file."
            )
        record = record_of(folder)
        if (folder / MODEL).is_symlink() or checksum_of(folder, MODEL) != record["files"].get(
            MODEL
        ):
            raise ValueError(
                f"{folder / MODEL} does not belong to {RUN} in that folder: run onmf cluster "
                f"again, or name {MODEL} itself."
            )
        return cls(onmf.load(folder / MODEL), record)

    @property
    def links(self) -> bool:
        """Whether folders of documents may have links to files outside."""
        return bool(self.record["read"].get("follow_links"))

    def paths(self, folder: Path) -> list[Path]:
        """The inputs."""
        return [folder / one["path"] for one in self.record["inputs"]]

    def changed(self, folder: Path) -> str | None:
        """Which input is gone or is another one, in words; None if all are as they were."""
        for one, path in zip(self.record["inputs"], self.paths(folder), strict=True):
            if not path.exists():
                return f"the input {path} no longer exists: put it back."
            if checksum(path, self.links) != one["sha256"]:
                return f"the input {path} has changed: run onmf cluster again."
        return None

    def options(self, folder: Path) -> dict[str, Any]:
        """How the inputs are read again: files that changed beside them are left out."""
        options = {
            n: tuple(v) if isinstance(v, list) else v for n, v in self.record["read"].items()
        }
        for name in OF_SAMPLES:
            if name in self.record["beside"]:
                again = spec_again(folder, str(options[name]), self.record["beside"][name])
                if again is None:
                    note(
                        folder.name,
                        [f"the file of --{name} is gone or has changed: it is not used."],
                    )
                options[name] = again
        return options

    def texts_again(self, folder: Path, data: Input) -> list[str] | None:
        """The texts of the samples: documents, or what describes them."""
        asked = self.record["asked"]
        if asked.get("describe") is not None:
            path = folder / asked["describe"]
            if path.exists() and checksum(path) == self.record["beside"].get("describe"):
                column, ids = asked.get("text_column"), asked.get("id_column")
                return described(path, data.samples, column, ids)
            note(folder.name, ["the file of --describe is gone or has changed: it is not used."])
        return data.data if isinstance(data.data, list) else None

    def read_inputs(self, folder: Path) -> Input:
        """The samples, read as they were; ValueError if an input has changed."""
        if (why := self.changed(folder)) is not None:
            raise ValueError(why)
        options, (first, *more) = self.options(folder), self.paths(folder)
        few = bool(self.record["parameters"].get("passes"))
        data = read(first, options, few=few)
        for path in more:
            data = joined(
                data, read(path, {n: v for n, v in options.items() if n != "drop"}), path.name
            )
        return data

    def finish(self, seconds: float | None = None) -> None:
        """Write what was found into the record."""
        found, model = self.found, self.found.onmf
        ids = np.asarray(found.labels)
        known = model.cluster_ids_.tolist()
        sizes = [int((ids == own).sum()) for own in known]
        before = self.record.get("results", {})
        markers, data = found.markers, self.data
        outside = np.flatnonzero(ids < 0)
        outliers = None
        if model.outliers is not None and data is not None:
            far = outside[np.argsort(-found.samples["distance"].to_numpy()[outside], kind="stable")]
            worst = [str(data.samples[i]) for i in far[:MOST_OUTLIERS_NAMED]]
            outliers = {"samples": len(outside), "worst": worst}
        topics = None
        if markers is not None and found.terms is DOCUMENTS:
            words = [own for own in markers.numbers(WORDS_PER_TOPIC) if own]
            X = found.prepared_samples
            topics = {"coherence": topic_coherence(words, X), "diversity": topic_diversity(words)}
        results = {
            "relative_error": float(model.relative_error_),
            "sweeps": int(model.n_iter_),
            "converged": bool(model.converged_),
            "cluster_ids": known,
            "cluster_names": [*found.names.values()],
            "cluster_sizes": sizes,
            "samples_in_no_cluster": len(outside),
            "outliers": outliers,
            "scores": None if data is None else tables.scores_of(data.classes, ids),
            "seconds": before.get("seconds") if seconds is None else round(seconds, 3),
            "topics": topics,
            "clusters": [row._asdict() for row in found.rows],
        }
        choice = found.choice
        if choice is not None and not isinstance(choice, SimpleNamespace):
            self.record["choice"] = choice_record(choice)
        self.record |= {
            "choice": self.record.get("choice"),
            "seed": model.random_state,
            "parameters": parameters_of(found),
            "results": results,
        }
        self.record = dict(json.loads(json.dumps(to_json_values(self.record), allow_nan=False)))

    def files(self) -> dict[str, Content]:
        """All files but run.json."""
        found, data, asked = self.found, self.data, self.record["asked"]
        assert data is not None
        if found.choice is None and self.record.get("choice"):
            known: Any = SimpleNamespace(**self.record["choice"])
            found.choice = known
        labels = tables.labels_table(found.samples, found.names, found.readable(self.texts))
        samples = labels["sample"].tolist()
        text = tables.csv_text(labels)
        if self.earlier is not None:
            _, *rows = text.splitlines(keepends=True)
            text = "".join([self.earlier, *rows])
        with notes(REPORT, found.terms), waiting(f"Making {REPORT}"):
            page = found.html(
                time=data.times, images=asked.get("images"), classes=data.classes, run=self.record
            )
        files: dict[str, Content] = {
            REPORT: page,
            LABELS: text,
            CLUSTERS: tables.csv_text(tables.clusters_table(found)),
            MARKERS: tables.csv_text(tables.markers_table(found)),
            CENTERS: tables.csv_text(tables.centers_table(found), None),
            MODEL: found.content(),
        }
        scales = getattr(found.choice, "scales", None)
        if scales and len(getattr(scales[0], "labels", ())) == len(samples):
            files[SCALES] = tables.csv_text(tables.scales_table(samples, scales))
        if (tree := getattr(found.onmf, "tree_", None)) is not None:
            files[TREE] = json.dumps(tree.to_dict()) + "\n"
        return files

    def write(self, folder: Path, *, again: bool = False, keep: Sequence[str] = ()) -> None:
        """Write all files, or none; remove those of an older run that this one has not.

        again : the run in the folder stays usable whenever the process is killed.
        keep : files of the run that stay as they are.
        """
        with notes(folder.name, self.found.terms):
            files = self.files()
        old = listed_files(folder)
        sums = self.record.get("files", {})
        self.record["files"] = {name: sums[name] for name in keep if name in sums}
        record, sealed = seal_files(files, RUN, self.record)
        gone = old - {*files, *keep, RUN}
        if again:
            replace_together(folder, sealed)
            for name in gone:
                (folder / name).unlink(missing_ok=True)
        else:
            replace_files(folder, sealed, gone=gone)
        self.record = record

    @property
    def measure(self) -> str:
        """What the error is called."""
        kl = self.record["parameters"]["loss"] == "kl"
        return f"relative {'divergence' if kl else 'error'}"

    def summary(self, folder: Path) -> str:
        """The result in a few lines, in the words of the reader."""
        results, terms = self.record["results"], self.found.terms
        sizes = ", ".join(map(str, results["cluster_sizes"]))
        names = {i: name for i, name in self.found.names.items() if name != f"cluster {i}"}
        lines = (
            [] if self.record["choice"] is None else [terms.say(self.record["choice"]["reason"])]
        )
        lines += [
            terms.say(f"Clusters of {sizes} samples, {self.measure} ")
            + f"{results['relative_error']:.4g}, {results['sweeps']} passes, "
            f"{results['seconds'] or 0:.1f} s.",
            *(f"  {i} {one_line(name)}" for i, name in names.items() if len(names) <= MOST_NAMED),
        ]
        doubted = [row for row in self.found.rows if row.note]
        if len(doubted) > MOST_NAMED:
            many = f"{len(doubted)} of {len(self.found.rows)} clusters are doubtful"
            lines.append(terms.say(f"{many}: clusters.csv says why."))
        else:
            lines += [terms.say(f"Cluster {row.cluster}: {row.note}.") for row in doubted]
        if results["outliers"] is not None:
            n, worst = results["outliers"]["samples"], results["outliers"]["worst"][:3]
            told = f": {', '.join(map(one_line, worst))}{', ...' if n > 3 else ''}" if n else ""
            lines.append(terms.say(f"{n} outliers in no cluster{told}."))
        if self.record["lineage"]:
            lines.append(terms.say(lineage_sentence(self.record["lineage"][-1])))
        if results["topics"] is not None:
            lines.append(
                f"Topic coherence {results['topics']['coherence']:.2f} (NPMI of ten words), "
                f"diversity {results['topics']['diversity']:.2f}."
            )
        if results["scores"] is not None:
            lines.append(tables.score_sentence(results["scores"]))
        written = [name for name in RESULTS if name == RUN or name in self.record["files"]]
        return "\n".join([*lines, f"Wrote {', '.join(written)} to {folder}."])


def input_record(folder: Path, path: Path, links: bool) -> dict[str, Any]:
    """An entry of `inputs`."""
    return {"path": relative(folder, path), "sha256": checksum(path, links)}


def checksum_of(folder: Path, name: str) -> str | None:
    path = folder / name
    return checksum(path) if path.is_file() and not path.is_symlink() else None


def record_of(folder: Path) -> dict[str, Any]:
    """run.json, which must be a file of a sensible size with what a run writes."""
    path = folder / RUN
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST_RECORD:
                raise ValueError("it is no file, or too large")
            record = json.loads(file.read(LARGEST_RECORD).decode("utf-8"))
        if not isinstance(record, dict):
            raise TypeError(f"its content is a {type(record).__name__}")
        for name, kind in SHAPE.items():
            if not isinstance(record.get(name), kind):
                raise TypeError(f"its {name} is no {kind.__name__}")
        for one in record["inputs"]:
            if not all(isinstance(one[name], str) for name in ("path", "sha256")):
                raise TypeError("its inputs are no files")
        return record
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is not the record of an onmf cluster run: {error}.") from error


def listed_files(folder: Path) -> set[str]:
    """The files that a run in the folder wrote, of those that a run can write."""
    try:
        return {*record_of(folder)["files"]} & {*RESULTS}
    except ValueError:
        return set()


def parameters_of(found: Clusters) -> dict[str, Any]:
    """The steps, and the parameters of the model; those of its solver stand beside the others."""
    flat = found.onmf.get_params(deep=False)
    del flat["callback"]
    flat["init"] = flat["init"] if isinstance(flat["init"], str) else "model"
    solver = flat["solver"]
    if not isinstance(solver, str):
        flat |= solver.get_params(deep=False) | {"solver": solver.name}
    steps = [{"step": step.name} | step.get_params() for step in found.steps]
    return {"prepare": steps} | flat


def choice_record(choice: Any) -> dict[str, Any]:
    """The result of `onmf.choose_k`, as JSON."""
    facts = {name: getattr(choice, name) for name in ("best_k", "reason", "evidence", "table")}
    scales = [
        {"k": scale.k, "score": scale.score, "comes_back": scale.comes_back, "inside": scale.inside}
        for scale in choice.scales
    ]
    return dict(to_json_values(facts | {"scales": scales}))


def lineage_sentence(entry: dict[str, Any]) -> str:
    """What happened to the clusters of the run before."""
    turned = max((angle for angle in entry["drift"] if angle is not None), default=0)
    said = f"{len(entry['kept'])} clusters kept their ids (turned by at most {turned:.1f} degrees)"
    for word in ("born", "vanished"):
        said += f", {word}: {', '.join(map(str, entry[word])) or 'none'}"
    return f"{said}."
