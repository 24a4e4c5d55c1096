/**
 * The address of a request, as clients see it; undefined = it is none. `target`: of its first line: a path, or an
 * address where the client takes the hub for a proxy. It may be anything: `URL` takes the path `//` for a host without
 * a name.
 */
export function addressOf(target: string, baseUrl: string): URL | undefined {
  const text = target.startsWith('/') ? `${baseUrl}${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
}
