import http from 'node:http';
import { until } from '../engine/http.ts';

export interface Frame {
  type: string;
  object: { metadata?: { name?: string; resourceVersion?: string; annotations?: object }; code?: number };
}

/** A watch of the cluster interface, with what it was told. */
export interface WatchClient extends Disposable {
  frames: readonly Frame[];
  /** The answer has ended. */
  isEnded: () => boolean;
  /** Resolves with the frames when there are that many. */
  reached: (count: number) => Promise<readonly Frame[]>;
}

/** `at`: the port of a listener on 127.0.0.1, or the socket of an engine. */
export function watchEvents(at: number | string, path: string): WatchClient {
  const frames: Frame[] = [];
  let isEnded = false;
  let rest = '';
  const headers = { Authorization: 'Bearer reader' };
  const place = typeof at === 'number' ? { host: '127.0.0.1', port: at } : { socketPath: at };
  const request = http.get({ ...place, path, headers }, (response) => {
    response.setEncoding('utf8').on('data', (piece: string) => {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      frames.push(...lines.map((line) => JSON.parse(line)));
    });
    response.once('close', () => {
      isEnded = true;
    });
  });
  request.on('error', () => {
    isEnded = true;
  });
  return {
    frames,
    isEnded: () => isEnded,
    reached: async (count) => {
      await until(`${count} frames`, () => frames.length >= count);
      return frames;
    },
    [Symbol.dispose]: () => request.destroy(),
  };
}
