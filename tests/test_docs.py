"""What the site promises: its code runs, its links lead somewhere, its messages are ours."""

import ast
import importlib
import inspect
import re
import shlex
import tomllib
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import onmf
from onmf import exceptions

ROOT = Path(__file__).parents[1]
DOCS, SOURCE = ROOT / "docs", Path(onmf.__file__).parent
PYTHON = [*SOURCE.rglob("*.py"), *SOURCE.with_name("onmf_paper").rglob("*.py")]
GUIDE = sorted((DOCS / "guide").glob("*.md"))
START, ADDING = sorted((DOCS / "start").glob("*.md")), sorted((DOCS / "development").glob("*.md"))
PAGES = [ROOT / "README.md", DOCS / "index.md", DOCS / "large.md", *START, *GUIDE, *ADDING]
FENCE = re.compile(r"^```(?:\{code-block\} )?(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks(path):
    """(language, text) of the code blocks of a page, in their order."""
    return FENCE.findall(path.read_text(encoding="utf-8"))


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of without making them."""
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    words = {"stars": "star orbit planet moon rocket", "food": "oven butter flour sugar sauce"}
    rng = np.random.default_rng(0)
    for folder, size in (("talks", 12), ("new-talks", 3)):
        Path(folder).mkdir()
        for topic, known in words.items():
            for i in range(size):
                text = " ".join(rng.choice(known.split(), 30))
                Path(folder, f"{topic}{i}.txt").write_text(text)
    files = sorted(Path("talks").iterdir())
    texts = {"title": [f.stem for f in files], "abstract": [f.read_text() for f in files]}
    pd.DataFrame(texts).to_csv("talks.csv", index=False)
    X, y = onmf.datasets.make_rays(80, 12, 4, random_state=0)
    twice = pd.DataFrame(X, columns=["gene0", *(f"gene{j}" for j in range(11))])
    twice.assign(description="of a gene").to_csv("export.csv", sep=";", decimal=",")
    genes = pd.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
    genes.to_csv("cells.csv", index=False)
    genes.assign(type=np.array(["LUAD", "BRCA", "KIRC", "GBM"])[y]).to_csv("tumours.csv")
    return tmp_path


def meant(page):
    """The names that a page uses for data of the reader's; none but that on large data has any."""
    if page.name != "large.md":
        return {}
    anndata, dask = pytest.importorskip("anndata"), pytest.importorskip("dask.array")
    X, _ = onmf.datasets.make_rays(400, 30, 20, random_state=0)
    np.save("X.npy", X)
    anndata.AnnData(X).write_h5ad("cells.h5ad")
    return {"np": np, "dask_array": dask.from_array(X, chunks=(100, 30))}


def run_shell(text):
    """The lines of a shell block that call the command; they must succeed."""
    main = importlib.import_module("onmf.cli").main
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["onmf"]:
            assert main(words[1:]) == 0, line


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_code_of_a_page_runs_as_it_stands(page, desk, capsys):
    names = meant(page)
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        elif language == "sh":
            run_shell(text)


def test_what_a_page_tells_to_make_or_install_exists():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        told = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
        assert told - {*targets} == set(), name_of(page)
        asked = re.findall(r"""pip install ["']?(?:\.|onmf)\[([\w,]+)\]""", text)
        extras = {extra for extras in asked for extra in extras.split(",")}
        assert extras - project["optional-dependencies"].keys() == set(), name_of(page)


def test_the_page_about_installing_lists_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    rows = re.findall(r"^\| (`.*?)\|", (DOCS / "start" / "index.md").read_text(), re.MULTILINE)
    listed = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert listed | {"disk"} == set(project["optional-dependencies"])


def test_links_to_files_lead_to_files():
    made = {"_build", "auto_gallery", "generated"}  # by the build
    pages = {*PAGES, ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")}
    lost = []
    for page in sorted(page for page in pages if not made & {*page.parts}):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            script = re.sub(r"auto_gallery/(\w+)\.rst", r"gallery/\1.py", target)
            if not re.match(r"[a-z]+:", target) and not (page.parent / script).exists():
                lost.append(f"{name_of(page)} links to {target}")
    assert lost == []


# --- numbers ----------------------------------------------------------------------------------

SETS = {  # how a row of the README's table begins, and the name of the set in the results
    "the paper's synthetic data": "synthetic -3 dB",
    "news stories": "TDT2 3",
    "the same, plain word counts": "TDT2 3 counts",
    "tumours": "miRNA 32 types",
    "20 Newsgroups": "20 Newsgroups",
    "handwritten digits": "digits",
}
METHODS_SHOWN = {  # by column: name, section of the error and agreement, section of the time
    "onmf": ("default, smooth", "quality", "quality"),
    "one vote each": ("one vote each", "one-vote", None),  # as fast as the default
    "K-means": ("K-means, 10 starts", "quality", "quality"),
    "spherical K-means": ("spherical K-means, 10 starts", "spherical", "spherical"),
    "NMF + argmax": ("NMF + argmax", "nmf", "nmf"),
}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def results(section):
    """(set, method) -> row of a section of the benchmarks, by the names of its columns."""
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    text = page.split(f"<!-- {section} -->")[1].split(f"<!-- end {section} -->")[0]
    head, _, *rows = (cells(line) for line in text.splitlines() if line.startswith("|"))
    return {(row[0].split(" (")[0], row[1]): dict(zip(head, row, strict=True)) for row in rows}


def table_of_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    _, *methods = cells(lines[0])
    for line in lines[2:-1]:  # the last says what you get
        title, *shown = cells(line)
        name = next(name for start, name in SETS.items() if title.startswith(start))
        for method, cell in zip(methods, shown, strict=True):
            if cell in ("as K-means", "as onmf"):  # the samples have length 1 already
                continue
            yield name, method, [part.strip() for part in cell.split("/")]


def test_the_table_of_the_readme_is_that_of_the_benchmarks():
    for name, method, shown in table_of_the_readme():
        known, quality, time = METHODS_SHOWN[method]
        row = results(quality)[name, known]
        truth = [row["relative error"], row["ARI"]]
        truth += [results(time)[name, known]["time ratio"]] if time else []
        for cell, value in zip(shown, truth, strict=True):
            plain = cell.strip("*")
            places = len(plain.partition(".")[2])
            difference = abs(float(plain) - float(value))
            assert difference <= 0.5001 * 10**-places, (name, method, cell, value)


def test_the_table_of_the_readme_marks_the_best():
    table = list(table_of_the_readme())
    assert {name for name, _, _ in table} == {*SETS.values()}
    for name in SETS.values():
        rows = [shown for set_, _, shown in table if set_ == name]
        columns = zip_longest(*rows)  # of one vote each, no time is shown
        for column, best in zip(columns, (min, max, min), strict=True):
            column = [cell for cell in column if cell is not None]
            values = [float(cell.strip("*")) for cell in column]
            marked = [value for cell, value in zip(column, values, strict=True) if "*" in cell]
            first = best(values)
            assert marked == ([first] * values.count(first) if marked else []), name


# --- messages ---------------------------------------------------------------------------------

TROUBLE = (DOCS / "guide" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = [
    line
    for _, text in FENCE.findall(TROUBLE)
    for line in text.splitlines()
    if line and not line.startswith(":class:")
]


def said(node):
    """A string of the source, with … for what is filled in; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(said(part) or "…" for part in node.values)
    return None


def texts():
    """Every string of the package, docstrings and pieces of others included."""
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (text := said(node)) is not None:
                yield text


@pytest.mark.slow
def test_every_message_on_the_page_is_in_the_source():
    known = set(texts())
    assert [message for message in MESSAGES if message not in known] == []
    assert len(MESSAGES) > 10


def test_every_warning_is_explained():
    headings = re.findall(r"^### (\w+Warning)$", TROUBLE, re.MULTILINE)
    assert sorted(headings) == sorted(n for n in exceptions.__all__ if n.endswith("Warning"))


# --- the check of the built pages -------------------------------------------------------------


@pytest.fixture
def complaints(tmp_path, monkeypatch):
    """Write some pages, and call it for what the check of the site says about them."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    links, said = importlib.import_module("links"), []
    monkeypatch.setattr(links.LOG, "warning", lambda text, *parts: said.append(text % parts))

    def check(**pages):
        for name, body in pages.items():
            (tmp_path / f"{name}.html").write_text(f'<h1 id="top">{name}</h1>{body}')
        app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html"))
        links.check(app, None)
        return said

    return check


def test_links_that_lead_somewhere_are_good(complaints):
    fine = '<a href="b.html#here">b</a><a href="#top">up</a><a href="https://example.org">far</a>'
    assert complaints(a=fine, b='<p id="here">') == []


@pytest.mark.parametrize("target", ["c.html", "b.html#there", "#nowhere", "picture.png"])
def test_links_that_lead_nowhere_are_found(complaints, target):
    assert complaints(a=f'<a href="{target}">', b="") == [
        f"a.html links to {target}, which is not there"
    ]


@pytest.mark.parametrize(
    "tag", ['script src="{}"', 'img src="{}"', 'link rel="stylesheet" href="{}"']
)
def test_what_would_need_the_network_is_found(complaints, tag):
    needed = "https://example.org/file"
    assert complaints(a=f"<{tag.format(needed)}>") == [f"a.html needs the network for {needed}"]


# --- the reference ----------------------------------------------------------------------------

MODULES = (
    "onmf", "onmf.metrics", "onmf.preparation", "onmf.datasets", "onmf.plot", "onmf.report",
    "onmf.stability", "onmf.exceptions", "onmf.explain",
    "onmf.bounds",
)  # fmt: skip
PUBLIC = [(module, name) for module in MODULES for name in importlib.import_module(module).__all__]


def own(module, name):
    """The object, if it is not another package's, a module or a plain value."""
    thing = getattr(importlib.import_module(module), name)
    return thing if getattr(thing, "__module__", "").startswith("onmf") else None


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    missing = [
        (module, name)
        for module, name in PUBLIC
        if not re.search(rf"^   {name}$|`{name}`|`{re.escape(module)}\.{name}`", page, re.MULTILINE)
    ]
    assert missing == []


def test_every_public_name_has_an_example():
    things = {pair: own(*pair) for pair in PUBLIC}
    without = [pair for pair, thing in things.items() if thing and ">>> " not in shown(thing)]
    assert without == []


def shown(thing):
    return inspect.getdoc(thing) or ""


METHODS = [
    name
    for name in dir(onmf.ONMF)
    if callable(getattr(onmf.ONMF, name)) and not re.match(r"_|set_\w+_request", name)
    if any(name in vars(cls) for cls in onmf.ONMF.__mro__ if cls.__module__.startswith("onmf"))
]


def test_every_method_of_the_estimators_has_an_example():
    assert [name for name in METHODS if ">>> " not in shown(getattr(onmf.ONMF, name))] == []
