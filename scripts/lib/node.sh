# Sourced after debian.sh by the scripts that need Node.js and the npm packages.
# shellcheck shell=bash

# Fetched where the machine's Node.js is missing or not one that package.json allows: an LTS release, an npm, and the
# SHA-512 of both packages as the npm registry publishes them.
readonly node_version=22.23.3 npm_version=11.19.1
readonly node_sha512_x64=a879f3e6d16c1e88ff58cfae4443558d638d8b9855be6c2b82af00e15efa2a9b95340738fa3c0af31e20c1ba1b13d06d1cd83f00a476e7cdde628acb17f73b9e
readonly node_sha512_arm64=9770c01d9adeca5a3ea7d4170edb0eae31b625726a5736179c01a621034e50d01170ca694ced9c99ec1540ffb7ead8c99d213e773a4c36d816f9cde8883bd7b4
readonly npm_sha512=cedb312b1b7f92421a02cfb68b4194e88f8346651dacd6acc5364a25ef5309d4a32b19616a1ff8aff865e7280c0fa5c0835a99f5cd93368991e2a80ec9da75d2

# Leaves a `node` and an `npm` on the PATH that fit: those of the machine, or else the checkout's own in .node/.
ensure_node() {
  node_fits && return 0
  local found
  found=$(node --version 2>/dev/null) || found='none, or none with npm'
  PATH=$PWD/.node/bin:$PATH
  [ "$(.node/bin/node --version 2>/dev/null)" = "v$node_version" ] && return 0
  say "Fetching Node.js $node_version into .node/ (20.19 to 23 is needed; this machine has $found)"
  fetch_node
  hash -r
  node_fits || die "Node.js $node_version does not run here: install 20.19 to 23 yourself"
}

# A Node.js that package.json allows, and npm beside it. From 24.19 on it ends with better-sqlite3 12 in an assertion when
# a statement is collected.
node_fits() {
  command -v npm >/dev/null && node -e \
    'const [a, b] = process.versions.node.split(".").map(Number); process.exit((a === 20 && b >= 19) || (a > 20 && a < 24) ? 0 : 1)' 2>/dev/null
}

# Made beside its place and then moved there: a run that was interrupted leaves nothing that looks finished.
fetch_node() {
  local arch sum
  case "$(uname -m)" in
    x86_64) arch=x64 sum=$node_sha512_x64 ;;
    aarch64) arch=arm64 sum=$node_sha512_arm64 ;;
    *) die "the npm registry has no Node.js for $(uname -m): install 20.19 to 23 yourself" ;;
  esac
  ensure_packages ca-certificates curl
  local draft=.node.new registry
  registry=$(npm_registry)
  rm -rf "$draft"
  mkdir -p "$draft/lib/node_modules/npm"
  # Headers are for native packages; those of its OpenSSL are nearly all of the files and used by none.
  fetch_npm_package "$registry" "node-linux-$arch" "$node_version" "$sum" "$draft/package.tgz"
  tar -xzf "$draft/package.tgz" -C "$draft" --strip-components=1 --exclude='*/include/node/openssl' \
    package/bin package/include package/LICENSE
  fetch_npm_package "$registry" npm "$npm_version" "$npm_sha512" "$draft/package.tgz"
  tar -xzf "$draft/package.tgz" -C "$draft/lib/node_modules/npm" --strip-components=1
  rm "$draft/package.tgz"
  local command
  for command in npm npx; do
    ln -s "../lib/node_modules/npm/bin/$command-cli.js" "$draft/bin/$command"
  done
  rm -rf .node
  mv "$draft" .node
}

# fetch_npm_package REGISTRY NAME VERSION SHA512 FILE: its tarball, every byte checked.
fetch_npm_package() {
  curl --silent --show-error --fail --location --retry 3 --output "$5" "$1/$2/-/$2-$3.tgz" ||
    die "cannot fetch $2@$3 from $1: install Node.js 20.19 to 23 yourself, or set npm_config_registry"
  echo "$4  $5" | sha512sum --check --status ||
    die "$2@$3 from $1 is not what was published under this name (its SHA-512 differs)"
}

