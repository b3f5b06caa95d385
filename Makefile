# Everything is installed into .venv and node_modules, from locks, and again only when a lock changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install --require-hashes
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
# With room for young objects: a tenth of its time would go into collecting them.
PYRIGHT := node --max-semi-space-size=64 tools/npm/node_modules/pyright/index.js
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap strace busybox zsh fish >/dev/null
PYTEST := $(BIN)/python -m pytest --dist worksteal
# More than a small machine has cores: slow tests wait for somebody else half of their time. The fast ones do not.
ALL_WORKERS := -n 5
FAST_WORKERS := -n 2

# Compiled once, whatever the shell says: else each process of each test compiles the sources anew.
unexport PYTHONDONTWRITEBYTECODE

# One stamp per set of packages, inside what it describes, so that removing the one forgets the other.
RUN := $(VENV)/.run
TEST := $(VENV)/.test
DEV := $(VENV)/.dev
PEERS := tests/peers/node_modules/.installed
SDK1 := $(VENV)-sdk1/.installed
IN_VSCODE := tests/builtin/ide/test_vscode.py
VSCODE := tests/editors/node_modules/.installed
TYPES := tools/npm/node_modules/.installed
RIVALS := $(VENV)-bench/fastmcp/.installed $(VENV)-bench/mcp-proxy/.installed

.DEFAULT_GOAL := help
.PHONY: help run test rest lint check fast pythons conformance matrix requirements bench peers system editors vscode vsix hosts lock clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: $(RUN) ## Install what weft needs and start the gateway (ARGS="--port 9000" for more)
	$(BIN)/weft gateway $(ARGS)

test: $(TEST) peers system editors ## Install everything the tests need and run all of them (ARGS="-k name" for some)
	@$(if $(ARGS),$(PYTEST) $(ALL_WORKERS) $(ARGS),$(MAKE) --no-print-directory --jobs=2 vscode rest)

# One after the other, and said in one piece, as the rest of the tests may run beside it.
vscode: $(TEST) peers editors ## Run the tests in a real VS Code; a picture of its window is left in out/
	@said=$$($(BIN)/python -m pytest -n 0 -q $(IN_VSCODE) 2>&1); status=$$?; echo "$$said"; exit $$status

# They give way: a VS Code that has to wait for its turn does not save in time.
rest: $(TEST) peers system editors
	nice -n 5 $(PYTEST) $(ALL_WORKERS) --ignore=$(IN_VSCODE)

lint: $(DEV) $(TYPES) ## What CI runs first: lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYRIGHT)
	$(BIN)/lint-imports --no-logo

check: $(DEV) $(TYPES) ## The same beside the fast tests: before each commit
	@echo "lint and the fast tests, side by side: about a minute and a half on two cores"
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint fast

fast: $(DEV) ## The tests that take no second each (ARGS="-k name" for some)
	$(PYTEST) $(FAST_WORKERS) --hypothesis-profile=quick -m "not slow" $(ARGS)

PYTHONS = $(shell for minor in 11 12 13 14 15; do python3.$$minor -V >/dev/null 2>&1 && echo python3.$$minor; done)
pythons: ## The fast tests under every Python there is (PYTHONS="/usr/bin/python3" for others)
	@for each in $(PYTHONS); do \
	  version=$$($$each -c 'import platform; print(platform.python_version())') && echo "Python $$version" && \
	  $(MAKE) --no-print-directory fast PYTHON=$$each VENV=.venv-$$version || exit 1; done

conformance: $(TEST) peers ## Run the official MCP conformance suite against our endpoints
	$(BIN)/python -m tests.conformance $(ARGS)

matrix: $(TEST) ## Send every kind of message from each era of agent to each era of server and show what crosses
	$(BIN)/python -m tests.matrix $(ARGS)

requirements: $(TEST) ## Show which promises have a test and which are bare (ARGS="WIRE-05" for one)
	@$(BIN)/python -m tests.requirements $(ARGS)

