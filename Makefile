# Everything a contributor runs. Needs Go, make, gcc (for the race detector) and
# standard tools. Bare make prints this list.

# PKG is what test, race, bench, fuzz and cover look at: make test PKG=./indexer/...
PKG ?= ./...
# MODULES is where they look: make test MODULES=conformance PKG=./golden
MODULES ?= . $(patsubst %/go.mod,%,$(wildcard */go.mod examples/*/*/go.mod))
# FUZZTIME is how long each fuzz target runs: a duration, or a count such as 1000x.
FUZZTIME ?= 10s
# QUICKSTART is what run runs: make run QUICKSTART=./examples/minimal
QUICKSTART ?= ./examples/quickstart

.PHONY: help run test check race fuzz bench cover
.DEFAULT_GOAL := help

help: ## print the targets (this)
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' Makefile
	@echo
	@awk '/^# [A-Z]+ is / { sub(/^# /, "  "); print }' Makefile

run: ## run the quickstart: an API server and an informer in one process
	go run $(QUICKSTART)

# each runs a command in every module, all of them although one failed.
each = @status=0; for module in $(MODULES); do (cd $$module && $(1)) || status=1; done; exit $$status

test: ## run all tests
	$(call each,go test $(PKG))

check: ## formatting, vet, staticcheck, go.mod, and the rules of the house
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	$(call each,go vet ./... && go tool staticcheck ./... && GOWORK=off go mod tidy -diff)
	go test ./internal/lint

race: ## run all tests under the race detector
	$(call each,CGO_ENABLED=1 go test -race $(PKG))

# go test fuzzes one target at a time and wants its exact name. The list comes
# from go test itself: names of targets, then the package that has them.
fuzz: ## run every fuzz target for FUZZTIME
	@status=0; for module in $(MODULES); do \
		cd "$(CURDIR)/$$module" && listed=$$(go test -list '^Fuzz' $(PKG)) || { echo "$$listed"; exit 1; }; \
		for found in $$(echo "$$listed" | awk '/^Fuzz/ { names[++n] = $$1 } /^ok/ { while (n) print $$2 ":" names[n--] }'); do \
			package=$${found%:*} target=$${found#*:}; \
			echo "fuzz $$package $$target for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$package" || status=1; \
		done; \
	done; exit $$status

bench: ## run all benchmarks with their allocations
	$(call each,go test -run '^$$' -bench . -benchmem $(PKG))

cover: ## print the coverage of each package and the total (details: coverage.out)
	go test -coverprofile=coverage.out $(PKG)
	@go tool cover -func=coverage.out | tail -n 1