# Where npm fetches packages from on this machine.
npm_registry() {
  local registry=${npm_config_registry:-}
  [ -n "$registry" ] || registry=$(npm config get registry 2>/dev/null) || registry=''
  # Where npm is missing, or does not start with so old a Node.js.
  [ -n "$registry" ] || registry=$(registry_of_debian) || registry=''
  [ -n "$registry" ] || die "where npm packages are fetched from is not known here: set npm_config_registry"
  echo "${registry%/}"
}

# The default of Debian's npm, read in its package: installed, that would bring 377 packages for one address.
registry_of_debian() {
  local folder
  folder=$(mktemp -d)
  (
    cd "$folder"
    apt-get -q update >/dev/null || true
    apt-get -q -o APT::Sandbox::User=root download npm >/dev/null
    dpkg-deb --fsys-tarfile npm_*.deb | tar -xO ./usr/share/nodejs/npm/lib/utils/config/definitions.js |
      sed -n "/^define('registry',/,/^})/s/^ *default: '\(https:[^']*\)',\$/\1/p"
  )
  rm -rf "$folder"
}

# install_npm_packages build|tests: what building takes, or that and what test/package.json adds for client tests.
# No package's own script runs: native_packages is what they would do.
install_npm_packages() {
  local wanted=$1 options=(--no-audit --no-fund --no-update-notifier --ignore-scripts)
  ! has_npm_packages "$wanted" || return 0
  say "Installing npm packages"
  case "$wanted" in
    build) npm ci --workspaces=false "${options[@]}" </dev/null ;;
    tests)
      if has_npm_packages build; then
        # Adds the rest by the lock file; `npm ci` would begin anew, and compile again what is compiled.
        npm install --no-save "${options[@]}" </dev/null
      else
        npm ci "${options[@]}" </dev/null
      fi
      cp package-lock.json node_modules/.berth-tests
      ;;
  esac
  cp package-lock.json node_modules/.berth-build
}

has_npm_packages() { cmp -s package-lock.json "node_modules/.berth-$1"; }

# native_packages PACKAGE...: sees to it that each loads. koffi comes with a binary for every machine; that of
# better-sqlite3 is fetched from where its authors publish it; what has none is compiled.
native_packages() {
  local package
  for package in "$@"; do
    loads "$package" || fetch_binary "$package" || compile "$package"
    loads "$package" || die "$package does not load"
  done
}

loads() { node -e "$(probe_of "$1")" 2>/dev/null; }

# Code that loads the native part of a package; better-sqlite3 does that only when a database is opened. One that was
# compiled without full-text search, as Berth did before it had notes, does not do.
probe_of() {
  case "$1" in
    better-sqlite3) printf 'new (require("better-sqlite3"))(":memory:").exec("CREATE VIRTUAL TABLE t USING fts5(x)")' ;;
    *) printf 'require("%s")' "$1" ;;
  esac
}

fetch_binary() {
  grep -q '"install": "prebuild-install' "node_modules/$1/package.json" || return 1
  (cd "node_modules/$1" && timeout 60 node ../prebuild-install/bin.js >/dev/null 2>&1) && loads "$1"
}

# SQLite is nearly all of it. With -O1, and without what Berth does not use of it, it takes a third of the time of the
# package's own settings, and a transaction of the daemon's as long as with them (48 µs).
compile() {
  ensure_packages g++ make python3
  say "Compiling $1"
  local feature without=''
  for feature in FTS3 FTS4 RTREE GEOPOLY; do
    without+=" -USQLITE_ENABLE_$feature"
  done
  CFLAGS="-O1$without" CXXFLAGS=-O1 JOBS=max npm_config_nodedir=$(node_headers) \
    npm rebuild --loglevel=error "$1" </dev/null
}

# The folder above include/node of the Node.js that runs, if it has it: else node-gyp downloads its headers.
node_headers() {
  node -p 'const home = path.resolve(process.execPath, "../..");
    const header = path.join(home, "include/node/node_version.h");
    const [major] = process.versions.node.split(".");
    fs.existsSync(header) && fs.readFileSync(header, "utf8").includes(`NODE_MAJOR_VERSION ${major}\n`) ? home : ""'
}

# build_berth PACKAGE...: dist/, and beside it the native packages: compiling SQLite is the longest part.
build_berth() {
  say "Building"
  native_packages "$@" &
  local natives=$! status=0
  npm run --silent build || status=$?
  wait "$natives" || status=$?
  [ "$status" = 0 ] || die "the build failed"
}
