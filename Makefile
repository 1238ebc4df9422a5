# One checkout, one environment: .venv is made by the targets that need it. `make` alone prints the list.

# The first Python >= 3.11 that runs here; another one: make test PYTHON=/path/to/python
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.14 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PROJECTS := -e . -e ./plugins/langgraph
MADE_FROM := pyproject.toml plugins/langgraph/pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help quickstart test test-all bench bigtest mutate lint types docs clean

help:  ## print this list
	@sed -n 's/^\([a-z-]*\):.*##/\1 #/p' Makefile | \
		while IFS='#' read -r name text; do printf '  make %-12s%s\n' "$$name" "$$text"; done

quickstart: $(VENV)/.made-core  ## install, then show a crash and a resume, without and with the ledger
	$(BIN)/call4agents quickstart

test: $(VENV)/.made-test  ## all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow"

test-all: $(VENV)/.made-test  ## all tests, those that repeat themselves 100 times
	C4A_REPEAT=100 $(BIN)/python -m pytest

bench: $(VENV)/.made-core  ## the speed ratios; also: make bench ARGS="--actions 1000000"
	$(BIN)/python -m benchmarks $(ARGS)

bigtest: $(VENV)/.made-core  ## 300 payments over HTTP, 60 workers killed at them: each charged once; C4A_SEEDS=10
	$(BIN)/python tests/big/run.py

mutate: $(VENV)/.made-test  ## take each named guard out of the code: a test must fail
	$(BIN)/python tests/mutation/run.py

lint: $(VENV)/.made-lint  ## ruff, and the direction of imports
	$(BIN)/ruff check
	$(BIN)/lint-imports

types: $(VENV)/.made-types  ## mypy and pyright, strict
	$(BIN)/mypy
	$(BIN)/pyright

docs: $(VENV)/.made-docs  ## test that docs and code agree
	$(BIN)/python -m pytest tests/docs

clean:  ## remove the environment and what tools left behind
	rm -rf $(VENV) build dist plugins/*/dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environment; one stamp for each dependency group, made anew when what it was made from changes ----

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 found. Name one: make PYTHON=/path/to/python"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	@touch $@

$(VENV)/.made-core: $(MADE_FROM) | $(VENV)/.made
	$(INSTALL) $(PROJECTS)
	@touch $@

$(VENV)/.made-%: $(MADE_FROM) | $(VENV)/.made
	$(INSTALL) $(PROJECTS) --group $*
	@touch $@
