#!/usr/bin/env bash
# The browser that the page's tests drive: Debian's chromium, by package name. Does nothing when it is there.
set -euo pipefail

browser=/usr/bin/chromium
if [ -x "$browser" ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "install-browser: $browser is missing and there is no apt-get here; install Chromium at that path" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install-browser: $browser is missing and only root may install it; run: sudo apt-get install chromium" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install --yes --quiet --no-install-recommends chromium; }
# The package lists may be absent or old on a fresh machine, hence one refresh and one more try.
if ! install >"$log" 2>&1 && ! { apt-get update --quiet && install; } >>"$log" 2>&1; then
    echo "install-browser: apt-get could not install chromium; its last words:" >&2
    tail -n 20 "$log" >&2
    exit 1
fi
if [ ! -x "$browser" ]; then
    echo "install-browser: the chromium package is installed but $browser is not there" >&2
    exit 1
fi
