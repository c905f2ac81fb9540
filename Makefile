# Five words (build, test, lint, bench, gen) and the long checks behind them.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0

.PHONY: build test lint bench gen race learn learn-short

build: ## one static binary, bin/trinity
	CGO_ENABLED=0 go build -o bin/trinity ./cmd/trinity

test: ## what the README says
	go test ./...

lint: ## formatting aside, what must stay silent
	go vet ./...
	go run $(STATICCHECK) ./...

bench: ## rates of kernels, model and engine beside the bounds measured in the same run
	go test -run '^$$' -bench . -benchtime 1s ./internal/kernel ./model ./engine ./tokenizer

gen: ## the assembly from its generator
	go run ./internal/kernel/gen

race: ## everything with goroutines under the race detector
	go test -race -short ./tinker/... ./buffer ./monitor ./synchronizer ./engine/... ./journal ./workflow ./explorer ./trainer ./run ./internal/disk

learn-short: build ## the example for 20 steps: the reward must rise
	go run ./examples/tiny/prove -binary bin/trinity -seeds 1 -steps 20

learn: build ## seeds 1, 2, 3 in full, and the control with shuffled advantages; the log is docs/learn.log
	go run ./examples/tiny/prove -binary bin/trinity -seeds 1,2,3 -steps 50 -full | tee docs/learn.log
