"""What the site promises: its code runs, its links lead somewhere, its messages are ours."""

import ast
import importlib.util
import inspect
import re
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import onmf
from onmf import exceptions
from onmf.losses import LOSSES, support

ROOT = Path(__file__).parents[1]
DOCS, SOURCE = ROOT / "docs", Path(onmf.__file__).parent
PYTHON = sorted(SOURCE.parent.rglob("*.py"))
GUIDE = sorted((DOCS / "guide").glob("*.md"))
START, ADDING = sorted((DOCS / "start").glob("*.md")), sorted((DOCS / "development").glob("*.md"))
PAGES = [ROOT / "README.md", DOCS / "index.md", *START, *GUIDE, *ADDING]
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
    """The data of the reader that a page on large data uses without making them."""
    if page.stem not in ("disk", "dask", "passes"):
        return {}
    anndata, dask = pytest.importorskip("anndata"), pytest.importorskip("dask.array")
    X, _ = onmf.datasets.make_rays(400, 30, 20, random_state=0)
    np.save("X.npy", X)
    anndata.AnnData(X).write_h5ad("cells.h5ad")
    return {"dask_array": dask.from_array(X, chunks=(100, 30))}


def run_shell(text):
    """The lines of a shell block that call the command; they must succeed."""
    main = importlib.import_module("onmf_app").main
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
    lost = []
    for page in WRITTEN:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            script = re.sub(r"auto_gallery/(\w+)\.rst", r"gallery/\1.py", target)
            if not re.match(r"[a-z]+:", target) and not (page.parent / script).exists():
                lost.append(f"{name_of(page)} links to {target}")
    assert lost == []


INCLUDED = re.compile(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)```$", re.MULTILINE)


@pytest.mark.parametrize("page", ADDING, ids=name_of)
def test_what_a_page_includes_of_a_file_is_in_it(page):
    for target, options in INCLUDED.findall(page.read_text(encoding="utf-8")):
        text = source((page.parent / target).resolve())
        for option, value in re.findall(r":([\w-]+): (.+)", options):
            name = value.strip('"').rpartition(".")[2]
            word = (
                rf"^ *(def|class) {name}\b" if option == "pyobject" else re.escape(value.strip('"'))
            )
            assert re.search(word, text, re.MULTILINE), f"{target} has no {value}"


# --- what the pages cite ----------------------------------------------------------------------

CITED = re.compile(r"((?:\w+/)*test_\w+\.py|tests/\w[\w/]*(?:\.\w+)?)?(?:::(test_\w+))?")
WRITTEN = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
BUILT = {"_build", "auto_gallery", "generated"}  # by Sphinx
WRITTEN += sorted(page for page in DOCS.rglob("*.md") if not BUILT & {*page.parts})


def wrong_citations(text):
    """Test files, and tests in them, that a text names and that do not exist.

    A test without a file is one of the file named last.
    """
    file = None
    for cited in CITED.finditer(text):
        path, test = cited.groups()
        if path:
            places = (ROOT / path, ROOT / "tests" / path)
            file = next((place for place in places if place.exists()), None)
            if file is None:
                yield path
        if test and (
            file is None or not re.search(rf"^ *def {test}\(", source(file), re.MULTILINE)
        ):
            yield test


def source(file):
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_test_that_a_page_cites_exists(page):
    assert list(wrong_citations(page.read_text(encoding="utf-8"))) == []


def test_wrong_citations_are_found():
    good = "`test_docs.py::test_wrong_citations_are_found`, `tests/rows`, `tests/reference.py`"
    assert list(wrong_citations(good)) == []
    bad = "`test_docs.py::test_nothing`, `rows/test_gone.py::test_lost`, `tests/no/reference.py`"
    assert list(wrong_citations(bad)) == [
        "test_nothing", "rows/test_gone.py", "test_lost", "tests/no/reference.py"
    ]  # fmt: skip


def test_the_pages_cite_many_tests():
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    assert len({test for _, test in CITED.findall(page)}) > 30


def test_every_file_that_contributing_names_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:[\w.]+/)*\w[\w-]*\.(?:py|md|toml)|(?:\w+/)+)`", text)
    homes = (ROOT, SOURCE, SOURCE.parent)
    assert [path for path in named if not any((home / path).exists() for home in homes)] == []
    assert len(named) > 20


