# syntax=docker/dockerfile:1
# verdict in a container: built with the toolchain, run without it.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --all-features --bin verdict \
    && install -D target/release/verdict /out/verdict

FROM debian:bookworm-slim
# git reads repositories; curl asks the probe below.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/verdict --create-home verdict
COPY --from=build /out/verdict /usr/local/bin/verdict
USER 10001
WORKDIR /var/lib/verdict
# The store and the embedded queue: /var/lib/verdict/verdict/verdict.db. Mount a volume here to keep them.
ENV XDG_STATE_HOME=/var/lib/verdict
VOLUME /var/lib/verdict
EXPOSE 8080
# Inside the container the probes are on the loopback address. For probes from outside set
# VERDICT__SERVER__LISTEN=0.0.0.0:8080 and VERDICT__SERVER__TOKEN_FILE; they need no token themselves.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/livez"]
STOPSIGNAL SIGTERM
# Leave at least worker.grace (25 s) and a little more: `docker stop --time 30`.
ENTRYPOINT ["verdict"]
CMD ["serve"]