bench: $(TEST) ## Measure against the budgets, beside the gateways of others
	@$(MAKE) --no-print-directory --keep-going $(RIVALS) || \
	echo "not all gateways of others could be installed: those are skipped (they fail with CI=true)"
	$(BIN)/python -m bench $(ARGS)

peers: $(SDK1) ## Install the real peers from PyPI and npm (without npm: say so and go on)
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(PEERS); \
	else echo "no npm: tests against real peers will be skipped (they fail with CI=true)"; fi

system: ## Install what tests need of the system: bubblewrap, strace, busybox, zsh, fish (not root, or no apt-get: say so)
	@(for program in bwrap strace busybox zsh fish; do command -v $$program || exit 1; done) >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && { $(APT) || { apt-get update -qq && $(APT); }; }; } || \
	echo "no bwrap, strace, busybox, zsh or fish, and they cannot be installed here: tests that need them will be skipped"

editors: ## Install a real VS Code and Neovim for the tests (900 MB; with apt only as root)
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(PEERS) $(VSCODE); \
	else echo "no npm: tests in a real VS Code will be skipped (they fail with CI=true)"; fi
	@for program in nvim:neovim chromium:chromium; do \
	  if command -v $${program%%:*} >/dev/null; then :; \
	  elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $${program#*:}; \
	  else echo "no $${program%%:*}: install $${program#*:}, or its tests will be skipped (they fail with CI=true)"; fi; done

vsix: $(BIN)/python ## Pack the VS Code extension into out/clawft.vsix
	$(BIN)/python tools/vsix.py

hosts: ## Install Claude Code and claude-flow (1.3 GB) for the tests that run them where they are
	cd tests/hosts && npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error
	cd tests/hosts && node node_modules/@anthropic-ai/claude-code/install.cjs

lock: ## Resolve every dependency anew and write the locks
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/lock.txt
	$(PYTHON) tools/lock.py $(VENV)-lock/bin/uv

clean: ## Remove caches and build products
	rm -rf build dist out .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench tools examples -name node_modules -prune -o -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## Remove everything that was installed, too
	rm -rf $(VENV) $(VENV)-lock $(VENV)-bench $(VENV)-sdk1 tests/peers/node_modules tests/editors/node_modules tools/npm/node_modules

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "clawft needs Python 3.11 or newer; try PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# No build isolation: the builder comes from its lock as well, so nothing unlocked is fetched.
$(RUN): requirements/run.txt requirements/build.txt pyproject.toml src/clawft/_version.py | $(BIN)/python
	$(INSTALL) -r requirements/run.txt
	$(INSTALL) -r requirements/build.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(TEST): requirements/test.txt $(RUN)
	$(INSTALL) -r requirements/test.txt
	@touch $@

$(DEV): requirements/dev.txt $(TEST)
	$(INSTALL) -r requirements/dev.txt
	@touch $@

$(PEERS): tests/peers/package-lock.json tests/peers/.npmrc
	cd tests/peers && $(NPM_CI)
	@touch $@

# code-server brings the locks of what it holds; without scripts nothing of it is compiled. It needs the peers' Node.
$(VSCODE): tests/editors/package-lock.json tests/editors/.npmrc $(PEERS)
	cd tests/editors && $(NPM_CI)
	cd tests/editors/node_modules/code-server/lib/vscode && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
	cd tests/editors/node_modules/code-server/lib/vscode/extensions && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(TYPES): tools/npm/package-lock.json tools/npm/.npmrc
	@command -v npm >/dev/null || { echo "make check needs npm: pyright comes from there"; exit 1; }
	cd tools/npm && $(NPM_CI)
	@touch $@

# Each in an environment of its own: they need different versions of the same SDK.
$(SDK1): requirements/sdk1.txt
$(VENV)-bench/fastmcp/.installed: requirements/bench.txt
$(VENV)-bench/mcp-proxy/.installed: requirements/bench-proxy.txt
$(SDK1) $(RIVALS):
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@
