# Five words (build, test, lint, bench, gen) and the long checks behind them.
SHELL = /bin/bash
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## this list
	@sed -nE 's/^([a-z][a-z0-9-]*):[^#]*## (.*)/\1\t\2/p' Makefile | sort | awk -F'\t' '{printf "%-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## one static binary, bin/trinity
	CGO_ENABLED=0 go build -o bin/trinity ./cmd/trinity

.PHONY: test
test: ## what the README says
	go test ./...

.PHONY: lint
lint: ## formatting aside, what must stay silent
	go vet ./...
	go run $(STATICCHECK) ./...

.PHONY: bench
bench: ## rates of kernels, model and engine beside the bounds measured in the same run
	go test -run '^$$' -bench . -benchtime 1s ./engine/internal/kernel ./engine/internal/model ./engine ./hf/tokenizer

.PHONY: bench-engine
bench-engine: ## training, decoding and prefill of real shapes beside the bounds measured in the same run, many adapters, groups; the log is kept
	go test ./engine/internal/model -run '^$$' -bench 'Real' -real -benchtime 5x -timeout 60m | tee docs/results/bench-engine.log; exit $${PIPESTATUS[0]}
	go test ./engine -run '^$$' -bench 'TrainShared|Group' -benchtime 9x | tee -a docs/results/bench-engine.log; exit $${PIPESTATUS[0]}

.PHONY: bench-vectors
bench-vectors: ## the same on AVX-512 alone, beside the bound of vectors; the log is kept
	go test ./engine/internal/model -run '^$$' -bench 'Real/./(train512|decode64|prefill512)' -real -real.path avx512 -benchtime 5x -timeout 60m | tee docs/results/bench-vectors.log; exit $${PIPESTATUS[0]}

.PHONY: peers
peers: ## the engine beside PyTorch and others on the same work: docs/peers.md and its log (needs Python and pip, or PYTHON=python that has the packages; ROWS=…, TORCH="torch --index-url URL" for a small build)
	go build -o bin/peers/peers ./bench/peers
	[ -n "$(PYTHON)" ] || TORCH="$(TORCH)" bench/peers/venvs.sh bin/peers
	bin/peers/peers -rows "$(or $(ROWS),common)" -python "$(PYTHON)" -out docs/peers.md 2>&1 | tee docs/results/peers.log; exit $${PIPESTATUS[0]}

.PHONY: graders
graders: ## what upstream's own graders say of four thousand mixed answers, and ours beside them (needs Python and pip); the log is kept
	python3 -m venv bin/graders
	bin/graders/bin/pip install -q -r rl/reward/testdata/graders.txt
	bin/graders/bin/pip install -q --no-deps trinity-rft==0.5.2 verl==0.7.1
	mkdir -p docs/results
	set -o pipefail; bin/graders/bin/python rl/reward/testdata/graders.py rl/reward/testdata/graders.jsonl rl/reward/testdata/detex.jsonl 2>/dev/null | grep . | tee docs/results/graders.log
	go test ./rl/reward -run 'TestGraders$$|TestDetex$$' -count 1 -v | tee -a docs/results/graders.log; exit $${PIPESTATUS[0]}

.PHONY: gen
gen: ## the assembly from its generator
	go run ./engine/internal/kernel/gen

.PHONY: race
race: ## everything with goroutines under the race detector
	go test -race -short -timeout 20m ./tinker/... ./loop/buffer ./monitor ./loop/synchronizer ./engine/... ./engine/journal ./rl/workflow ./loop/explorer ./loop/trainer ./loop/gem ./run ./internal/disk ./internal/wal ./internal/web ./hf/hub ./rl/dataset

FUZZTIME ?= 10m
.PHONY: fuzz
fuzz: ## every fuzz target in turn, FUZZTIME each (10m); targets are found in the sources, and FUZZ=Name picks some
	.ci/fuzz $(FUZZTIME) $(FUZZ)

.PHONY: learn-short
learn-short: ## the example for 20 steps: the reward must rise
	go test ./run -run 'TestLearn$$' -count 1 -v

.PHONY: learn
learn: ## seeds 1, 2, 3 in full, the base by itself, and the control with shuffled advantages; the log is kept
	go test ./run -run 'TestLearn$$' -count 1 -v -timeout 90m -learn.full | tee docs/results/learn.log

.PHONY: learn-gem
learn-gem: ## the shipped models learn five games, seeds 1, 2, 3, with controls and other methods; killed, it goes on (.cache/learn-gem); log and curves are kept in docs
	go test ./run -run 'TestGemLearns$$' -count 1 -v -timeout 3h -gem.full -gem.dir $(CURDIR)/.cache/learn-gem | tee docs/results/gem-learn.log

.PHONY: algorithms
algorithms: ## the example trained with every algorithm, seed 1: docs/results/algorithms.log and the table in docs/algorithms.md
	go test ./run -run 'TestAlgorithmTable$$' -count 1 -v -timeout 3h -algorithms.full

