#!/usr/bin/env bash
# Runs a command where nothing but this machine's loopback can be reached, if the system allows it: some of the
# systems' sockets listen on every interface whatever they are told, and none needs the network.
set -euo pipefail

up='import fcntl, socket, struct; s = socket.socket(); fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x49))'

for how in "--net" "--net --map-root-user"; do
  # shellcheck disable=SC2086
  if unshare $how true 2>/dev/null; then
    exec unshare $how -- sh -c 'python=$1; shift; "$python" -c "$0" && exec "$python" "$@"' "$up" "$@"
  fi
done
echo "No network namespace can be made here: the live proof runs with the network in reach." >&2
exec "$@"
