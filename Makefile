# Two commands: `make demo` and `make test`. They need Python 3.11 or later, make and git, and `make test` needs
# node for pyright and gcc for the models; all else comes from PyPI, again whenever pyproject.toml has changed, and from
# Debian's packages, and goes into .venv.

VENV := .venv
BIN  := $(VENV)/bin

ifndef PYTHON
PYTHON := $(shell for each in python3.11 python3; do \
	    $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done)
endif

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo test soak proofs mutants lint site bench clean

demo: $(VENV)/with-cli
	$(BIN)/makegood demo

test: lint $(VENV)/with-tools
	$(BIN)/pytest -n 2

# Kills, failing disks and wrong clocks for an evening. What ran before is not run again, so pieces add up:
# make soak KILLS=500, and the rest tomorrow; make soak SEED=1000 is another evening.
SEED   := 1
KILLS  := 2000
DISKS  := 100
CLOCKS := 100

soak: $(VENV)/with-dev $(VENV)/with-tools
	$(BIN)/python -m tests.soak --seed $(SEED) --kills $(KILLS) --disks $(DISKS) --clocks $(CLOCKS)

proofs: $(VENV)/with-tools
	$(BIN)/python -m proofs.check

# One-line faults in our own code; the simulation must find each. make mutants ONLY=fence for those named so.
mutants: $(VENV)/with-dev
	$(BIN)/python -m tests.mutants $(ONLY)

# The documentation as a site, in build/site.
site: $(VENV)/with-dev
	$(BIN)/python -m tools.site

lint: $(VENV)/with-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy src tests tools $(wildcard bench/*.py examples/*.py proofs/*.py)
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/test_house.py

bench: $(VENV)/with-cli
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/with-%: pyproject.toml | $(BIN)/pip
	@echo "Installing makegood[$*] into $(VENV) ..."
	@$(BIN)/pip install -qq --editable '.[$*]'
	@touch $@

$(VENV)/with-tools: tools/debian_tools.sh | $(BIN)/pip
	@tools/debian_tools.sh $(VENV)/debian
	@touch $@

$(BIN)/pip:
	@test -n "$(PYTHON)" || { echo "makegood needs Python 3.11 or later. Have it elsewhere? make PYTHON=..."; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv $(VENV) || { $(GET_VENV) && $(PYTHON) -m venv --clear $(VENV); } || { rm -rf $(VENV); exit 1; }

# Debian and Ubuntu keep a part of the venv module in a package of its own.
define GET_VENV
package=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	if ! command -v apt-get >/dev/null; then echo "$(PYTHON) has no working venv module; install it."; false; \
	elif [ "$$(id -u)" != 0 ]; then echo "Ask root for it: apt-get install $$package; then run make again."; false; \
	else apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes $$package; fi
endef