.PHONY: postgres
postgres: ## the SQL buffer, and a run in two processes, on a real Postgres server of Debian's packages
	loop/buffer/testdata/postgres.sh
	loop/buffer/testdata/postgres.sh ./run 'TestPostgres$$'

.PHONY: seeds
seeds: build ## the configurations of upstream's guides as they stand, on the small Llama; log and picture are kept
	rm -rf bin/seeds
	go run ./examples/tiny/gen data -rows 7473 -out bin/seeds/gsm8k
	go test ./run -run 'TestSeeds$$' -count 1 -v -timeout 180m -seeds.rows $(CURDIR)/bin/seeds/gsm8k/train.jsonl -seeds.dir $(CURDIR)/bin/seeds | tee docs/results/seeds.log; exit $${PIPESTATUS[0]}
	bin/trinity plot $(addprefix bin/seeds/,tinker/Trinity-RFT-gsm8k/alignment-tinker/tinker-llama3.2-3B-off1 verl/Trinity-RFT-gsm8k/alignment-tinker/verl-llama3.2-3B-lora-off1) -o docs/seeds.svg

UPSTREAM ?= https://github.com/modelscope/Trinity-RFT
.PHONY: upstream-examples
upstream-examples: ## validate and run on each of the examples of Trinity-RFT 0.5.2, fetched by git (or EXAMPLES=their folder); the log is kept
	[ -n "$(EXAMPLES)" ] || [ -d bin/upstream/examples ] || (git init -q bin/upstream && cd bin/upstream && git fetch -q --depth 1 $(UPSTREAM) eedef4b5a1f9ce205b12c6fdc64b9467fce98013 && git archive FETCH_HEAD examples | tar x)
	mkdir -p docs/results
	go test ./run -run 'TestUpstreamExamples$$' -count 1 -v -timeout 30m -upstream.examples $(abspath $(or $(EXAMPLES),bin/upstream/examples)) | tee docs/results/upstream-examples.log; exit $${PIPESTATUS[0]}

.PHONY: llama
llama: build ## the small Llama made again from random weights
	rm -rf bin/llama
	go run ./examples/tiny/gen llama-pretrain
	bin/trinity run --config examples/llama/pretrain.yaml checkpoint_root_dir=bin/llama
	go run ./examples/tiny/gen llama-gain -from bin/llama/trinity-llama/pretrain/global_step_2400/actor/huggingface -out bin/llama/model

.PHONY: hub-python
hub-python: ## the Hugging Face cache, read and written by Python's huggingface_hub and by trinity in turn (needs Python and pip)
	hf/hub/testdata/python.sh

.PHONY: tokenizer-python
tokenizer-python: ## ids of a large mixed corpus and of fuzzed texts beside Hugging Face tokenizers, load time and rate (needs Python and pip)
	hf/tokenizer/testdata/python.sh

.PHONY: templates-python
templates-python: ## every chat template below DIR beside Python's transformers; the log is kept (needs Python and pip)
	hf/chat/testdata/templates.sh $(DIR)

.PHONY: million-rows
million-rows: ## a million rows of each format open within a second
	go test ./rl/dataset -run 'TestMillionRows$$' -count 1 -v -dataset.million

.PHONY: peft
peft: ## adapters and merged models, loaded into Python's peft and transformers (needs Python and pip)
	engine/internal/model/testdata/peft/peft.sh

.PHONY: sdk
sdk: build ## the unmodified Python SDK, newest and 0.25, against trinity serve; bin/sdk.md is the table (needs Python and pip)
	python3 tinker/server/testdata/sdk/run.py --trinity bin/trinity --work bin/sdk --out bin/sdk.md

.PHONY: sdk-torch
sdk-torch: build ## the same with torch, for forward_backward_custom; docs/sdk.md is the table
	python3 tinker/server/testdata/sdk/run.py --trinity bin/trinity --work bin/sdk --out docs/sdk.md --torch

.PHONY: crash-server
crash-server: ## the server stopped at every operation on the disk, with and without loss of power
	go test ./tinker/server -run TestEveryCrash -count 1 -v -server.full -timeout 30m

.PHONY: kill-server
kill-server: ## trinity serve killed a hundred times under mixed load, and as many failures of the power; the log is kept
	(go test ./cmd/trinity -run TestServeKilled -count 1 -v -serve.kills 100 -timeout 90m && go test ./tinker/server -run TestMixedLoadOverCrashes -count 1 -v -server.crashes 100 -timeout 90m) | tee docs/results/kill-server.log; exit $${PIPESTATUS[0]}

.PHONY: idle
idle: ## what 0, 1,000 and 10,000 idle training runs cost a server: start, memory, first request; the log is kept
	go test ./cmd/trinity -run 'TestIdleRuns$$' -count 1 -v -serve.idle 0,1000,10000 -timeout 30m | tee docs/results/idle.log; exit $${PIPESTATUS[0]}

