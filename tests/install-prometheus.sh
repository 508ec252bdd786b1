#!/usr/bin/env bash
# What the tests of alert rules run: Debian's prometheus (with promtool) and prometheus-alertmanager, by package name.
# Does nothing when they are there. Nothing is started: the tests start their own.
set -euo pipefail

wanted=(/usr/bin/prometheus /usr/bin/promtool /usr/bin/prometheus-alertmanager)
missing() { for file in "${wanted[@]}"; do [ -x "$file" ] || { echo "$file"; return; }; done; }
if [ -z "$(missing)" ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "install-prometheus: $(missing) is missing and there is no apt-get here; install Prometheus and Alertmanager" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install-prometheus: $(missing) is missing and only root may install it; run: sudo apt-get install prometheus prometheus-alertmanager" >&2
    exit 1
fi

log=$(mktemp)
policy=/usr/sbin/policy-rc.d
made=
cleanup() { rm -f "$log"; [ -z "$made" ] || rm -f "$policy"; }
trap cleanup EXIT
# Debian starts services when it installs them; these tests want the programs only.
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    made=1
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install --yes --quiet --no-install-recommends prometheus prometheus-alertmanager; }
if ! install >"$log" 2>&1 && ! { apt-get update --quiet && install; } >>"$log" 2>&1; then
    echo "install-prometheus: apt-get could not install them; its last words:" >&2
    tail -n 20 "$log" >&2
    exit 1
fi
if [ -n "$(missing)" ]; then
    echo "install-prometheus: the packages are installed but $(missing) is not there" >&2
    exit 1
fi
