import type { HubAnswer, ServedHub } from './serve-hub.ts';

type PageAnswer = HubAnswer & { text: string };

/** A browser without a screen: it keeps cookies, and sends the mark of the last form that it saw. */
export interface PageVisitor {
  cookies: Map<string, string>;
  mark: string;
  get(path: string, headers?: Record<string, string>): Promise<PageAnswer>;
  /** A body as it is, with its type. */
  send(path: string, body: string | Buffer, headers: Record<string, string>): Promise<PageAnswer>;
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<PageAnswer>;
}

export function pageVisitor(hub: Pick<ServedHub, 'ask'>): PageVisitor {
  const ask = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string | Buffer,
  ) => {
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await hub.ask(method, path, {
      headers: { Accept: 'text/html', Host: 'hub.test:5010', ...(cookie && { Cookie: cookie }), ...headers },
      ...(body !== undefined && { body }),
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      visitor.cookies.set(name, value);
    }
    const text = typeof answer.body === 'string' ? answer.body : '';
    visitor.mark = /name="mark" value="([^"]+)"/.exec(text)?.[1] ?? visitor.mark;
    return { ...answer, text };
  };
  const visitor: PageVisitor = {
    cookies: new Map(),
    mark: '',
    get: (path, headers = {}) => ask('GET', path, headers),
    send: (path, body, headers) => ask('POST', path, { Origin: 'http://hub.test:5010', ...headers }, body),
    post: (path, fields, headers = {}) =>
      visitor.send(path, new URLSearchParams({ mark: visitor.mark, ...fields }).toString(), {
        'Content-Type': 'application/x-www-form-urlencoded',
        ...headers,
      }),
  };
  return visitor;
}