def test_the_page_on_benchmarks_lists_every_section():
    tree = ast.parse((ROOT / "benchmarks" / "run.py").read_text(encoding="utf-8"))
    [sections] = [
        [key.value for key in node.value.keys]
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "SECTIONS"
    ]
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    listed = re.search(r"The sections are (.*?)\.$", text, re.MULTILINE | re.DOTALL)[1]
    assert sorted(re.findall(r"`([\w-]+)`", listed)) == sorted(sections)


def test_the_page_on_the_command_has_every_subcommand():
    app = importlib.import_module("onmf_app")
    commands = [*app.COMMANDS, *app.commands_of_others()]
    text = (DOCS / "api" / "command.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"onmf-help:: ([\w-]+)", text)) == sorted(commands)


def test_the_guide_s_table_of_what_works_together_is_that_of_the_losses():
    text = (DOCS / "guide" / "solver.md").read_text(encoding="utf-8").split("(support)=")[1]
    _, _, *rows = (cells(line) for line in text.splitlines() if line.startswith("|"))
    columns = LOSSES["frobenius"].supports, LOSSES["kl"].supports, support.OF_PALM
    assert rows == [
        [words, *("yes" if feature in can else "no" for can in columns)]
        for feature, words in support.FEATURES.items()
    ]


# --- numbers ----------------------------------------------------------------------------------

SETS = {  # how a row of the README's table begins, and the name of the set in the results
    "the paper's synthetic data": "synthetic -3 dB",
    "news stories": "TDT2 3",
    "the same, word counts": "TDT2 3 counts",
    "tumours": "miRNA 32 types",
    "20 Newsgroups": "20 Newsgroups",
    "handwritten digits": "digits",
}
METHODS_SHOWN = {  # column of the README: column of the results
    "onmf": "onmf",
    "K-means, 10 starts": "K-means",
    "spherical K-means": "spherical",
    "NMF + argmax": "NMF",
}


OTHERS = [method for method in METHODS_SHOWN.values() if method != "onmf"]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def results(section):
    """Set -> row of a section of the benchmarks, by the names of its columns."""
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    text = page.split(f"<!-- {section} -->")[1].split(f"<!-- end {section} -->")[0]
    head, _, *rows = (cells(line) for line in text.splitlines() if line.startswith("|"))
    return {row[0].split(" (")[0]: dict(zip(head, row, strict=True)) for row in rows}


def table_of_the_readme():
    """Set -> column -> cell."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## Compared with")[1]
    head, _, *rows = (cells(line) for line in text.splitlines() if line.startswith("|"))
    table = {}
    for title, *shown in rows:
        name = next(name for start, name in SETS.items() if title.startswith(start))
        table[name] = dict(zip(head[1:], shown, strict=True))
    return table


def agree(cell, value):
    plain = cell.strip("*")
    places = len(plain.partition(".")[2])
    return abs(float(plain) - float(value)) <= 0.5001 * 10**-places


def test_the_table_of_the_readme_is_that_of_the_benchmarks():
    table, measured = table_of_the_readme(), results("quality")
    assert {*table} == {*SETS.values()}
    for name, row in table.items():
        assert {*row} == {*METHODS_SHOWN, "time"}
        for column, method in METHODS_SHOWN.items():
            assert agree(row[column], measured[name][method]), (name, column)
        assert agree(row["time"], measured[name]["time"]), name


def test_the_table_of_the_readme_marks_the_best():
    for name, row in table_of_the_readme().items():
        shown = [row[column] for column in METHODS_SHOWN if row[column]]
        best = max(float(cell.strip("*")) for cell in shown)
        for cell in shown:
            assert ("*" in cell) == (float(cell.strip("*")) == best), name


def test_the_default_has_the_lowest_error_as_the_readme_says():
    for name in SETS.values():
        row = results("quality")[name]
        assert all(float(row[f"{method}, error"].split()[0]) >= 0 for method in OTHERS), name


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
    "onmf", "onmf.metrics", "onmf.prepare", "onmf.datasets", "onmf.plot", "onmf.page",
    "onmf.number", "onmf.exceptions", "onmf.explain",
    "onmf_paper.bounds", "onmf_paper.rivals",
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


def test_every_module_of_the_inside_page_exists():
    page = (DOCS / "api" / "inside.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   (onmf[\w.]+)$", page, re.MULTILINE)
    assert listed
    assert [name for name in listed if importlib.util.find_spec(name) is None] == []


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
