/** What a client shows of itself; undefined = nothing. */
export interface ClientCredentials {
  clientId: string;
  secret: string;
}

/**
 * The client's id and secret, of the header `Authorization` or of the request's body, not of both (RFC 6749, 2.3.1).
 * `twice` = they say different things. Pure.
 */
export function clientCredentialsOf(
  authorization: string | undefined,
  sent: { client_id?: string; client_secret?: string },
): ClientCredentials | 'twice' | undefined {
  const basic = basicOf(authorization ?? '');
  const { client_id: clientId, client_secret: secret } = sent;
  if (basic !== undefined) {
    const isTwice = secret !== undefined || (clientId !== undefined && clientId !== basic.clientId);
    return isTwice ? 'twice' : basic;
  }
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret };
}

/** Both parts are encoded as in forms before they are joined; many clients do not, which makes no difference here. */
function basicOf(header: string): ClientCredentials | undefined {
  const [, value = ''] = /^basic +(\S+)\s*$/i.exec(header) ?? [];
  const text = Buffer.from(value, 'base64').toString('utf8');
  const at = text.indexOf(':');
  return at < 0 ? undefined : { clientId: decoded(text.slice(0, at)), secret: decoded(text.slice(at + 1)) };
}

function decoded(text: string): string {
  return new URLSearchParams(`x=${text.replaceAll('&', '%26')}`).get('x') ?? '';
}
