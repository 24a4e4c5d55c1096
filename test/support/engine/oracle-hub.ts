import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Part of the oracle: blobs of the hub's registry, in its files or among the engine's layers, against its records.
 * `column` answers the column `value` of a query of the daemon's database.
 */
export function hubDifferences(directory: string, column: (sql: string) => string[]): string[] {
  const blobs = path.join(directory, 'blobs/sha256');
  if (!existsSync(blobs)) {
    return [];
  }
  const files = filesBelow(blobs);
  const layers = column('SELECT digest AS value FROM hub_layers');
  const there = [...files, ...layers];
  const named = column(
    "SELECT DISTINCT substr(key, -71) AS value FROM hub_records WHERE key GLOB 'blob/*' OR key GLOB 'manifest/*'",
  );
  const unused = column(
    `SELECT id AS value FROM layers AS layer
     WHERE NOT EXISTS (SELECT 1 FROM image_layers WHERE layer_id = layer.id)
       AND NOT EXISTS (SELECT 1 FROM container_layers WHERE layer_id = layer.id)
       AND NOT EXISTS (SELECT 1 FROM hub_layers WHERE layer_id = layer.id)
       AND NOT EXISTS (SELECT 1 FROM build_records WHERE layer_id = layer.id AND type <> 'image.step')
       AND NOT EXISTS (SELECT 1 FROM layers AS child WHERE child.parent_id = layer.id)`,
  );
  return [
    ...named.filter((digest) => !there.includes(digest)).map((digest) => `${digest} has no blob`),
    ...there.filter((digest) => !named.includes(digest)).map((digest) => `blob ${digest} is nobody's`),
    ...files.filter((digest) => layers.includes(digest)).map((digest) => `${digest} is there twice`),
    ...unused.map((id) => `layer ${id} is needed by nobody`),
  ];
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory).flatMap((folder) =>
    readdirSync(path.join(directory, folder)).map((name) => `sha256:${name}`),
  );
}
