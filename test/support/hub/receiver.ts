import http from 'node:http';

export interface Received {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export interface Receiver extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  url: string;
  received: Received[];
  /** How it answers from now on; undefined = 200 `ok`. */
  answer: ((res: http.ServerResponse, got: Received) => void) | undefined;
}

/** A receiver of webhooks at a loopback address. */
export async function receiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = http.createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    req.once('end', () => {
      const got = { method: req.method ?? '', path: req.url ?? '', headers: req.headers, body };
      received.push(got);
      if (self.answer === undefined) {
        res.end('ok');
      } else {
        self.answer(res, got);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const self: Receiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return self;
}
