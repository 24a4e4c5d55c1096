import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** An application's own site: what browsers ask it for, and pages that it answers with. */
export interface Callback extends AsyncDisposable {
  url: string;
  redirectUri: string;
  /** By path; all else is answered with one word. */
  pages: Map<string, string>;
}

/** Listens on a port of 127.0.0.1. */
export async function callbackSite(): Promise<Callback> {
  const pages = new Map<string, string>();
  const server = http.createServer((req, res) => {
    const [path = '/'] = (req.url ?? '/').split('?', 1);
    res.setHeader('Content-Type', 'text/html');
    res.end(pages.get(path) ?? '<!doctype html><title>Back</title><h1>Back at the application</h1>');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // A server that listens on an address has one.
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    redirectUri: `${url}/back`,
    pages,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
