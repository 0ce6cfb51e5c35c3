# The one list of commands. Every target sets up .venv itself.
PYTHON ?= python3
BIN := .venv/bin
EDITABLE = $(BIN)/python -m pip install -q --no-build-isolation -e
# more workers than cores, as tests wait for servers, browsers and processes a fifth of their time
CORES := -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 3 // 2)') --dist worksteal
# quick tests do not wait; each worker collects its own files
BUSY := -n logical --dist each
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# empty: Python may keep compiled modules, without which each command that a test starts takes four times as long
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test separate record test-changed setup check lint names size mypy imports coverage engines lowest spark tensors explore mutate \
    wording format docs bench oracle validity fuzz fuzz-api dist matrix extras types objects neighbours footprint changelog clean

demo: .venv/.demo      ## the main job on real input: search Python's own documentation
	$(BIN)/rankgate demo demo

test: .venv/.dev       ## all tests but those of make separate, on all cores; ORDER=7 shuffles them, ORDER=reversed
	$(ORDERED) $(BIN)/python -m pytest -q $(CORES) -m "not separate" $(ONLY)

ORDERED = $(if $(ORDER),RANKGATE_TESTS_ORDER=$(patsubst random:reversed,reversed,random:$(ORDER)))

separate: .venv/.dev   ## the manual and examples played and built, plug-ins, clusters, equal calls, tests of tests; some minutes
	$(BIN)/python -m pytest -q $(CORES) -m separate $$(grep -rlE --include='test_*.py' 'mark\.separate|mostly_sqlite' tests)

test-changed: .venv/.dev  ## the tests that a change since the revision SINCE (HEAD) can touch
	@tests=$$($(BIN)/python tests/changed.py $(SINCE)) && \
	    if [ -n "$$tests" ]; then $(BIN)/python -m pytest -q $(CORES) -m "not separate or pyspark or java or postgresql" $$tests; else echo "no test can see the change"; fi

setup: .venv/.run      ## leaves .venv/bin/rankgate

check: lint mypy imports .venv/.dev  ## format, lint, types, order of imports, and the cheapest tests
	RANKGATE_TESTS_SECONDS=$(SECONDS) RANKGATE_TESTS_FIRST="$$($(BIN)/python tests/changed.py)" \
	    $(BIN)/python -m pytest -q $(BUSY) -m "not slow and not large and not separate and not pyspark and not chromium and not manual"

# by tests/record.json: three quarters for the tests nearest to what changed, the others for all folders alike
SECONDS := 40

record: .venv/.dev     ## what tests cost and which modules they call, into tests/record.json; ONLY=tests/online
	RANKGATE_TESTS_RECORD=write $(BIN)/python -m pytest -q -m "not separate" $(ONLY)

CODE := src tests bench validity fuzz docs release .ci

lint: .venv/.dev
	$(BIN)/python .ci/bounds.py names size
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)

names: .venv/.dev      ## count names that say nothing, by area; LOWER=1 lowers the upper bounds
	$(BIN)/python .ci/bounds.py names $(if $(LOWER),--stricter)

size: .venv/.dev       ## count nodes of the syntax tree by area; LOWER=1 lowers the upper bounds
	$(BIN)/python .ci/bounds.py size $(if $(LOWER),--stricter)

mypy: .venv/.dev
	$(BIN)/mypy -n auto

imports: .venv/.dev
	$(BIN)/lint-imports --no-cache

coverage: .venv/.dev   ## make test, and how many statements of each area it executes; RAISE=1 raises the lower bounds
	rm -rf build/coverage
	RANKGATE_TESTS_COVERAGE=build/coverage $(MAKE) test
	$(BIN)/python .ci/bounds.py coverage $(if $(RAISE),--stricter)

lowest: build/lowest/.ready  ## quick tests with the lowest versions that pyproject.toml declares
	build/lowest/bin/python -m pytest -q $(CORES) -p no:cacheprovider -m "not slow and not large and not manual" $(LOWEST)

