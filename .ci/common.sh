# What .ci/run and .ci/extended share: virtual environments, Debian's packages, and private database servers.
# All of it is new each time, in a temporary directory ($work). The servers do not wait for the disk. Packages that are
# missing are installed, as root.

set -uo pipefail
exec </dev/null
unset "${!OS_@}" BAREMETAL_SCHED_CONFIG TEST_DATABASE_URLS PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTEST_ADDOPTS
# Hundreds of processes are started: none compiles again what another has compiled.
unset PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_PROGRESS_BAR=off PIP_QUIET=1 PIP_NO_COMPILE=1 PIP_ROOT_USER_ACTION=ignore
export PATH=$PATH:/usr/sbin:/sbin

# Not in /tmp: stevedore keeps no list of plug-ins for a Python there, and looks for them at each start.
work=$(mktemp -d "${TMPDIR:-/var/tmp}/baremetal-sched-ci.XXXXXX")
chmod 755 "$work"  # servers run as users of their own
editable=$work/editable
failed=$work/failed  # what failed, a line each: stages that run side by side add to it
touch "$failed"
servers=()  # commands that stop a private server

say() { printf '\n== %s\n' "$1"; }

die() {
    printf '\n%s\n' "$1" >&2
    exit 1
}

step() {  # what it is, command...: run it, say how long it took, and go on if it fails, so that one run tells all
    local began=$SECONDS result=passed
    say "$1"
    "${@:2}" || { result=FAILED; echo "$1" >>"$failed"; }
    printf '== %s after %d:%02d: %s\n' "$result" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)) "$1"
}

finish() {  # exit, with 1 and a list if something failed
    [ -s "$failed" ] || exit 0
    printf '\nFailed:\n'
    sed 's/^/  /' "$failed"
    exit 1
}

limited() {  # duration, command...: on a CI machine nobody is there to stop what hangs
    if [ -n "${CI:-}" ]; then timeout --kill-after=30s "$@"; else "${@:2}"; fi
}

readme_commands() {  # sets first and second: the README's two commands, letter by letter
    local commands
    mapfile -t commands < <(awk '/^```/ {inside = !inside; next} inside' README.md | head -n 2)
    first=${commands[0]} second=${commands[1]}
    [[ $first == *" && .venv/bin/baremetal-sched demo" && $second == *" && .venv/bin/pytest" ]] ||
        die "README.md does not begin with the two commands"
}

fresh_copy() {  # folder: make it, with the files of the project and nothing else; without a git repository, with all files
    mkdir "$1" || return
    { git ls-files -z --cached --others --exclude-standard 2>/dev/null || find . -type f -print0; } |
        tar --create --null --files-from=- --ignore-failed-read 2>/dev/null | tar --extract --directory="$1"
    [ -f "$1/README.md" ] || die "The project cannot be copied to $1"
}

require_python() {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "python3 must be Python 3.11 or newer"
    # Debian keeps what venv needs in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv ||
        die "python3 cannot make virtual environments, and python3-venv cannot be installed (that needs root and apt-get)"
}

install_packages() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    say "Installing Debian packages: $*"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        >"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log"; return 1; }
}

optional() {  # command, package: what single tests need; without it they are skipped, and say so
    command -v "$1" >/dev/null || install_packages "$2" || say "$1 is missing: its tests will be skipped"
}

