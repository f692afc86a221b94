# Looks after a PostgreSQL server for postgres_server.ts: postgres_server.sh DIRECTORY BINARIES PORT OPTIONS.
# It makes the server in DIRECTORY/data and does what the lines of standard input say, `start` or `stop`, each answered
# by a line `done` or `failed`. When standard input ends, as it does however the tests end, it stops the server and
# removes DIRECTORY.

export directory=$1 binaries=$2 port=$3 options=$4
trap '' HUP INT TERM PIPE # they are for the tests, whose end is the end of this
cd "$directory" || exit

# PostgreSQL does not run as root.
user=
if [ "$(id -u)" = 0 ]; then
  user=nobody
  id postgres >/dev/null 2>&1 && user=postgres
  chown -R "$user" "$directory"
fi
as_user() { # COMMAND
  if [ -z "$user" ]; then
    sh -c "$1"
  elif setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups true 2>/dev/null; then
    setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups sh -c "$1"
  else
    su -s /bin/sh "$user" -c "$1"
  fi
}

server=
start() {
  as_user 'exec "$binaries/postgres" -D data -p "$port" $options' >>log 2>&1 </dev/null &
  server=$!
  until grep -q '^ready' data/postmaster.pid 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || return
    sleep 0.02
  done
}
stop() { # SIGNAL
  [ -z "$server" ] || kill -s "$1" "$(head -n 1 data/postmaster.pid)"
  wait
  server=
}

keep() {
  as_user '"$binaries/initdb" -D data --username=admin --pwfile=password --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync' >>log 2>&1
  while read -r command; do
    case $command in
      start) start ;;
      stop) stop INT ;;
    esac && echo done || echo failed
  done 2>/dev/null # nobody may be there to be answered
  stop QUIT
  cd / && rm -rf "$directory"
}

# Deno kills its children when it ends by an error; a child of them sees the end of standard input and cleans up.
exec 3<&0
keep <&3 3<&- &
wait
