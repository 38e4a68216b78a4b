# Everything starts here: `make help`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help dev style check test mutants test-secure test-matrix docs demo demo-stop bench soak lab-up lab-down clean

PYTHON ?= python3
BIN := .venv/bin
LAB ?= dev
MINUTES ?= 60
JOBS ?= $(if $(MQ_TEST_LAB),1,2)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|' 2>/dev/null \
	  || grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

dev: .venv/.ready ## sets up .venv with the pinned dependencies (installs python3-venv when it is missing)

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; choose one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || $(PYTHON) -c 'import sys; from drills.lab.install import main; sys.exit(main(["python3-venv"]))'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "making .venv"; $(PYTHON) -m venv --clear .venv; }
	@echo "installing the dependencies into .venv"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

style: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: style ## format, lint, types and the tests that need no broker and not long (a minute or two)
	$(BIN)/pytest -q -n 4 --dist worksteal -m "not slow" tests/unit

test: style ## everything: unit tests, then the rest on real brokers, on two labs (JOBS=1: on one); installs what that needs
	$(BIN)/mq-drill lab install
	$(BIN)/pytest -n 4 --dist worksteal tests/unit
	$(BIN)/pytest $(if $(filter-out 1,$(JOBS)),-n $(JOBS) --dist loadgroup) --ignore=tests/unit

test-matrix: dev ## the exporter's broker tests on other versions, into docs/compatibility.md (an hour or more; root)
	$(BIN)/python -m tests.matrix

mutants: dev ## wrong applications and environments that the drills must object to, into docs/mutants.md (an hour and a quarter)
	$(BIN)/mq-drill lab install
	$(BIN)/python -m tests.mutants

test-secure: dev ## the tests of the exporter on a lab with TLS, logins and rights, as users with the least of them
	$(BIN)/mq-drill lab install
	MQ_TEST_PROFILE=secure $(BIN)/pytest tests/broker/exporter tests/broker/kafka tests/broker/rabbitmq tests/broker/secure

docs: dev ## writes the reference pages anew from the code
	$(BIN)/mq-exporter metrics-doc --write docs/metrics.md
	$(BIN)/mq-exporter metrics-doc --configuration --write docs/configuration.md
	$(BIN)/python -m tests.proof --write
	$(BIN)/python -m tests.known_faults --write
	$(BIN)/python -m tests.permissions --write
	$(BIN)/python -m tests.connection_page --write
	$(BIN)/python -m tests.matrix --write >/dev/null
	$(BIN)/python -m tests.mutants --write

demo: dev ## one command to live numbers: a lab, an exporter, Prometheus, a small workload; then a drill (DRILL=no: none)
	$(BIN)/python -m drills.demo $(if $(filter no,$(DRILL)),--no-drill)

demo-stop: dev ## ends all that `make demo` started
	$(BIN)/python -m drills.demo --stop

bench: dev ## how fast it is, beside what people use today: a table and build/bench.json (about twenty minutes)
	$(BIN)/python -m benchmarks.bench

soak: dev ## an hour (MINUTES=60) of restarts, comings and goings: build/soak/soak.html, a verdict, an exit code
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

lab-up: dev ## starts a lab (LAB=dev): Kafka, RabbitMQ, Prometheus, Alertmanager
	$(BIN)/mq-drill lab up $(LAB)

lab-down: dev ## ends it and removes all of it
	$(BIN)/mq-drill lab down $(LAB)

clean: ## removes what was built here; labs and downloads stay (make lab-down, ~/.cache/mqops)
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
