import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { expect } from 'vitest';
import { setAttributeAt } from '../../../daemon/base/kernel/files/attributes.ts';
import { openRoot } from '../../../daemon/base/kernel/files/safepath.ts';

/** What rows and files of the prepared root are called. */
export interface Root {
  dataRoot: string;
  /** Directory and `diff` of the layer above the busybox. */
  layer: string;
  diff: string;
  /** Directory of the stopped container, which has written a file. */
  container: string;
  containerId: string;
  sql: (text: string, ...values: unknown[]) => unknown[];
}

/** One way in which a store can be damaged. */
export interface Damage {
  name: string;
  make(root: Root): void;
  /** What the check has to report, and of which thing. */
  finds: RegExp;
  /** `load`: damaged until the image has been loaded again; `gone`: whole, but the image has to be loaded again. */
  repair: 'here' | 'load' | 'gone';
  /** What is to be seen afterwards. */
  afterwards?: (root: Root) => void;
}

/**
 * Of the zeros behind the content of `etc/greeting`, which no reader of a tar looks at. The recipe: header (16 bytes),
 * length and bytes of its only block, end (36 bytes).
 */
function changePadding(recipe: string): void {
  const bytes = readFileSync(recipe);
  const records = inflateRawSync(bytes.subarray(20, -36));
  const name = Buffer.from('\x0c\0\0\0etc/greeting');
  const next = records.indexOf(name) + name.length;
  // After kind and length of the next record.
  records[next + 5] = 1;
  const packed = deflateRawSync(records);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(packed.length);
  writeFileSync(recipe, Buffer.concat([bytes.subarray(0, 16), length, packed, bytes.subarray(-36)]));
}

const LAYER = String.raw`layer sha256:[0-9a-f]{64} of docker\.io/library/store:1: `;

