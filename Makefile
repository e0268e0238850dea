# Two commands: `make demo` and `make test`. They need Python 3.11 or later, make and git, and `make test` needs
# node for pyright; all else is installed from PyPI into .venv, again whenever pyproject.toml has changed.

VENV := .venv
BIN  := $(VENV)/bin

ifndef PYTHON
PYTHON := $(shell for each in python3.11 python3; do \
	    $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done)
endif

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo test lint bench clean

demo: $(VENV)/with-cli
	$(BIN)/makegood demo

test: lint
	$(BIN)/pytest -n 2

lint: $(VENV)/with-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy src tests $(wildcard bench/*.py examples/*.py)
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
