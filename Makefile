# `make help` lists the targets. Everything runs in .venv, which scripts/environment.py makes and keeps up to date.
SHELL := /bin/sh
PYTHON ?= python3
RUN := .venv/bin/python

# One thread per process keeps numbers and times steady; caches stay in the project, HOME may be read-only.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba
export PIP_DISABLE_PIP_VERSION_CHECK := 1

FAST := not slow and not whole and not validity and not browser and not spark

.DEFAULT_GOAL := help
# Which benchmarks: all unless named, as in `make bench PARTS=measure`.
PARTS ?=

.PHONY: help demo test check bench bench-check validity papers docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: ## audit the bundled COMPAS data: prints the findings and where the files are
	@$(PYTHON) scripts/environment.py demo
	@.venv/bin/fairtrial demo

test: ## make the environment, then run all tests and all docstring examples
	@$(PYTHON) scripts/environment.py test
	@echo "fairtrial: running all tests on two processes (about 15 minutes on two cores)"
	@$(RUN) -m pytest -n 2 --dist loadgroup --doctest-modules tests src

check: ## lint, strict types and the fast tests, in under a minute once warm
	@$(PYTHON) scripts/environment.py test
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(RUN) -m pytest -q -n 2 --dist loadgroup -m "$(FAST)" tests

bench: ## race the peers and the physical limits, write docs/benchmarks.md
	@$(PYTHON) scripts/environment.py bench
	@.venv-bench/bin/python benchmarks/run.py $(if $(PARTS),,--write) $(PARTS)
	@$(if $(PARTS),,$(PYTHON) scripts/readme_numbers.py)

bench-check: ## a small race that fails when fairtrial has become much slower
	@$(PYTHON) scripts/environment.py bench
	@.venv-bench/bin/python benchmarks/run.py --check $(PARTS)

validity: ## thousands of repeats per line of the validity board, write docs/validity.md (goes on after a stop)
	@$(PYTHON) scripts/environment.py test
	@$(RUN) -m validity --long --jobs 2 --keep .cache/validity --out docs
	@$(PYTHON) scripts/readme_numbers.py

papers: ## run the tables and figures of the five papers, write docs/papers
	@$(PYTHON) scripts/environment.py test
	@for script in examples/papers/*.py; do echo "fairtrial: $$script"; $(RUN) "$$script" --full --out docs/papers || exit 1; done

docs: ## build the documentation site into site/
	@$(PYTHON) scripts/environment.py docs
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet
	@echo "fairtrial: open site/index.html"
