# What the services of the tests have in common.

# Every service that `tests/run` and `up` start, with the variable that says it is there already.
# A new one is a script beside this file and a word here.
services=(
    postgres:VERDICT_TEST_POSTGRES
    pubsub:VERDICT_TEST_PUBSUB
    rabbitmq:VERDICT_TEST_AMQP
    firestore:VERDICT_TEST_FIRESTORE
)

# A service's script sources this file, defines
#   need         fails, saying what to install, when the service cannot be had
#   choose       writes the ports to use to $dir/ports
#   launch       becomes the server (exec), with its files in $dir
#   is_ready     whether it takes requests
#   exports      prints the variables that the tests read
#   farewell     the signal that ends the server, when it is not TERM (a variable)
# and calls `service "$@"`:
#   run DIR      serves until SIGTERM, or until standard input ends: so it goes with whoever holds
#                the other end of the pipe, however that one ends. DIR/ready appears (holding the
#                exports) once it takes requests. A second run in DIR has the same ports and data.
#   start DIR    runs in the background; comes back once it takes requests, and prints the exports
#   stop DIR     ends what `start DIR` began, and nothing else

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# A port on which nobody listens. Below 32768: the kernel gives those to no outgoing connection,
# so the port is still free after a restart.
free_port() {
    local port
    while port=$((15000 + (RANDOM << 1 ^ RANDOM) % 17000)); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# Whether GET on the path answers 200: `answers PORT PATH [HEADER]`.
answers() {
    local status
    {
        exec 9<>"/dev/tcp/127.0.0.1/$1" || return 1
        printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$2" "${3:+$3$'\r\n'}" >&9
        IFS= read -r -t 5 status <&9 || return 1
        exec 9>&-
    } 2>/dev/null
    [[ $status == "HTTP/1.1 200"* ]]
}

# Whether the process runs: one that has ended may still wait to be reaped.
runs() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null && [[ ${stat##*) } != [ZX]* ]]
}

# Kills it if it takes longer than two seconds over its own end: RabbitMQ has closed its connections
# and files by then, and lingers.
end_server() {
    kill -CONT "$server" 2>/dev/null || true
    kill -"${farewell:-TERM}" "$server" 2>/dev/null || true
    for _ in {1..40}; do
        runs "$server" || break
        sleep 0.05
    done
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}

# Another process may take a port between its choice and its use: then three attempts, other ports.
boot() {
    local attempt
    for attempt in 1 2 3; do
        [ -f "$dir/ports" ] || choose
        . "$dir/ports"
        (launch) </dev/null 3<&- >"$dir/server.log" 2>&1 &
        server=$!
        while runs "$server"; do
            if is_ready; then return; fi
            sleep 0.05
        done
        [ -z "$fresh" ] || rm -f "$dir/ports"
    done
    die "the server does not start, in three attempts; the last one said: $(tail -n 20 "$dir/server.log")"
}

run() {
    # Not local: the trap reads them when this function is left.
    fresh=yes server='' holder=''
    [ ! -f "$dir/ports" ] || fresh=
    rm -f "$dir/ready"
    trap 'exit 0' TERM INT HUP
    trap '[ -z "$server" ] || end_server; [ -z "$holder" ] || kill "$holder" 2>/dev/null || true' EXIT
    # Background jobs read nothing unless told so.
    exec 3<&0
    cat <&3 >/dev/null &
    holder=$!
    boot
    echo "$server" >"$dir/server.pid"
    exports >"$dir/ready.new"
    mv "$dir/ready.new" "$dir/ready"
    wait -n "$server" "$holder" || true
}

start() {
    if [ -f "$dir/pid" ] && runs "$(cat "$dir/pid")"; then cat "$dir/ready"; return; fi
    rm -f "$dir/hold" "$dir/ready"
    mkfifo "$dir/hold"
    # A session of its own: the Ctrl-C of a terminal is not for it. Open for both, the pipe never ends.
    setsid "$0" run "$dir" <>"$dir/hold" >"$dir/run.log" 2>&1 &
    echo $! >"$dir/pid"
    for _ in {1..1800}; do
        if [ -f "$dir/ready" ]; then cat "$dir/ready"; return; fi
        runs "$!" || die "$(cat "$dir/run.log")"
        sleep 0.05
    done
    stop
    die "not up within 90 s; it said: $(tail -n 20 "$dir/server.log")"
}

stop() {
    [ -f "$dir/pid" ] || return 0
    local pid
    pid=$(cat "$dir/pid")
    kill -TERM "$pid" 2>/dev/null || true
    for _ in {1..200}; do
        runs "$pid" || break
        sleep 0.05
    done
    # The leader of its group: nothing of the group stays.
    kill -KILL -- "-$pid" 2>/dev/null || true
    rm -f "$dir/pid" "$dir/ready" "$dir/hold"
}

service() {
    [ $# -ge 2 ] || die "usage: ${0##*/} run|start|stop DIR"
    local verb=$1
    mkdir -p "$2"
    dir=$(cd "$2" && pwd)
    case $verb in
        run | start) need; "$verb" ;;
        stop) stop ;;
        *) die "unknown verb: $verb" ;;
    esac
}
