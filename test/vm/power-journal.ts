/** One line of power-work.ts: something that the daemon had acknowledged, or was about to be asked for (`removing`). */
export type Acknowledged =
  | { did: 'created' | 'removing' | 'removed'; name: string; id: string }
  | { did: 'started'; name: string; id: string; policy: string }
  | { did: 'loaded' | 'volume'; name: string };

/** The lines of a journal whose end the power cut may have torn. */
export function parseJournal(text: string): Acknowledged[] {
  return text.split('\n').flatMap((line): Acknowledged[] => {
    try {
      return line.startsWith('{') ? [JSON.parse(line)] : [];
    } catch {
      // Only the last line can be cut off.
      return [];
    }
  });
}
