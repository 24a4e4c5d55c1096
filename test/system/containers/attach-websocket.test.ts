import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

describeEngine('attach by websocket', (engine) => {
  const open: WebSocket[] = [];
  afterEach(() => open.splice(0).forEach((socket) => socket.terminate()));

  /** A client, and the messages it has received. */
  const connect = (path: string): { socket: WebSocket; received: { data: string; isBinary: boolean }[] } => {
    const socket = new WebSocket(`ws+unix:${engine.http.socketPath}:${path}`);
    open.push(socket);
    socket.on('error', () => {
      // Of a handshake that was refused; the test looks at the answer.
    });
    const received: { data: string; isBinary: boolean }[] = [];
    socket.on('message', (data, isBinary) => {
      received.push({ data: Buffer.isBuffer(data) ? data.toString() : '', isBinary });
    });
    return { socket, received };
  };
  const withInput = (command: string[]): Promise<string> => engine.start(command, {}, { OpenStdin: true });

  it.each([
    ['1.24', false],
    ['1.28', true],
    ['1.44', true],
  ])('v%s: input goes in, output comes out unframed, in binary messages: %s', async (version, isBinary) => {
    const id = await withInput(['cat']);
    const { socket, received } = connect(
      `/v${version}/containers/${id}/attach/ws?stream=1&stdin=1&stdout=1&stderr=1`,
    );
    await once(socket, 'open');
    socket.send('grüße\n');
    await until('output', () => received.length > 0);
    expect(received).toEqual([{ data: 'grüße\n', isBinary }]);
  });

  it('logs: what was written before comes first; the end of the container closes with 1000', async () => {
    const id = await withInput(['sh', '-c', 'echo before; read x; echo $x >&2']);
    await until('the first line', async () => (await engine.logs(id)).stdout === 'before\n');
    const { socket, received } = connect(
      `/containers/${id}/attach/ws?logs=1&stream=1&stdin=1&stdout=1&stderr=1`,
    );
    await once(socket, 'open');
    socket.send('after\n');
    const [code] = (await once(socket, 'close')) as [number];
    expect(received.map(({ data }) => data).join('')).toBe('before\nafter\n');
    expect(code).toBe(1000);
  });

  it('selection: only the streams asked for come; before 1.42 all of them', async () => {
    const write = ['sh', '-c', 'read x; echo out; echo err >&2'];
    const read = async (version: string): Promise<string> => {
      const id = await withInput(write);
      const { socket, received } = connect(
        `/v${version}/containers/${id}/attach/ws?stream=1&stdin=1&stderr=1`,
      );
      await once(socket, 'open');
      socket.send('\n');
      await once(socket, 'close');
      return received.map(({ data }) => data).join('');
    };
    expect(await read('1.44')).toBe('err\n');
    expect((await read('1.41')).split('\n').toSorted()).toEqual(['', 'err', 'out']);
  });

  it('errors: no such container is 404, a request without upgrade 400', async () => {
    const { socket } = connect('/containers/nosuch/attach/ws?stream=1');
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(404);
    const id = await withInput(['cat']);
    expect((await engine.http.request('GET', `/containers/${id}/attach/ws?stream=1`)).status).toBe(400);
  });
});
