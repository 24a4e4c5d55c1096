import { readFileSync } from 'node:fs';

/** Version of the engine, as package.json has it; a unit test keeps the two equal. */
export const ENGINE_VERSION = '0.1.0';

/** Commit and time (RFC 3339) of this build, as scripts/build.ts wrote them; empty when run from sources. */
export function readBuildStamp(): { commit: string; time: string } {
  let text: string;
  try {
    text = readFileSync(new URL('build-stamp.json', import.meta.url), 'utf8');
  } catch {
    // Not built by the script: from sources, or by the compiler alone.
    return { commit: '', time: '' };
  }
  const stamp: unknown = JSON.parse(text);
  const field = (name: string): string =>
    typeof stamp === 'object' && stamp !== null
      ? String(Object.entries(stamp).find(([key]) => key === name)?.[1] ?? '')
      : '';
  return { commit: field('commit'), time: field('time') };
}
