# Two commands are all you need: `make render` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
ARGS ?=
VENV := .venv
PEER := .venv-peer
CLIENTS := tests/clients

.PHONY: render preview test e2e lint types bench bench-peers bench-plans golden docs clean

render: $(VENV)/runtime
	$(VENV)/bin/python generate_pipeline.py $(ARGS)

preview: $(VENV)/runtime
	$(VENV)/bin/python generate_pipeline.py preview $(ARGS)

test: $(VENV)/dev $(CLIENTS)/installed
	$(VENV)/bin/python -m pytest -n auto --dist worksteal $(ARGS)

# The commands of `gitlab` against a real project: docs/gitlab.md says which variables name it.
e2e: $(VENV)/dev
	E2E=1 $(VENV)/bin/python -m pytest -rs tests/gitlab/test_real.py $(ARGS)

lint: $(VENV)/dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/dev
	$(VENV)/bin/mypy

# How long things take, as ratios: benchmarks/README.md.
bench: $(VENV)/dev
	$(VENV)/bin/python -m benchmarks.run

# Whole processes at growing sizes, beside gcip and gitlab-ci-local; takes some ten minutes.
# A peer that cannot be installed is left out.
bench-peers: $(VENV)/dev $(CLIENTS)/installed
	@test -x $(PEER)/bin/python || $(PYTHON) -m venv $(PEER)
	@$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r requirements-bench.txt || echo "gcip cannot be installed" >&2
	GCIP_PYTHON=$(PEER)/bin/python $(VENV)/bin/python -m benchmarks.peers

# How good plans are, next to what no plan can beat; takes some minutes.
bench-plans: $(VENV)/dev
	$(VENV)/bin/python -m benchmarks.planning

# For those who change the generator: write what the tests expect anew, from what is shipped now.
# Read the difference before you commit it.
golden: $(VENV)/dev
	rm -rf tests/reference && mkdir -p tests/reference
	cp -R routing.toml .gitlab-ci.yml templates tests/reference/
	UPDATE=1 $(VENV)/bin/python -m pytest tests/test_golden.py tests/init
	$(MAKE) docs

# What is written from the code: the schema, the list of findings, the commands, the README's picture.
docs: $(VENV)/dev
	$(VENV)/bin/python generate_pipeline.py schema -o docs/routing.schema.json
	$(VENV)/bin/python -c "from gpu_pipeline.reports.findings import index; print(index())" > docs/findings/README.md.new
	mv docs/findings/README.md.new docs/findings/README.md
	$(VENV)/bin/python -c "from gpu_pipeline import cli; from gpu_pipeline.reports.commands import commands_page as page; print(page(cli.build_parser()), end='')" > docs/commands.md.new
	mv docs/commands.md.new docs/commands.md
	$(VENV)/bin/python docs/images/recording.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name it: make PYTHON=python3.12 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/runtime: requirements.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/dev: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# gitlab-ci-local runs the pipelines for real. Without it its tests are skipped, with the reason.
NPM_INSTALL := npm install --no-audit --no-fund --no-package-lock --loglevel=error \
  --fetch-retries=1 --fetch-timeout=30000

$(CLIENTS)/installed: $(CLIENTS)/package.json
	@if $(NPM_INSTALL) --prefix $(CLIENTS); then touch $@; \
	else echo "npm is absent or failed: the tests with gitlab-ci-local will be skipped" >&2; fi

clean:
	rm -rf $(VENV) $(PEER) $(CLIENTS)/node_modules $(CLIENTS)/installed child-pipeline.yml
