# List the recipes.
default:
    @just --list

# A debug addon and the public entry.
build:
    npm run build:debug

# Everything that CI runs.
ready:
    .ci/run

# The public API's tests on Node, with a debug addon.
test: build
    node --import tsx --test __test__/*.test.ts

# Storms of processes, secrets through every entry and the crash simulator, again and again: what fails rarely.
storm rounds="5": build
    for round in $(seq {{rounds}}); do \
        cargo test -p agent-context-core --test crash --test kill --test random_kill --test locks && \
        node --import tsx --test __test__/*.storm.test.ts __test__/*.canary.test.ts __test__/*processes.test.ts \
        || exit 1; \
    done

# Side-by-side benchmarks; `just bench --quick` takes a minute.
bench *parameters:
    npm run bench -- {{parameters}}

# How well outputs are found, on a folder of labelled sets.
bench-retrieval *parameters:
    npm run bench:retrieval -- {{parameters}}

# How well and how fast secrets are found; with a folder of labelled cases.
bench-redaction *parameters:
    npm run bench:redaction -- {{parameters}}

# The parser's memory and time on random texts of repeated tokens, for each grammar (Linux).
fuzz-memory tries="20000" seed="1":
    AGENT_CONTEXT_FUZZ_TRIES={{tries}} AGENT_CONTEXT_FUZZ_SEED={{seed}} \
        cargo test --release -p code-map --test parser_memory -- --nocapture random

# The CPU time of redacting generated texts, for each byte; fails above 60 ms a MB.
fuzz-time texts="10000" seed="1":
    cd fuzz && cargo run --profile timing --example slowest_texts -- {{texts}} {{seed}}

# Licences, sources and duplicates of the crates, and advisories about them (needs cargo-deny, and the network).
deny:
    cargo deny --all-features check

# Rust and TypeScript, formatted.
format:
    npm run format