export const damages: readonly Damage[] = [
  {
    name: 'a file of a layer with other bytes, of the same length and time',
    make: ({ diff }) => {
      const file = path.join(diff, 'etc/greeting');
      const { atime, mtime } = lstatSync(file);
      writeFileSync(file, 'HELLO\n');
      utimesSync(file, atime, mtime);
    },
    finds: new RegExp(`${LAYER}the bytes of its files were changed`),
    repair: 'load',
  },
  {
    name: 'a file of a layer cut off',
    make: ({ diff }) => writeFileSync(path.join(diff, 'implied/file'), ''),
    finds: new RegExp(`${LAYER}.*"implied/file" has 0 bytes, should have 1`),
    repair: 'load',
  },
  {
    name: 'a missing file',
    make: ({ diff }) => unlinkSync(path.join(diff, 'implied/file')),
    finds: new RegExp(`${LAYER}.*"implied/file" is missing`),
    repair: 'load',
  },
  {
    name: 'a missing empty file',
    make: ({ diff }) => unlinkSync(path.join(diff, 'etc/empty')),
    finds: new RegExp(`${LAYER}.*"etc/empty" is missing`),
    repair: 'here',
  },
  {
    name: 'a file that does not belong there',
    make: ({ diff }) => writeFileSync(path.join(diff, 'etc/intruder'), 'x'),
    finds: new RegExp(`${LAYER}.*"etc/intruder" does not belong there`),
    repair: 'here',
    afterwards: ({ diff }) => expect(existsSync(path.join(diff, 'etc/intruder'))).toBe(false),
  },
  {
    name: 'a changed mode',
    make: ({ diff }) => chmodSync(path.join(diff, 'etc/greeting'), 0o6777),
    finds: new RegExp(`${LAYER}.*"etc/greeting" has mode 6777, should have 644`),
    repair: 'here',
    afterwards: ({ diff }) => expect(lstatSync(path.join(diff, 'etc/greeting')).mode & 0o7777).toBe(0o644),
  },
  {
    name: 'a changed mode of the root, which the layer only implies',
    make: ({ diff }) => chmodSync(diff, 0o700),
    finds: new RegExp(`${LAYER}its root has mode 700, should have 755`),
    repair: 'here',
  },
  {
    name: 'another owner',
    make: ({ diff }) => execFileSync('chown', ['1000:1000', path.join(diff, 'etc')]),
    finds: new RegExp(`${LAYER}.*"etc" belongs to 1000:1000, should to 0:0`),
    repair: 'here',
  },
  {
    name: 'an extended attribute too many',
    make: ({ diff }) => {
      using etc = openRoot(path.join(diff, 'etc'));
      setAttributeAt(etc.fd, 'empty', 'user.x', Buffer.from('y'));
    },
    finds: new RegExp(`${LAYER}.*"etc/empty" has not the extended attribute user.x that it should`),
    repair: 'here',
  },
  {
    name: 'a link that leads elsewhere',
    make: ({ diff }) => {
      unlinkSync(path.join(diff, 'etc/link'));
      symlinkSync('/etc/passwd', path.join(diff, 'etc/link'));
    },
    finds: new RegExp(`${LAYER}.*"etc/link" leads elsewhere`),
    repair: 'here',
  },
  {
    name: 'a hard link that is none any more',
    make: ({ diff }) => {
      const file = path.join(diff, 'etc/same');
      const copy = path.join(diff, 'copy');
      execFileSync('cp', ['-a', '--no-preserve=links', path.join(diff, 'etc/greeting'), copy]);
      renameSync(copy, file);
    },
    finds: new RegExp(`${LAYER}.*, as hard links go`),
    repair: 'here',
  },
  {
    name: 'a whiteout that is gone',
    make: ({ diff }) => unlinkSync(path.join(diff, 'etc/shadow')),
    finds: new RegExp(`${LAYER}.*"etc/shadow" is missing`),
    repair: 'here',
  },
  {
    name: 'a missing layer directory',
    make: ({ layer }) => rmSync(layer, { recursive: true }),
    finds: new RegExp(`${LAYER}has no directory`),
    repair: 'load',
  },
  {
    name: 'missing files of a layer',
    make: ({ diff }) => rmSync(diff, { recursive: true }),
    finds: new RegExp(`${LAYER}its files are missing`),
    repair: 'load',
  },
  {
    name: 'a missing recipe',
    make: ({ layer }) => unlinkSync(path.join(layer, 'recipe')),
    finds: new RegExp(`${LAYER}its recipe is missing`),
    repair: 'load',
  },
  {
    name: 'a recipe of other bytes',
    make: ({ layer }) => {
      const recipe = readFileSync(path.join(layer, 'recipe'));
      recipe.fill(0xff, 30, 60);
      writeFileSync(path.join(layer, 'recipe'), recipe);
    },
    finds: new RegExp(`${LAYER}.*its recipe is damaged`),
    repair: 'load',
  },
  {
    name: 'a recipe that makes a tar with one other byte',
    make: ({ layer }) => changePadding(path.join(layer, 'recipe')),
    finds: new RegExp(`${LAYER}its recipe is damaged: it runs`),
    repair: 'load',
  },
  {
    name: 'a layer without its row',
    make: ({ sql, layer }) => {
      sql('DELETE FROM layers WHERE id = ?', Number.parseInt(path.basename(layer), 36));
    },
    finds: /image docker\.io\/library\/store:1: has no row for layer sha256:/,
    repair: 'here',
  },
  {
    name: 'an image whose configuration is not what its id says',
    make: ({ sql }) => {
      sql(
        `UPDATE images SET config = CAST(replace(CAST(config AS TEXT), 'amd64', 'amd65') AS BLOB)
         WHERE id = (SELECT image_id FROM tags WHERE tag = '1')`,
      );
    },
    finds: /image docker\.io\/library\/store:1: has a configuration with the digest sha256:/,
    repair: 'gone',
    afterwards: ({ sql }) =>
      expect(sql('SELECT table_name FROM quarantine')).toEqual([{ table_name: 'images' }]),
  },
  {
    name: 'a name of an image that is not there',
    make: ({ sql }) => {
      sql(
        "INSERT INTO tags (repository, tag, image_id) VALUES ('docker.io/library/ghost', '1', 'sha256:00')",
      );
    },
    finds: /name docker\.io\/library\/ghost:1: names an image that is not there/,
    repair: 'here',
  },
  {
    name: 'a container without a directory',
    make: ({ container }) => rmSync(container, { recursive: true }),
    finds: /container keeper: has no files/,
    repair: 'here',
  },
  {
    name: 'a container whose row cannot be read, and its files',
    make: ({ sql, dataRoot }) => {
      const orphan = path.join(dataRoot, 'containers', 'f'.repeat(64), 'upper');
      mkdirSync(orphan, { recursive: true });
      writeFileSync(path.join(orphan, 'work'), 'of days');
      sql(
        "INSERT INTO containers (id, name, image_id, created_nano, spec) VALUES (?, 'torn', 'x', 1, '{')",
        'f'.repeat(64),
      );
    },
    finds: /container f{64}: has a row that cannot be read/,
    repair: 'here',
    afterwards: ({ sql, dataRoot }) => {
      expect(sql("SELECT row_key FROM quarantine WHERE table_name = 'containers'")).toHaveLength(1);
      const orphan = path.join(dataRoot, 'containers', 'f'.repeat(64));
      expect(readFileSync(path.join(orphan, 'upper/work'), 'utf8')).toBe('of days');
      rmSync(orphan, { recursive: true });
    },
  },
  {
    name: 'files of a container that has no row',
    make: ({ dataRoot }) => {
      const orphan = path.join(dataRoot, 'containers', 'e'.repeat(64), 'upper');
      mkdirSync(orphan, { recursive: true });
      writeFileSync(path.join(orphan, 'work'), 'of days');
    },
    finds: /directory containers\/e{64}: belongs to no container/,
    repair: 'here',
    afterwards: ({ dataRoot }) => {
      const aside = path.join(dataRoot, 'quarantine/containers', 'e'.repeat(64), 'upper/work');
      expect(readFileSync(aside, 'utf8')).toBe('of days');
    },
  },
  {
    name: 'a volume without its row',
    make: ({ sql }) => {
      sql("DELETE FROM volumes WHERE name = 'kept'");
    },
    finds: /directory volumes\/kept: belongs to no volume/,
    repair: 'here',
  },
  {
    name: 'an index that has lost its way',
    make: ({ sql }) => {
      const [row] = sql("SELECT * FROM sqlite_schema WHERE name = 'events_time'") as Record<
        string,
        unknown
      >[];
      sql("DELETE FROM sqlite_schema WHERE name = 'events_time'");
      sql('DELETE FROM events WHERE id = (SELECT min(id) FROM events)');
      sql('INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)', ...Object.values(row ?? {}));
    },
    finds: /the database: .*events_time/,
    repair: 'here',
  },
];
