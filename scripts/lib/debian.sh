# Sourced by quickstart, test, install, package and vm: what they need of a Debian machine (12 or 13).
# shellcheck shell=bash

# What the engine calls, or links to.
readonly engine_packages=(ca-certificates runc conmon nftables iproute2 procps tini xz-utils bzip2 zstd etcd-server)

say() { printf '\n==> %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

require_root() {
  [ "$(id -u)" = 0 ] || die "containers need root: run this again with sudo"
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
  case " ${missing[*]} " in
    # The engine runs the program itself, for a swarm. Debian's own service, open to all users of the host, is not wanted.
    *' etcd-server '*) DPKG_MAINTSCRIPT_PACKAGE=etcd-server deb-systemd-helper disable etcd.service >/dev/null || true ;;
  esac
}

apt_install() {
  local lock=(-o DPkg::Lock::Timeout=300)
  # An outdated package list answers 404 for a package that was updated since: fetch the list once, then install.
  apt-get "${lock[@]}" -q update || true
  DEBIAN_FRONTEND=noninteractive apt-get "${lock[@]}" -q -y --no-install-recommends install "$@" </dev/null
}
