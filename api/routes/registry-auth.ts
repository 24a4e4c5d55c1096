import type { RegistryAuth } from '../types/image.ts';

/**
 * Decodes `X-Registry-Auth`: base64 of a JSON object, in either alphabet, padded or not. What cannot be decoded means
 * "no credentials", as in dockerd: old clients that have none send all kinds of things.
 */
export function registryAuth(header: string | undefined): RegistryAuth {
  return authOf(objectOf(header ?? ''));
}

/** Decodes `X-Registry-Config`: the same of all registries that a client knows, by their names. */
export function registryAuths(header: string | undefined): Record<string, RegistryAuth> {
  return Object.fromEntries(
    Object.entries(objectOf(header ?? '')).flatMap(([name, fields]) =>
      typeof fields === 'object' && fields !== null && !Array.isArray(fields)
        ? // Checked here: an object of JSON has string keys.
          [[name, authOf(fields as Record<string, unknown>)]]
        : [],
    ),
  );
}

function authOf(fields: Readonly<Record<string, unknown>>): RegistryAuth {
  const text = (key: string): string => {
    const value = fields[key];
    return typeof value === 'string' ? value : '';
  };
  // `docker login` of long ago kept both in one field.
  const [, name = '', word = ''] = /^([^:]*):(.*)$/s.exec(fromBase64(text('auth'))) ?? [];
  const username = text('username') || name;
  const password = text('username') ? text('password') : word;
  const identityToken = text('identitytoken');
  const registryToken = text('registrytoken');
  return {
    ...(username !== '' && { username, password }),
    ...(identityToken !== '' && { identityToken }),
    ...(registryToken !== '' && { registryToken }),
  };
}

function objectOf(header: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(fromBase64(header));
    // Checked here: an object of JSON has string keys.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Not JSON: no credentials.
    return {};
  }
}

/** Node.js reads both alphabets, with padding or without. */
function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8');
}
