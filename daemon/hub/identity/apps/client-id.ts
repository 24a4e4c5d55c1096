import { randomBytes } from 'node:crypto';
import type { Application } from './app.ts';

const PREFIXES = { app: 'Iv', 'oauth-app': 'Ov' } as const satisfies Record<Application['kind'], string>;
const CLIENT_ID = /^(Iv|Ov)([1-9]\d{0,14})\.[0-9a-f]{16}$/;

/** It holds the id, so that a request finds the application by one look. No name of an account looks like it. */
export function newClientId(kind: Application['kind'], id: number): string {
  return `${PREFIXES[kind]}${id}.${randomBytes(8).toString('hex')}`;
}

/** Undefined = is none. */
export function readClientId(text: string): { kind: Application['kind']; id: number } | undefined {
  const [, prefix, id] = CLIENT_ID.exec(text) ?? [];
  return id === undefined ? undefined : { kind: prefix === 'Iv' ? 'app' : 'oauth-app', id: Number(id) };
}
