# Sourced after node.sh by the scripts that put Berth somewhere else than here: install and package.
# shellcheck shell=bash

# copy_tree FOLDER HOME: what runs Berth, into FOLDER, for use at HOME: dist/, the packages it imports, and a Node.js
# where that is the checkout's own. Nothing in it refers to the checkout.
copy_tree() {
  local folder=$1 home=$2 package
  mkdir -p "$folder"
  cp -r dist package.json package-lock.json .npmrc LICENSE README.md "$folder/"
  while read -r package; do
    # Optional ones of other platforms are not there.
    [ ! -d "$package" ] || cp -r --parents "$package" "$folder/"
  done < <(production_packages)
  # What better-sqlite3 was compiled from, and by: nine tenths of it.
  rm -rf "$folder"/node_modules/better-sqlite3/{deps,src,binding.gyp}
  find "$folder/node_modules/better-sqlite3/build" -type f ! -name better_sqlite3.node -delete
  find "$folder/node_modules/better-sqlite3/build" -type d -empty -delete
  if [ "$(readlink -f "$(command -v node)")" = "$(readlink -f .node/bin/node)" ]; then
    install -D -m 755 .node/bin/node "$folder/bin/node"
    install -m 644 .node/LICENSE "$folder/bin/LICENSE.node"
    sed -i "1s| node\$| $home/bin/node|" "$folder/dist/daemon/main.js"
  fi
}

# Folders of what runs, by the lock file: development packages are no part of an installation.
production_packages() {
  node -e 'for (const [folder, { dev, devOptional, link }] of Object.entries(require("./package-lock.json").packages))
    if (folder.startsWith("node_modules/") && !dev && !devOptional && !link) console.log(folder)'
}