mysqlclient() {  # the other driver of MariaDB, which is compiled when it is installed
    local log=$work/mysqlclient.log
    "$editable/bin/python" -m pip install -e '.[mysql]' >"$log" 2>&1 && return
    install_packages default-libmysqlclient-dev pkg-config gcc python3-dev &&
        "$editable/bin/python" -m pip install -e '.[mysql]' >"$log" 2>&1 && return
    say "mysqlclient cannot be installed: MariaDB is tested with PyMySQL only"
    return 1
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

as() {  # user, command...: become it, as that user (nobody if there is none) if this is root: servers refuse to be root
    local user=$1
    [ "$(id -u)" = 0 ] || exec "${@:2}"
    id "$user" >/dev/null 2>&1 || user=nobody
    exec setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups "${@:2}"
}

owned_by() {  # user, directory: give it to whom ``as`` will be
    if [ "$(id -u)" = 0 ]; then chown "$(id -u "$1" 2>/dev/null || id -u nobody)" "$2"; fi
}

postgresql() {  # database...: start a private server with these; sets postgresql_url, to which their names are added
    local programs data=$work/postgresql port database
    programs=$(postgresql_programs) || { install_packages postgresql && programs=$(postgresql_programs); } ||
        die "PostgreSQL's programs (initdb, pg_ctl) are not installed, and they cannot be installed here (that needs root
and apt-get)"
    port=$(free_port)
    mkdir "$data" && (cd "$work" && owned_by postgres "$data" &&
        (as postgres "$programs/initdb" -D "$data/db" -A trust -U postgres -E UTF8 --no-locale --no-sync) &&
        (as postgres "$programs/pg_ctl" -D "$data/db" -l "$data/log" -w start -o "-p $port -c fsync=off \
            -c full_page_writes=off -c listen_addresses=127.0.0.1 -c unix_socket_directories=")) \
        >"$work/postgresql.log" 2>&1 || { cat "$work/postgresql.log" "$data/log"; die "A private PostgreSQL cannot be started"; }
    servers+=("cd '$work' && (as postgres '$programs/pg_ctl' -D '$data/db' -m immediate stop)")
    postgresql_url=postgresql+psycopg://postgres@127.0.0.1:$port
    for database; do
        "$programs/createdb" -h 127.0.0.1 -p "$port" -U postgres "$database" || die "$database cannot be made in PostgreSQL"
    done
}

postgresql_programs() {  # the directory with initdb and pg_ctl, of the newest version
    local directory
    for directory in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) "$(dirname "$(command -v initdb)")"; do
        [ -x "$directory/initdb" ] && [ -x "$directory/pg_ctl" ] && echo "$directory" && return
    done
    return 1
}

mariadb_server() {  # database...: start a private server with these; sets mariadb_url, to which their names are added
    local data=$work/mariadb port database
    mariadb_programs || { install_packages mariadb-server && mariadb_programs; } ||
        die "MariaDB's programs (mariadb-install-db, mariadbd, mariadb) are not installed, and they cannot be installed here
(that needs root and apt-get)"
    port=$(free_port)
    mkdir "$data" && (cd "$work" && owned_by mysql "$data" &&
        as mysql mariadb-install-db --no-defaults --datadir="$data/db" --skip-test-db --skip-name-resolve \
            --auth-root-authentication-method=normal) >"$work/mariadb.log" 2>&1 ||
        { cat "$work/mariadb.log"; die "A private MariaDB cannot be made"; }
    (cd "$work" && as mysql mariadbd --no-defaults --datadir="$data/db" --port="$port" --bind-address=127.0.0.1 \
        --skip-name-resolve --socket="$data/socket" --pid-file="$data/pid" --innodb-flush-log-at-trx-commit=0 \
        --innodb-doublewrite=0 --innodb-flush-method=nosync --skip-log-bin) >>"$work/mariadb.log" 2>&1 &
    servers+=("kill $! && wait $!")
    mariadb_url=mariadb+pymysql://root@127.0.0.1:$port
    for _ in {1..120}; do mariadb_sql "$port" "SELECT 1" >/dev/null 2>&1 && break; sleep 0.5; done
    for database; do
        mariadb_sql "$port" "CREATE DATABASE $database CHARACTER SET utf8mb4" ||
            { tail -n 20 "$work/mariadb.log"; die "$database cannot be made in MariaDB"; }
    done
}

mariadb_sql() { mariadb --no-defaults --skip-ssl -h 127.0.0.1 -P "$1" -u root -e "$2"; }

mariadb_programs() { command -v mariadb-install-db >/dev/null && command -v mariadbd >/dev/null && command -v mariadb >/dev/null; }

clean_up() {
    local status=$? stop
    # shellcheck disable=SC2046 - a word for each process
    kill $(jobs -p) 2>/dev/null
    for stop in "${servers[@]}"; do eval "$stop" >/dev/null 2>&1; done
    rm -rf "$work"
    exit "$status"
}

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
