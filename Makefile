# Two commands do all the set-up: `make demo` runs the main job, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check

.PHONY: demo test system test-live check sbom site docs lock

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "pdscope needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.lock pyproject.toml | $(PY)
	@echo "Setting up $(VENV): a minute or so, once."
	@$(PIP) install --quiet --require-hashes -r requirements.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml | $(PY)
	@echo "Setting up $(VENV) for development: a minute or so, once."
	@$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/run.stamp

demo: $(VENV)/run.stamp
	@$(VENV)/bin/pdscope demo

test: $(VENV)/dev.stamp
	@tests/install-browser.sh
	@tests/install-prometheus.sh
	@$(PY) -m pytest

# Everything the README promises, shown on a whole deployment; `make test` runs it, too.
system: $(VENV)/dev.stamp
	@tests/install-browser.sh
	@tests/install-prometheus.sh
	@$(PY) -m pytest -q tests/system

# Real serving systems on this machine: installs some gigabytes once, and takes a quarter of an hour or more.
test-live: $(VENV)/dev.stamp
	@$(PY) -m tests.live.set_up
	@tests/live/loopback.sh $(PY) -m pytest -s -m live tests/live

check: $(VENV)/dev.stamp
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(PY) -m collector.engines.table --check docs/engines.md
	@$(PY) -m collector.settings_page --check docs/settings.md
	@$(PY) -m analyzer.verdict.page --check docs/verdicts.md
	@$(PY) -m pytest -q tests/packaging/test_licences.py

# What a release is made of, for those who must know: CycloneDX, from the lock file.
sbom: $(VENV)/dev.stamp
	@mkdir -p dist
	@$(VENV)/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible --output-file dist/pdscope.cdx.json

# The documents as a site: `make site` writes site/.
site: $(VENV)/dev.stamp
	@$(VENV)/bin/mkdocs build --strict --quiet

# The pages that are made of tables in the code.
docs: $(VENV)/run.stamp
	@$(PY) -m collector.engines.table docs/engines.md
	@$(PY) -m collector.settings_page docs/settings.md
	@$(PY) -m analyzer.verdict.page docs/verdicts.md

lock: $(VENV)/dev.stamp
	@$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra build --extra kubernetes -o requirements.lock pyproject.toml
	@$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra build --extra kubernetes --extra dev --extra docs -o requirements-dev.lock pyproject.toml