.PHONY: mutations
mutations: ## 3,000 damaged data folders: each is refused by name or answers as before; the log is kept
	go test ./tinker/server -run 'TestMutations$$' -count 1 -v -server.mutations 3000 -timeout 60m | tee docs/results/mutations.log; exit $${PIPESTATUS[0]}
	go test ./internal/wal ./engine -run 'TestMutations$$|TestDamagedCheckpoints$$' -count 1 -v | tee -a docs/results/mutations.log; exit $${PIPESTATUS[0]}

.PHONY: bench-server
bench-server: build ## the server under load: round trips beside their bound, 24 runs, 256 samples, 2,048 + 2,048 requests outstanding; the log is kept
	bin/trinity bench --strict --data bin | tee docs/results/bench-server.log; exit $${PIPESTATUS[0]}

.PHONY: gem-python
gem-python: ## the games beside GEM itself: fresh episodes replayed, time per step and reset (needs Python and pip)
	rl/env/game/testdata/python.sh

.PHONY: monitors-python
monitors-python: ## a run's records read back by wandb, a real MLflow server and TensorBoard (needs Python and pip)
	monitor/testdata/python.sh

.PHONY: seed-gem
seed-gem: build ## GEM's trainer over Tinker, unmodified, with the real gem-llm, against trinity serve; the log is kept (needs Python and pip)
	python3 -B tinker/server/testdata/recipes/run.py gem --trinity bin/trinity --work bin/recipes --out docs/results/seed-gem.log

.PHONY: cookbook
cookbook: build ## recipes of tinker-cookbook, unmodified, against trinity serve; the log is kept (needs Python and pip)
	python3 -B tinker/server/testdata/recipes/run.py cookbook --trinity bin/trinity --work bin/recipes --out docs/results/cookbook.log

.PHONY: foreign
foreign: build ## trinity run on SkyRL's JAX server and TuFT's CPU test server, and trinity serve, with kill -9 of either side; the log is kept (needs pip and Python 3.12 to 3.14, or PYTHON=python; 7 GB)
	python3 -B tinker/client/testdata/foreign/run.py --trinity bin/trinity --model examples/tiny/model --work bin/foreign --python "$(PYTHON)" --record tinker/client/testdata/foreign/answers.json --out docs/results/foreign.log

.PHONY: bench-loop
bench-loop: ## the loops over a server that is some way off, beside tinker-cookbook's if make cookbook was run before; the log is kept
	go test ./cmd/trinity -run 'TestLoop$$' -count 1 -v -loop -loop.python="$$(ls $(CURDIR)/bin/recipes/venv/bin/python 2>/dev/null)" -timeout 60m | tee docs/results/bench-loop.log

.PHONY: arm64
arm64: ## on an emulated arm64: the kernels, and the bits of models and engine that amd64 has; the log is kept (needs Debian's qemu-user-static)
	@command -v qemu-aarch64-static >/dev/null || { echo "qemu-aarch64-static is missing: apt-get install qemu-user-static"; exit 1; }
	.ci/emulated arm64 | tee docs/results/arm64.log; exit $${PIPESTATUS[0]}

.PHONY: avx2
avx2: ## the same on an emulated amd64 without AVX-512 (needs Debian's qemu-user-static)
	@command -v qemu-x86_64-static >/dev/null || { echo "qemu-x86_64-static is missing: apt-get install qemu-user-static"; exit 1; }
	.ci/emulated amd64

.PHONY: kills
kills: ## a job, and the journal, killed at every operation on the disk, with and without a power loss
	go test ./engine/journal -run 'TestEveryKill$$' -kills.full -count 1 -timeout 30m
	go test ./run -run 'TestSurvivesEveryKill$$' -kills.full -count 1 -timeout 30m

.PHONY: extend
extend: ## jobs of every style, offset, interval, stage and mode stopped, planned longer and killed: a table; the log is kept
	go test ./run -run 'TestExtend|TestResumeSays' -extend.full -count 1 -v -timeout 60m | sed -nE 's/^ *extendtable_test.go:[0-9]+: //p; /^ *--- FAIL|^--- |^(ok|FAIL|panic)|_test.go:/{/extendtable/!p}' | tee docs/results/extend.log; exit $${PIPESTATUS[0]}

.PHONY: release
release: ## static binaries for six platforms with checksums and SBOMs in bin/release, built twice to the same bytes (RELEASE_TARGETS picks some)
	.ci/release

.PHONY: release-check
release-check: ## what make release wrote trains the example, alone in a chroot and on an emulated arm64; go install works (needs root and Debian's qemu-user-static); the log is kept
	.ci/release-check 2>&1 | tee docs/results/release.log; exit $${PIPESTATUS[0]}

.PHONY: bits
bits: build ## five jobs on the local engine leave the metrics and adapters that docs/results/bits.log has hashes of (three minutes; needs Python)
	.ci/bits --check docs/results/bits.log
