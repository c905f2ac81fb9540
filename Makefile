# What a contributor needs. Experiments and long comparisons are programs below bench: make bench lists them.
SHELL = /bin/bash
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build test cover lint race gen fuzz bench sdk clients release nightly
help: ## list these commands
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/\1\t\2/p' Makefile | awk -F'\t' '{printf "%-8s %s\n", $$1, $$2}'

build: ## build bin/trinity, one static binary
	CGO_ENABLED=0 go build -o bin/trinity ./cmd/trinity

test: ## run all tests; KERNELS=avx2 (or portable, …) uses those kernels alone
	go test -timeout 30m $(if $(KERNELS),-ldflags '-X github.com/seed-d9ad8ee0/trinity/engine/internal/kernel.only=$(KERNELS)') ./...

# The packages with files for one system or processor; make release builds the rest for all of them.
FOREIGN = ./engine/internal/kernel/... ./hf/safetensors ./internal/disk/... ./internal/machine ./internal/process ./internal/sandbox

cover: ## run all tests and print the share of statements that each room's own tests reach
	@mkdir -p bin
	go test -timeout 30m -coverprofile bin/cover.out $(or $(PACKAGES),./...) | grep -v '^ok\|coverage: 0.0%'; [ $${PIPESTATUS[0]} = 0 ]
	@awk -F'[/ ]' '/^mode:/ {next} {n[$$4] += $$(NF-1)} $$NF {hit[$$4] += $$(NF-1)} \
		END {for (r in n) printf "%-9s %5.1f%% of %d\n", r, 100*hit[r]/n[r], n[r]}' bin/cover.out | sort

lint: ## run go vet, staticcheck, and the tests of rooms, floors, links and line widths
	go vet ./...
	go run $(STATICCHECK) ./...
	for os in linux darwin windows; do GOOS=$$os GOARCH=arm64 go vet $(FOREIGN) || exit 1; done
	go run -exec 'env GOARCH=arm64' $(STATICCHECK) -checks inherit,-U1000 ./engine/internal/kernel/... # what amd64 alone uses is not unused
	go test .

# The packages that start goroutines, or whose tests do. Others would only run again, ten times as slowly.
RACE ?= ./tinker ./tinker/client ./tinker/load ./tinker/endpoint ./tinker/server/... ./loop/... ./monitor ./monitor/rollout ./studio ./run \
	./engine ./engine/dispatch ./engine/fleet/... ./engine/journal ./engine/worker ./engine/internal/fair ./engine/internal/kernel \
	./engine/internal/model ./engine/internal/optim ./engine/internal/queue ./engine/internal/sampler ./engine/internal/weights \
	./hf/hub ./hf/modelname ./internal/disk ./internal/process ./internal/wal ./internal/web ./internal/zmtp \
	./rl/agent ./rl/dataset ./rl/env/replay ./rl/env/selfdriven ./rl/env/openenv ./rl/plugin ./rl/python ./rl/verifiers ./rl/workflow
race: ## run the tests of the packages with goroutines under the race detector (needs a C compiler; RACE=./package selects)
	CGO_ENABLED=1 go test -race -short -vet=off -timeout 40m $(RACE)

gen: ## generate the assembly, and with PYTHON=… (which has tokenizers) the classes of characters
	go run ./engine/internal/kernel/gen
	$(if $(PYTHON),go run ./internal/charclass/gen $(PYTHON))

fuzz: ## run every fuzz target in turn, FUZZTIME each (10m); FUZZ=Name selects some
	.ci/fuzz $(or $(FUZZTIME),10m) $(FUZZ)

bench: ## list the programs below bench, or run one and keep its log: NAME=… ARGS=…
	@go run ./bench $(NAME) $(ARGS)

sdk: ## run the unmodified Python SDK, newest and 0.25, against trinity serve (needs Python and pip)
	bench/sdk/run.sh

clients: ## run unmodified clients of OpenAI's, Anthropic's and Ollama's interfaces against trinity serve (needs Python and pip or uv)
	bench/clients/run.sh

release: ## build static binaries for six platforms in bin/release, twice, with equal bits; archives, wheels, install scripts of them
	.ci/release

nightly: ## run everything longer: fuzzing, kills at every operation, learning, clients
	.ci/nightly
