# Needs Python 3.11+ and make; everything else goes into .venv, once.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/ready

.PHONY: help setup house ablate demo test quick fuzz fuzz-files attack sanitize pythons nightly shuffled parallel \
	mutants lint format bench paper docs dist sbom clean

help:   ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

setup: $(READY)   ## the environment alone

demo: $(READY)   ## documents, digits and the paper's data beside K-means, and a page in ./demo
	$(VENV)/bin/onmf demo

test: $(READY)   ## the whole suite, in JOBS processes (2)
	$(PY) -m pytest --numprocesses $(or $(JOBS),2) --dist worksteal

quick: $(READY)   ## the suite without its slow tests
	ONMF_FUZZ_CASES=40 $(PY) -m pytest -m "not slow" --numprocesses $(or $(JOBS),2) --dist worksteal

fuzz: $(READY)   ## thousands of generated cases; prints how many were tried and failed
	ONMF_FUZZ_CASES=$${CASES:-5000} $(PY) -m pytest tests/test_properties.py --timeout 0

fuzz-files: $(READY)   ## every reader of files under forged ones, MINUTES in all (10)
	$(PY) -m pip install --quiet --editable ".[fuzz]"
	$(PY) tests/fuzz/run.py --minutes $${MINUTES:-10}

attack: $(READY)   ## kills, races and hostile files, MINUTES in all (10) or COUNT of each, by a new SEED
	$(PY) tests/attack/run.py --minutes $${MINUTES:-10} $(if $(SEED),--seed $(SEED)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(COUNT),--count $(COUNT))

sanitize: $(READY)   ## the tests of the kernels, every access checked; needs gcc or clang
	.ci/sanitize

pythons: $(READY)   ## the quick tests under every Python from 3.11 on that is installed, or ONLY one
	.ci/pythons $(ONLY)

nightly: $(READY)   ## the quick tests with the newest libraries, previews included
	NEWEST=1 .ci/pythons $(ONLY)

shuffled: $(READY)   ## the quick tests in a new order, with another seed, SEED (by chance)
	$(PY) -m pip install --quiet pytest-randomly
	ONMF_SEED=$(or $(SEED),any) $(PY) -m pytest -m "not slow" $(if $(SEED),-p "randomly" -p no:cacheprovider --randomly-seed=$(SEED))

parallel: $(READY)   ## the tests of estimators, each in several threads at once
	$(PY) -m pip install --quiet pytest-run-parallel
	$(PY) -m pytest -p no:randomly --parallel-threads=4 --iterations=2 tests/threads

mutants: $(READY)   ## small faults in ROOM (a package as losses): how many do its quick tests find?
	$(PY) tests/mutants/run.py $(or $(ROOM),losses) --count $(or $(COUNT),40) --seed $(or $(SEED),0)

house: $(READY)   ## lines, files, classes of every room beside ceiling and goal
	$(PY) tests/house.py

ablate: $(READY)   ## what each mechanism of the default fit is worth: error, agreement, time
	$(PY) benchmarks/ablate.py

lint: $(READY)   ## style, format and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(READY)   ## rewrite the code in the house format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(READY)   ## speed and quality, as ratios in one run
	$(PY) benchmarks/run.py $(ONLY)

paper: $(READY)   ## the paper's tables and figures, into ./paper; stop and start at will
	$(VENV)/bin/onmf reproduce $(or $(WHAT),all)

docs: $(READY)   ## the site, into docs/_build/html; every warning is an error
	$(PY) -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

dist: $(READY)   ## wheel and sdist into dist/, the same bytes for the same commit
	$(PY) .ci/dist.py

sbom: $(READY)   ## the parts of an installation, dist/sbom.cdx.json (CycloneDX)
	@mkdir -p dist
	$(PY) .ci/sbom.py > dist/sbom.cdx.json

clean:   ## forget the environment and the caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/auto_gallery docs/api/generated build dist src/*.egg-info src/onmf/search/*.so

# The stamp is written last: an installation that broke off is repeated.
$(READY): pyproject.toml setup.py $(wildcard src/onmf/search/c/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "onmf needs Python 3.11 or later; say which with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --editable ".[dev]"
	@touch $@
