/** One line of power-work.ts: something that the daemon had acknowledged, or was about to be asked for (`removing`). */
export type Acknowledged =
  | { did: 'created' | 'removing' | 'removed'; name: string; id: string }
  | { did: 'started'; name: string; id: string; policy: string }
  | { did: 'loaded' | 'volume'; name: string }
  /** An image and its id, a network and its id. */
  | { did: 'imported' | 'committed' | 'built' | 'network'; name: string; id: string }
  /** A container in one more network. */
  | { did: 'connected'; name: string; network: string }
  /** A volume into which the engine copied FILLING, or a container wrote its name and called fsync. */
  | { did: 'filled' | 'written'; name: string };

/** What an image brings for a volume: files and their content. */
export const FILLING: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from({ length: 5 }, (_, index) => [`file-${index}`, `content ${index}\n`.repeat(6000)]),
);

/** The Dockerfile and the file of the build that has this name: the same for the same name. */
export function buildContext(name: string): { name: string; content: string }[] {
  return [
    {
      name: 'Dockerfile',
      content: [
        'FROM busybox:latest',
        `ENV NAME=${name}`,
        'COPY f /f',
        'RUN cat /f /proc/uptime >/made',
        'CMD ["cat", "/made"]',
      ].join('\n'),
    },
    { name: 'f', content: `${name}\n`.repeat(3000) },
  ];
}

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
