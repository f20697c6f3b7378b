.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help up install install-dev test test-rest test-all test-fast test-tf220 crash-quick crash documented cluster-test soak check docs audit sbom wheel release-notes chromium lock update rehearse docker clean

PORT ?= 8501
ARGS ?=
MINUTES ?= 120
LOCKED ?= worker
VERSION ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BIN := .venv/bin
# what touches TensorFlow
ENGINE := tests/unit/gan $(patsubst %,tests/integration/test_%.py,golden memory multi_worker replicas tiled_replicas train_command)
PYTEST := $(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal --durations 20
PIP := $(BIN)/python -m pip --disable-pip-version-check
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

# a name on PATH proves nothing: pyenv leaves shims behind for versions that it does not run
FITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.12 python3.11 python3.13 python3 python; do \
	if "$$p" -c '$(FITS)' >/dev/null 2>&1; then echo "$$p"; break; fi; done)

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: install ## install what is missing and open the dashboard (PORT=8501)
	@exec $(BIN)/ganboard up --port $(PORT)

install: .venv/run.stamp ## only install what running needs, into .venv

install-dev: .venv/dev.stamp ## install what tests and checks need as well

test: install-dev chromium ## what a change needs, the browser included (ARGS="-k name" goes to pytest)
	$(PYTEST) $(ARGS)

test-rest: install-dev chromium ## the tests that `make test` leaves out, since they take long
	GANBOARD_TESTS=rest $(PYTEST) $(ARGS)

test-all: install-dev chromium ## both at once: every test
	GANBOARD_TESTS=all $(PYTEST) $(ARGS)

test-fast: install-dev ## unit tests only
	$(BIN)/pytest tests/unit $(ARGS)

test-tf220: .venv-tf220/stamp ## every test of the engine on TensorFlow 2.20, the newest that a TPU has, in a .venv-tf220 of its own
	GANBOARD_TESTS=all .venv-tf220/bin/pytest -n auto --maxprocesses 2 --dist worksteal --durations 20 $(ENGINE) $(ARGS)

crash-quick: install-dev ## the crash suite as `make test` has it (GANBOARD_TESTS=all: all of it)
	$(PYTEST) tests/crash $(ARGS)

crash: install-dev ## the whole crash suite, 200 random kills, and the mutants that it must notice (hours)
	GANBOARD_TESTS=all GANBOARD_CRASH=full $(BIN)/pytest tests/crash --timeout 3600 $(ARGS)
	$(BIN)/python -m tests.crash.random_kills 200 1 '{"epochs": 120}'
	$(BIN)/python -m tests.crash.mutants

documented: install-dev ## every command of the documentation, the long ones too (half an hour)
	GANBOARD_TESTS=all GANBOARD_DOCUMENTED=all $(BIN)/pytest tests/integration/test_documented_commands.py $(ARGS)

cluster-test: install-dev ## several hosts as network namespaces, and a real SLURM over them (as root; Debian: iproute2 slurm-wlm munge)
	GANBOARD_TESTS=all GANBOARD_CRASH=full $(BIN)/pytest tests/cluster --timeout 3600 $(ARGS)

soak: install-dev ## random faults against a small fleet, then the universal checker (MINUTES=120)
	$(BIN)/python -m tests.crash.soak $(MINUTES)

check: install-dev ## formatting, lint, types, import contracts, compose file, workflows, citation, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/python -m docs.generator

docs: install-dev ## the documentation as build/site, every warning and broken link an error
	$(BIN)/python -m docs.generator

