# make demo            watch a night on 1,000 memories, from the import to the undo
# make test            lint, types, layers, tests
# make test-long       kills, faults, damaged files, hostile texts, many of each: up to an hour
# make bench-quality   measure how good the decisions are; with MODEL=... API_BASE=... a model, too
# All set up .venv with the versions in constraints.txt first; nothing else is needed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What make bench-quality reads besides the fixtures, where it is there.
DATA   ?= ../shared/data

.PHONY: demo test test-long lint bench-quality setup clean

setup: $(VENV)/ready

# torch by itself and first: named with others, pip may fetch a larger build of it.
$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slowwave needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo.sh build/demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest

test-long: setup
	$(BIN)/python -m pytest --long tests/reliability

bench-quality: setup
	$(BIN)/python -m benchmarks.quality --data '$(DATA)' $(if $(MODEL),--model '$(MODEL)') $(if $(API_BASE),--api-base '$(API_BASE)')

clean:
	rm -rf $(VENV) build *.egg-info
