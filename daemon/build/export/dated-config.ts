import { parseJson, asObject } from '../../../storage/image/json.ts';

const MS = 1000;

/**
 * The configuration of an image as of a moment: it was made then, and nothing in its history later (as BuildKit does
 * for SOURCE_DATE_EPOCH, https://reproducible-builds.org/docs/source-date-epoch). Pure.
 */
export function datedConfig(config: Buffer, epochSeconds: number): Buffer {
  const created = new Date(epochSeconds * MS).toISOString().replace('.000Z', 'Z');
  const all = asObject(parseJson(config, 'image'), 'image');
  const history = Array.isArray(all['history'])
    ? all['history'].map((entry) => asObject(entry, 'image'))
    : [];
  const dated = history.map((entry) =>
    typeof entry['created'] === 'string' && Date.parse(entry['created']) <= epochSeconds * MS
      ? entry
      : { ...entry, created },
  );
  return Buffer.from(JSON.stringify({ ...all, created, history: dated }));
}
