# Two commands do all the set-up: `make demo` runs the main job, `make test` passes the tests.
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check

.PHONY: demo test check lock

$(VENV)/run.stamp: requirements.lock pyproject.toml
	@test -x $(PY) || python3 -m venv $(VENV)
	@$(PIP) install --quiet --require-hashes -r requirements.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml
	@test -x $(PY) || python3 -m venv $(VENV)
	@$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/run.stamp

demo: $(VENV)/run.stamp
	@$(VENV)/bin/pdscope demo

test: $(VENV)/dev.stamp
	@tests/install-browser.sh
	@tests/install-prometheus.sh
	@$(PY) -m pytest

check: $(VENV)/dev.stamp
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

lock: $(VENV)/dev.stamp
	@$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --extra build -o requirements.lock pyproject.toml
	@$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --extra build --extra dev -o requirements-dev.lock pyproject.toml
