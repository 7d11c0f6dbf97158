# `make check` runs the main job, `make test` the tests that are short, `make test-long` the others, `make test-all`
# both, `make docs` builds the documentation, `make pages` tests the live pages in a browser, `make kernel` compiles the
# optional kernel. Each sets up .venv on first use: `check` installs what the program needs, the others the rest.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
ALL := .venv/installed-dev
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: check test test-long test-all lint docs pages wheels kernel test-kernel lock benchmark clean

check: export PYTHONDONTWRITEBYTECODE =
check: $(INSTALLED)
	$(BIN)/lightning-sym check --quick

# Which tests are long is measured: tests/long.txt. Tests start some hundred processes: what Python compiles is kept.
TESTS = $(BIN)/python -m pytest --numprocesses=auto --dist=worksteal
test test-long test-all: export PYTHONDONTWRITEBYTECODE =
# a worker a core: threads of the linear algebra would wait for each other, and what is short has none of ours
test: export OPENBLAS_NUM_THREADS = 1

test: $(ALL)
	$(TESTS) -m "not long"

test-long: $(ALL)
	$(TESTS) -m long

test-all: $(ALL)
	$(TESTS)

lint: $(ALL)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# what is in build/docs needs no network, and no server
docs: $(ALL)
	$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet --builder html docs build/docs
	@echo "built: build/docs/index.html"

# the live pages in a real browser; the system's Chromium is installed where it is missing, or this fails
pages: $(ALL)
	@command -v chromium >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends chromium; } \
	  || { echo "error: the pages are tested in Chromium, and it cannot be installed; install the package chromium" >&2; exit 1; }
	$(BIN)/python -m pytest tests/browser

# one of the program, one of the kernel where a C compiler is; both are installed apart from the checkout and tried
BUILD = $(BIN)/python -m build --no-isolation --outdir build/wheels
wheels: $(ALL)
	rm -rf build/wheels build/apart
	$(BUILD) .
	if command -v cc >/dev/null; then $(BUILD) --wheel kernel; else echo "no C compiler: no wheel of the kernel"; fi
	$(INSTALL) --no-deps --target build/apart build/wheels/*.whl
	cd build && PYTHONPATH=apart ../$(BIN)/python -P ../scripts/try_wheels.py apart

# needs a C compiler; everything else works without it
kernel: $(ALL)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation ./kernel
	$(BIN)/lightning-sym --version

# what rests on ranks, again, with the kernel; LEAVE_OUT="--ignore=FILE ..." for what has run with one already
test-kernel: kernel
	$(BIN)/python -m pytest --numprocesses=auto $(addprefix tests/,exact dimension network symmetries) \
	  $(addprefix lightning_sym/,exact dimension network symmetries) $(LEAVE_OUT)

benchmark: $(ALL)
	$(BIN)/python benchmarks/peers.py --all

# Python compiles what is imported, when it is: half of SymPy never is, and that was half of the time of an installation.
# The lock comes first, with hashes; then the project alone, built by the locked backend.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 14) else "error: Python must be 3.11 to 3.14, got %d.%d; name another one with PYTHON=..." % v)'
	@echo "first use: ten packages, 0.2 GB, are installed into .venv; this takes about half a minute" >&2
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --no-compile --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# what tests, linters and pages need besides, into the same place; the pins that both locks have are the same
$(ALL): requirements-dev.lock $(INSTALLED)
	@echo "first use: a hundred packages more, 0.9 GB, are installed into .venv; this takes one or two minutes" >&2
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

# Pins and hashes only: no download addresses. Needs uv. The short lock takes its pins from the long one.
COMPILE = uv pip compile pyproject.toml --universal --fork-strategy fewest --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url
lock:
	$(COMPILE) --group dev --output-file requirements-dev.lock
	$(COMPILE) --group build --constraints requirements-dev.lock --output-file requirements.lock

clean:
	rm -rf .venv build dist *.egg-info kernel/build kernel/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
