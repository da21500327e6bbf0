# syntax=docker/dockerfile:1
# verdict in a container: built with the toolchain, run without it. `docker build -t verdict .`

# The toolchain is rust-version of Cargo.toml; both stages are the same Debian, so that the C library fits.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
# Cargo refuses a manifest whose benches are not there.
COPY benches benches
COPY crates crates
COPY src src
COPY templates templates
COPY tests/github tests/github
COPY tests/models tests/models
# What was compiled stays in caches of the builder, so that a changed source compiles little else.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked --all-features --bin verdict \
    && cp target/release/verdict /verdict

FROM debian:bookworm-slim
# git reads repositories.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 verdict \
    && useradd --uid 10001 --gid 10001 --no-log-init --shell /usr/sbin/nologin \
        --home-dir /var/lib/verdict --create-home --skel /dev/null verdict
COPY --from=build /verdict /usr/local/bin/verdict
# By number: Kubernetes checks that it is not root, and cannot look up a name.
USER 10001:10001
WORKDIR /var/lib/verdict
# Unless set otherwise the store and the embedded queue are /var/lib/verdict/verdict/verdict.db: mount a volume
# here to keep them. It and /tmp are all that is written to; the rest may be read-only.
ENV XDG_STATE_HOME=/var/lib/verdict
EXPOSE 8080
# For engines that know no probes of their own; Kubernetes ignores it. It asks /livez at whatever server.listen is.
# Inside the container the server is on the loopback address unless set otherwise. For probes from outside set VERDICT__SERVER__LISTEN=0.0.0.0:8080 and
# VERDICT__SERVER__TOKEN_FILE; they need no token themselves.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["verdict", "health"]
STOPSIGNAL SIGTERM
# Leave at least worker.grace (25 s) and a little more: `docker stop --time 35`.
ENTRYPOINT ["verdict"]
CMD ["serve"]