LOWEST := tests/data tests/scoring tests/stats tests/cli/test_output_names.py \
    tests/reports/test_plot_command.py tests/evaluation/test_pandas_alone.py \
    tests/engines/test_databases.py tests/engines/test_http.py tests/store tests/web \
    --ignore=tests/web/test_openapi.py

engines: build/engines/opensearch/.ready  ## OpenSearch, for the tests that ask a real node; needs Maven

build/engines/opensearch/.ready: tests/engines/opensearch/pom.xml
	rm -rf $(@D)
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(@D))
	touch $@

# builds in isolation: PySpark is published as source, and .venv may have no setuptools that can build it
spark: .venv/.dev      ## PySpark into .venv, for the tests that run Spark; they need Java 17
	$(BIN)/python -m pip install -q -e '.[spark]'

tensors:               ## tests of matrices with torch and JAX, in an environment of their own
	$(PYTHON) -m venv build/tensors
	build/tensors/bin/python -m pip install -q -e '.[dev]'
	PIP_CONSTRAINT= build/tensors/bin/python -m pip install -q torch==2.13.0 jax
	build/tensors/bin/python -m pytest -q tests/evaluation/test_matrices.py tests/data/test_top_scores.py

explore: .venv/.dev    ## tests of properties, on other inputs every time; an hour
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q $(CORES) -m "hypothesis or explore" tests

mutate: .venv/.dev     ## small faults in all areas: the share that tests notice; an hour; AREA=online SEED=7 FAULTS=20 FILE= TESTS=check
	$(BIN)/python tests/mutations.py --seed $(or $(SEED),13) --faults $(or $(FAULTS),60) --area '$(AREA)' \
	    --tests $(or $(TESTS),quick) --check-seconds $(SECONDS) $(if $(FILE),--file $(FILE))

wording: .venv/.dev    ## write messages of errors into tests/wording.json; print the texts of results
	-RANKGATE_WORDING=write $(BIN)/python -m pytest -q $(CORES) -m wording tests
	$(BIN)/python .ci/sentences.py

format: .venv/.dev     ## put code into the form that check wants
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

docs: .venv/.dev       ## the manual, into build/manual/index.html; nothing is fetched
	$(BIN)/python -m sphinx -q -a -j auto -W --keep-going -b html -d build/doctrees docs build/manual

bench: .venv/.run      ## side by side with the peers; an hour
	$(BIN)/python bench/run.py
	$(BIN)/python bench/conventions.py
	$(BIN)/python bench/reading.py
	$(BIN)/python bench/randomization.py
	$(BIN)/python bench/report.py
	$(BIN)/python bench/recommending.py
	$(BIN)/python bench/recommending_card.py
	$(BIN)/python bench/recommending_full.py
	$(BIN)/python bench/splitting.py
	$(BIN)/python bench/fusing.py
	$(BIN)/python bench/snapshots.py
	$(BIN)/python bench/recording.py
	$(BIN)/python bench/growth.py
	$(BIN)/python bench/pages.py

oracle: .venv/.run     ## random collections against fourteen other tools, each by itself
	$(BIN)/python oracle/run.py
	$(BIN)/python oracle/lists.py
	$(BIN)/python oracle/similarity.py

validity: .venv/.run   ## do verdicts hold? simulations whose code has changed; all: under an hour
	$(BIN)/python validity/run.py

validity-%: .venv/.run
	$(BIN)/python validity/run.py $*

fuzz: .venv/.dev       ## 100,000 damaged files through every reader, 10,000 changed inputs through every command; half an hour
	-PIP_CONSTRAINT= $(BIN)/python -m pip install -q atheris
	$(BIN)/python fuzz/run.py
	$(BIN)/python fuzz/commands.py

fuzz-api: .venv/.dev   ## the REST API against its description, 200 requests an operation; some minutes
	RANKGATE_API_EXAMPLES=200 $(BIN)/python -m pytest -q $(CORES) tests/web/test_openapi.py

