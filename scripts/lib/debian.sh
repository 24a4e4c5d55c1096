# Sourced by scripts/quickstart, scripts/test and scripts/install: what they need of a Debian 12 machine.
# shellcheck shell=bash

say() { printf '\n==> %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

require_root() {
  [ "$(id -u)" = 0 ] || die "containers need root: run this again with sudo"
}

# Node 20.19 or newer. Debian 12 has 18, so this one thing has to come from elsewhere.
require_node() {
  local found=none
  command -v node >/dev/null && found=$(node -p process.versions.node)
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' \
    2>/dev/null || die "Node.js 20.19 or newer is needed (found: $found). Debian 12 ships 18; get a newer one from
       https://nodejs.org/en/download or https://github.com/nodesource/distributions"
  command -v npm >/dev/null || die "npm is needed beside node"
}

# ensure_packages PACKAGE...: installs those that are missing, and keeps every service they bring from starting.
ensure_packages() {
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "Installing from Debian: ${missing[*]}"
  command -v apt-get >/dev/null || die "these have to be installed first: ${missing[*]}"
  local policy=/usr/sbin/policy-rc.d ours=''
  if [ ! -e "$policy" ]; then
    # invoke-rc.d asks this file before it starts a freshly installed service; 101 = no.
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    ours=1
  fi
  local status=0
  apt_install "${missing[@]}" || status=$?
  [ -z "$ours" ] || rm -f "$policy"
  [ "$status" = 0 ] || die "apt-get could not install: ${missing[*]}"
}

apt_install() {
  local lock=(-o DPkg::Lock::Timeout=300)
  # An outdated package list answers 404 for a package that was updated since: fetch the list once, then install.
  apt-get "${lock[@]}" -q update || true
  DEBIAN_FRONTEND=noninteractive apt-get "${lock[@]}" -q -y --no-install-recommends install "$@" </dev/null
}

# The packages of package-lock.json, native ones built against the headers that are on the machine.
install_npm_packages() {
  local stamp=node_modules/.berth-lock
  if [ -e "$stamp" ] && cmp -s package-lock.json "$stamp"; then
    return 0
  fi
  say "Installing npm packages"
  if [ -e /usr/include/node/node_version.h ] && headers_fit; then
    # Without it node-gyp downloads the headers of this Node.js.
    export npm_config_nodedir=/usr
  fi
  # npm 11 runs install scripts only of packages named in allowScripts of package.json; older ones run all.
  npm ci --no-audit --no-fund </dev/null
  build_native_packages
  cp package-lock.json "$stamp"
}

headers_fit() {
  [ "$(sed -n 's/^#define NODE_MAJOR_VERSION //p' /usr/include/node/node_version.h)" = \
    "$(node -p 'process.versions.node.split(".")[0]')" ]
}

# An npm that blocked an install script, or a prebuilt binary that could not be fetched: build it now.
build_native_packages() {
  local package
  for package in better-sqlite3 node-pty koffi; do
    node -e "$(probe_of "$package")" 2>/dev/null && continue
    say "Building $package"
    npm rebuild "$package" </dev/null
    node -e "$(probe_of "$package")" || die "$package does not load"
  done
}

# Code that loads the native part of a package; better-sqlite3 does that only when a database is opened.
probe_of() {
  case "$1" in
    better-sqlite3) printf 'new (require("better-sqlite3"))(":memory:")' ;;
    *) printf 'require("%s")' "$1" ;;
  esac
}
