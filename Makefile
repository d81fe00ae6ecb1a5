# Geostrata: every command in one place. `make` alone lists them.
#
#   PYTHON   the Python to build the environment with, 3.11 to 3.13    make run PYTHON=python3.12
#   SCALE    size of the demo town                                     make run SCALE=5
#   CASES    which parts of the benchmark, and SIZE in millions of points   make bench CASES=zones SIZE=0.5
#   ARGS     passed on to the program behind the target                make unit ARGS="-k bootstrap"

PYTHON ?= python3
SCALE ?=
CASES ?=
SIZE ?=
ARGS ?=

BIN := .venv/bin
STATE := $(if $(GEOSTRATA_STATE),$(GEOSTRATA_STATE),.geostrata)
# A Python that was named, here or in the environment, is used as it is; the default may give way to a fitting one.
BOOTSTRAP = $(PYTHON) scripts/bootstrap.py $(if $(filter file,$(origin PYTHON)),,--this-python)
DBT := $(BIN)/dbt
SQLFLUFF := $(BIN)/sqlfluff
SQL := $(wildcard models snapshots tests/generic tests/singular)

.DEFAULT_GOAL := help
# Steps follow each other, with `make -j` as well: they share one environment and one metastore.
.NOTPARALLEL:
.PHONY: help setup run test lint format unit integration lifecycle-test landing-test spatial-test test-formats adapter-test test-faults test-model \
        bench bench-small bench-peers bench-run bench-layout bench-landing bench-tests doctor docs lock clean clean-state clean-env

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## install the locked environment into .venv (nothing to do: milliseconds, no network)
	@$(BOOTSTRAP) --goal $(firstword $(MAKECMDGOALS) setup)

run: setup ## set up, make the demo data if there is none, build everything, show what came of it
	@$(BIN)/geostrata run $(if $(SCALE),--scale $(SCALE)) $(ARGS)

test: lint bench-peers ## everything that must hold, cheapest first
	@$(BIN)/python scripts/side_by_side.py lifecycle-test integration landing-test spatial-test unit bench-small

lint: setup ## ruff, mypy and sqlfluff: seconds, no Spark
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(SQLFLUFF) lint -q --disable-progress-bar --nocolor $(SQL)

format: setup ## let ruff and sqlfluff rewrite what they can
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .
	@$(SQLFLUFF) fix --disable-progress-bar --nocolor $(SQL)

unit: setup ## tests without Spark: seconds
	@$(BIN)/pytest -q tests/python/unit $(ARGS)

integration: setup ## tests that run dbt on the embedded Spark, and kill it twice: minutes
	@$(BIN)/pytest -q tests/python/integration $(ARGS)

lifecycle-test: setup ## tests of layout, properties, maintenance, repair and history on real tables, beside other writers: minutes
	@$(BIN)/pytest -q tests/python/lifecycle $(ARGS)

landing-test: setup ## tests that land files of every kind and in every order: minutes
	@$(BIN)/pytest -q tests/python/landing $(ARGS)

test-model: setup ## 2,000 random steps of files, rules, models, tables and kills against an oracle: hours
	@STEPS=$(or $(STEPS),2000) SPARK_SUBMIT_OPTS=-XX:TieredStopAtLevel=4 $(BIN)/pytest -q -s tests/python/landing_model $(ARGS)

spatial-test: setup ## tests that ask every spatial macro, and compare with brute force: minutes
	@$(BIN)/pytest -q tests/python/spatial $(ARGS)

test-formats: setup ## read the spatial files of other packages' test data, downloaded once, and hostile ones: minutes
	@$(BIN)/pytest -q tests/python/formats $(ARGS)
	@HOSTILE_FILES=1 $(BIN)/pytest -q tests/python/landing/test_hostile_landing.py

adapter-test: setup ## dbt's own conformance suite and ours against dbt-sedona: 25 minutes
	@$(BIN)/pytest -q tests/python/adapter $(ARGS)

test-faults: setup ## kill fifty runs, at random moments and between the commits of a model, and check what is left: 40 minutes
	@KILLS=$(or $(KILLS),50) $(BIN)/pytest -q -s tests/python/integration/test_killed_runs.py $(ARGS)

bench: bench-peers ## joins, windows, neighbours and overlays against DuckDB, SedonaDB, GeoPandas, PostGIS and plain Sedona
	@$(BIN)/python -m benchmarks.spatial $(if $(CASES),--cases $(CASES)) $(if $(SIZE),--sizes $(SIZE)) $(ARGS)

# In a folder of its own, so that the figures of a real run stay. Four engines are enough to tell who is wrong.
bench-small: bench-peers ## the same at a small size, for its answers only
	@$(BIN)/python -m benchmarks.spatial --sizes 0.01 --repeats 0 --folder target/bench-small \
		--engines geostrata duckdb sedonadb geopandas $(ARGS)

bench-peers: setup ## install what the benchmark compares with
	@cmp -s benchmarks/requirements.lock .venv/bench-peers.lock && $(BIN)/python -c 'import duckdb, geoarrow.pyarrow, matplotlib, sedonadb' 2>/dev/null || { \
		echo "Installing what the benchmark compares with"; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r benchmarks/requirements.lock \
			&& cp benchmarks/requirements.lock .venv/bench-peers.lock; }

bench-run: setup ## time `make run` stage by stage, fresh and repeated
	@$(BIN)/python benchmarks/run.py $(if $(SCALE),--scale $(SCALE)) $(ARGS)

bench-layout: setup ## bytes read for a hundred random windows, by the order of a table's rows
	@$(BIN)/python -m benchmarks.layout $(if $(SIZE),--size $(SIZE)) $(ARGS)

bench-tests: setup ## seconds of each test of shapes on a hundred thousand and a million rows
	@$(BIN)/python -m benchmarks.generic_tests $(ARGS)

bench-landing: setup ## rows a second and memory of landing by format, against GeoPandas and deltalake
	@$(BIN)/python benchmarks/landing.py $(ARGS)

doctor: ## check this machine: Python, Java, jars, disk, ports, metastore, memory
	@$(BOOTSTRAP) --doctor $(ARGS)

docs: setup ## generate the lineage docs as one static page
	@$(DBT) docs generate --static --profiles-dir profiles $(ARGS)

# No host may appear in the lock: no header, no index, and hashes instead of addresses.
lock: setup ## write requirements.lock anew from pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header --no-emit-package dbt-sedona \
		--extra dev $(ARGS) pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header \
		--constraint requirements.lock $(ARGS) benchmarks/requirements.in -o benchmarks/requirements.lock

clean: ## remove what tools leave behind (caches, dbt's target and logs); data stays
	@rm -rf target logs dbt_packages .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

clean-state: ## remove all data: landing, warehouse, metastore, logs
	@test -d "$(STATE)" || exit 0; state="$$(cd "$(STATE)" && pwd -P)"; \
	case "$$(pwd -P)/ $$HOME/" in "$${state%/}"/* | *" $${state%/}"/*) \
		echo "make: $(STATE) holds more than state; not removed" >&2; exit 1 ;; \
	esac; \
	rm -rf "$$state"

clean-env: ## remove .venv
	@rm -rf .venv
