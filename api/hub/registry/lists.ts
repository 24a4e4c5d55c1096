import { admitPull, answerJson, refused, type Exchange } from './exchange.ts';
import { registryPage } from './pages.ts';

/** `GET`: the tags of a repository, in order. */
export function listTags(exchange: Exchange, { name }: { name: string }): void {
  admitPull(exchange);
  const { res, query, path, session } = exchange;
  const { names, link } = registryPage(session.tags(name), query, path);
  setLink(res, link);
  answerJson(res, 200, { name, tags: names });
}

/** `GET`: the repositories that the caller may pull from. */
export function listCatalogue(exchange: Exchange): void {
  const { res, query, path, session } = exchange;
  if (session.isBare) {
    throw refused('UNAUTHORIZED', 'authentication required', { scope: 'registry:catalog:*' });
  }
  admitPull(exchange);
  const { names, link } = registryPage(session.catalogue(), query, path);
  setLink(res, link);
  answerJson(res, 200, { repositories: names });
}

/** `GET`: what names a manifest as its subject, of one type where that is asked for. */
export function listReferrers(exchange: Exchange, { name, digest }: { name: string; digest: string }): void {
  admitPull(exchange);
  const { res, query, session } = exchange;
  const type = query.get('artifactType');
  const all = session.referrers(name, digest);
  if (type !== null) {
    res.setHeader('OCI-Filters-Applied', 'artifactType');
  }
  res.setHeader('Content-Type', INDEX);
  answerJson(res, 200, {
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: type === null ? all : all.filter(({ artifactType }) => artifactType === type),
  });
}

const INDEX = 'application/vnd.oci.image.index.v1+json';

function setLink(res: Exchange['res'], link: string | undefined): void {
  if (link !== undefined) {
    res.setHeader('Link', link);
  }
}
