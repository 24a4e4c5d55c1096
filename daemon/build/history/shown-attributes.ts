/**
 * What a client asked of a frontend, for those who may look later: passwords in addresses are masked, and of caches
 * elsewhere only what names them is left. Pure.
 */
export function shownAttributes(attributes: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...attributes].map(([name, value]) => [
      name,
      name === 'cache-imports' ? shownCaches(value) : withoutPassword(value),
    ]),
  );
}

const MASK = 'xxxxx';
/** What names a cache, of the attributes that it is reached by. */
const NAMES = new Set(['ref', 'scope', 'src', 'digest', 'tag']);

/** An address with its user and password masked; other texts as they are. Pure. */
export function withoutPassword(text: string): string {
  if (!/^[a-z][\w+.-]*:\/\/[^/?#]*@/i.test(text) || !URL.canParse(text)) {
    return text;
  }
  const url = new URL(text);
  if (url.password === '' && !/^https?:$/.test(url.protocol)) {
    // The account of a repository by ssh.
    return text;
  }
  url.username = url.username === '' ? '' : MASK;
  url.password = url.password === '' ? '' : MASK;
  return url.href;
}

/** JSON of a list of `{Type, Attrs}`. */
function shownCaches(text: string): string {
  let caches: unknown;
  try {
    caches = JSON.parse(text);
  } catch {
    // No list of caches: the build has been refused for it.
    return '';
  }
  return JSON.stringify(
    (Array.isArray(caches) ? caches : []).map((cache: unknown) => {
      const { Type, Attrs } = Object(cache) as { Type?: unknown; Attrs?: unknown }; // Of a client: anything.
      const named = Object.entries(Object(Attrs)).filter(([name]) => NAMES.has(name));
      return { Type, Attrs: Object.fromEntries(named) };
    }),
  );
}