audit: install-dev ## known vulnerabilities of the pinned packages (needs the online database; tests/advisories.toml has the exceptions)
	$(BIN)/python -m tests.audit requirements/*.lock worker/rehearsal/compilers.lock

sbom: install-dev ## what a worker is made of, as build/sbom.cdx.json in CycloneDX (LOCKED=web for the dashboard)
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements requirements/$(LOCKED).lock --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file build/sbom.cdx.json

wheel: install-dev ## ganboard as a package, in dist/
	@rm -rf build/lib
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

release-notes: install-dev ## the changelog of VERSION as build/release-notes.md
	$(BIN)/python -m tests.release notes $(VERSION)

chromium: install-dev # finds or fetches a browser; only GANBOARD_REQUIRE_BROWSER makes its absence an error
	@$(BIN)/python -m tests.chromium

lock: install-dev ## resolve requirements/*.lock anew (ARGS=--upgrade takes the newest versions)
	$(LOCK) pyproject.toml --group build --extra cpu --extra postgres --extra mlflow --extra s3 --extra kubernetes --extra onnx --extra mcp --extra otel --extra docs --extra dev $(ARGS) -o requirements/dev.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres -o requirements/worker.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra gpu --extra postgres --extra s3 $(ARGS) -o requirements/gpu.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --extra postgres --extra s3 -o requirements/web.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra mlflow -o requirements/mlflow.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra s3 -o requirements/s3.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra gcs -o requirements/gcs.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra kubernetes -o requirements/kubernetes.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra onnx -o requirements/onnx.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra mcp -o requirements/mcp.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra cpu --extra postgres --extra otel -o requirements/otel.lock
	$(LOCK) -c requirements/dev.lock pyproject.toml --group build --extra docs -o requirements/docs.lock
	$(LOCK) -c requirements/dev.lock --group build -o requirements/build.lock
	$(LOCK) --group rehearse $(ARGS) -o worker/rehearsal/compilers.lock
	sed -n '/^tensor\(flow\|board\)/d; s/ \\$$//p' requirements/dev.lock | grep '^[a-z]' > .venv/all-but-tensorflow.txt
	$(LOCK) -c .venv/all-but-tensorflow.txt pyproject.toml --group build --group tf220 --extra dev -o requirements/tf220.lock

update: install-dev ## newest versions of all packages into requirements/*.lock, and what changed
	@cp requirements/dev.lock .venv/dev.lock.before
	$(MAKE) lock ARGS=--upgrade
	@$(BIN)/python -m tests.release pins .venv/dev.lock.before requirements/dev.lock

rehearse: install ## compile every model's step for TPUs and GPUs that are not here (hours; ARGS="--model sngan --on v5e-1,h100")
	$(BIN)/ganboard rehearse models $(ARGS)

docker: ## everything in containers, with PostgreSQL and Redis (PORT=8501)
	PORT=$(PORT) docker compose up --detach --wait

clean: ## remove .venv and all caches; runs and data in .ganboard stay
	rm -rf .venv .venv-tf220 build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache test-results

.venv/run.stamp: requirements/worker.lock pyproject.toml | $(BIN)/uv
	$(call installed,worker)
	@touch $@

.venv/dev.stamp: requirements/dev.lock pyproject.toml | $(BIN)/uv
	$(call installed,dev)
	@touch $@ .venv/run.stamp

.venv-tf220/stamp: requirements/tf220.lock pyproject.toml | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-tf220
	$(BIN)/uv pip install --quiet --compile-bytecode --python .venv-tf220/bin/python --require-hashes -r requirements/tf220.lock
	$(BIN)/uv pip install --quiet --python .venv-tf220/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

# uv takes a sixth of pip's time; where it cannot reach an index that pip is configured for, pip does the same. Like pip it compiles
# to bytecode here: where PYTHONDONTWRITEBYTECODE is set, nothing else would, and each start of a trainer would take 10 s longer.
define installed
	@echo "Installing the packages of requirements/$(1).lock into .venv: about 0.5 GB, half a minute on a fast network."
	@$(BIN)/uv pip install --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/$(1).lock \
		|| { echo "uv did not succeed; pip takes over, which needs a few minutes."; \
		$(PIP) install --require-hashes -r requirements/$(1).lock; }
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
endef

$(BIN)/uv: requirements/build.lock | $(BIN)/python
	@$(PIP) install --quiet --require-hashes -r requirements/build.lock
	@touch $@

$(BIN)/python:
	@if [ -n "$(PYTHON)" ]; then \
		$(PYTHON) -c '$(FITS)' 2>/dev/null || { echo "$(PYTHON) is not Python 3.11, 3.12 or 3.13 with its venv module: name another with make PYTHON=..." >&2; exit 1; }; \
		$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }; \
	elif command -v uv >/dev/null; then \
		echo "No Python 3.11 to 3.13 was found: uv fetches its own build of 3.12 (30 MB)."; \
		uv venv --seed --managed-python --python 3.12 .venv || { rm -rf .venv; \
			echo "uv could not fetch Python 3.12: install Python 3.12, or name one with make PYTHON=/path/to/python3.12." >&2; exit 1; }; \
	else \
		echo "ganboard needs Python 3.11, 3.12 or 3.13 with its venv module, and none was found:" \
			"install one (python.org or your package manager) or uv, which fetches it, or name it: make PYTHON=/path/to/python3.12." >&2; exit 1; \
	fi