dist: .venv/.dev       ## wheel and sdist, the same bytes every time, tried in an empty environment
	$(BIN)/python release/dist.py

matrix: dist           ## the wheel on every Python that is here, newest and lowest dependencies; ONLY=3.12
	$(BIN)/python release/matrix.py $(ONLY)

extras: .venv/.dev     ## the wheel alone and with each extra: every example of every command's help; ONLY=serve
	$(BIN)/python release/extras.py $(ONLY)

types: dist            ## do mypy and pyright see the types of the wheel?
	rm -rf build/types
	$(PYTHON) -m venv build/types
	PIP_CONSTRAINT= build/types/bin/python -m pip install -q mypy pyright dist/*.whl
	cd build/types && cp ../../tests/typing/public.py . && . bin/activate && \
	    mypy --strict --warn-unused-ignores public.py && pyright public.py

objects: build/objects/.ready  ## tests with objects of other libraries, in an environment of their own
	build/objects/bin/python -m pytest -q -p no:cacheprovider tests/data/test_objects_of_libraries.py

build/objects/.ready: tests/data/libraries.txt
	$(PYTHON) -m venv $(@D)
	PIP_CONSTRAINT= $(@D)/bin/python -m pip install -q --no-compile -r $< -e '.[serve]' pytest pytest-xdist hypothesis
	touch $@

neighbours:            ## programs that work with PyTerrier, BEIR, LightGBM, XGBoost, MLflow
	$(PYTHON) -m venv build/neighbours
	PIP_CONSTRAINT= build/neighbours/bin/python -m pip install -q -r examples/neighbours/requirements.txt . pytest pytest-xdist hypothesis
	PIP_CONSTRAINT= build/neighbours/bin/python -m pip install -q --no-deps beir==2.2.0  # without torch
	build/neighbours/bin/python -m pytest -q -p no:cacheprovider tests/docs/test_neighbours.py

footprint: dist        ## megabytes and start, next to other tools
	$(BIN)/python release/footprint.py

changelog: .venv/.dev  ## fragments of changelog.d into CHANGELOG.md, for VERSION=1.2.3
	$(BIN)/python -m towncrier build --yes --version $(VERSION)

clean:                 ## remove what the targets made
	rm -rf .venv build dist demo src/*.egg-info docs/reference docs/mirrored bench/work oracle/work fuzz/work \
	    examples/engine-migration/world examples/engine-migration/indexes examples/online/work \
	    examples/pipeline/work examples/pipeline/*.stages \
	    .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .schemathesis
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rankgate needs Python 3.11 or newer; say: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	touch $@

.venv/.build: .venv/.python  # what builds rankgate: pip would install it anew each time
	$(BIN)/python -m pip install -q --no-compile hatchling editables
	touch $@

.venv/.demo: .venv/.python pyproject.toml constraints.txt | .venv/.build
	$(EDITABLE) '.[serve]' --no-compile  # the demo imports a fifth of it
	touch $@

.venv/.run: .venv/.python pyproject.toml constraints.txt | .venv/.build
	$(EDITABLE) '.[serve,online]'
	touch .venv/.demo $@

.venv/.dev: .venv/.run
	$(EDITABLE) '.[dev]'
	-$(BIN)/python -m pip install -q --no-deps axe-playwright-python  # for its axe-core
	-$(BIN)/python -m compileall -qq -j 0 .venv/lib/python*/site-packages  # left out for the demo
	touch $@

build/lowest/.ready: pyproject.toml .ci/lowest.py
	rm -rf build/lowest
	$(PYTHON) -m venv build/lowest
	$(PYTHON) .ci/lowest.py > build/lowest/bounds.txt
	PIP_CONSTRAINT= build/lowest/bin/python -m pip install -q -r build/lowest/bounds.txt -e .
	touch $@
