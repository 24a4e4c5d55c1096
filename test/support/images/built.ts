import type { ProgressMessage } from '../../../api/types/image.ts';
import { jsonLines } from '../engine/http.ts';
import type { Answer } from '../engine/http.ts';

/** What came of POST /build. */
export interface Built {
  status: number;
  /** What the steps and their commands said. */
  text: string;
  /** Of the image; '' = none. */
  id: string;
  /** '' = none; the whole answer when the build did not begin. */
  error: string;
  messages: ProgressMessage[];
}

export function readBuilt({ status, text: answer }: Pick<Answer, 'status' | 'text'>): Built {
  if (status !== 200) {
    return { status, text: '', id: '', error: answer, messages: [] };
  }
  const messages = jsonLines(answer) as ProgressMessage[];
  const text = messages.map(({ stream = '' }) => stream).join('');
  const ids = messages.flatMap(({ aux }) => (aux as { ID?: string } | undefined)?.ID ?? []);
  const error = messages.find((message) => message.error !== undefined)?.error ?? '';
  return { status, text, id: error === '' ? (ids.at(-1) ?? '') : '', error, messages };
}
