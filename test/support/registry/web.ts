import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** In PEM: with them the server speaks TLS. */
export interface Certificate {
  key: string;
  cert: string;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A web server on an address of this machine, with what a test puts there, and git repositories below `/git/`. */
export class WebServer implements AsyncDisposable {
  readonly #address: string;
  readonly #scheme: string;
  readonly #server: Server;
  readonly #handlers = new Map<string, Handler>();
  readonly #sockets = new Set<Socket>();
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'berth-web-'));
  /** `METHOD path authorization` of all that was asked for. */
  readonly asked: string[] = [];

  private constructor(address: string, tls: Certificate | undefined) {
    this.#address = address;
    this.#scheme = tls === undefined ? 'http' : 'https';
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const { pathname, search } = new URL(request.url ?? '/', 'http://web');
      this.asked.push([request.method, pathname, request.headers.authorization ?? ''].join(' ').trim());
      const handler = this.#handlers.get(pathname);
      if (handler !== undefined) {
        handler(request, response);
      } else if (pathname.startsWith('/git/')) {
        this.#git(request, response, { pathname, search });
      } else {
        response.writeHead(404).end('nothing here\n');
      }
    };
    this.#server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(address: string, tls?: Certificate): Promise<WebServer> {
    const web = new WebServer(address, tls);
    await new Promise<void>((resolve, reject) => {
      web.#server.once('error', reject);
      web.#server.listen(0, address, resolve);
    });
    return web;
  }

  get host(): string {
    // A server that listens on an address has one.
    return `${this.#address}:${(this.#server.address() as AddressInfo).port}`;
  }

  url(pathname: string): string {
    return `${this.#scheme}://${this.host}${pathname}`;
  }

  /** Clients that are connected now. */
  get clients(): number {
    return this.#sockets.size;
  }

  on(pathname: string, handler: Handler): string {
    this.#handlers.set(pathname, handler);
    return this.url(pathname);
  }

  /** Serves bytes under a path; answers the URL. */
  file(pathname: string, body: Buffer | string, headers: Record<string, string> = {}): string {
    return this.on(pathname, (_request, response) =>
      response.writeHead(200, { 'content-length': Buffer.byteLength(body), ...headers }).end(body),
    );
  }

  redirect(pathname: string, location: string): string {
    return this.on(pathname, (_request, response) => response.writeHead(302, { location }).end());
  }

  /** Sends a beginning and then nothing more. */
  stall(pathname: string, begin: Buffer | string): string {
    return this.on(pathname, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-tar' }).write(begin);
    });
  }

  /** Where a repository lies on disk. */
  repositoryPath(name: string): string {
    return path.join(this.#directory, name);
  }

  /** Makes a repository of files (a value `-> x` is a link) with a branch `main`; answers its URL. */
  async repository(
    name: string,
    files: Readonly<Record<string, string>>,
    ...more: string[][]
  ): Promise<string> {
    const directory = this.repositoryPath(name);
    mkdirSync(directory, { recursive: true });
    const git = async (...args: string[]): Promise<void> => {
      // Not synchronously: submodules are fetched from this very server.
      await execFileAsync('git', args, {
        cwd: directory,
        timeout: 20_000,
        env: {
          PATH: process.env['PATH'],
          HOME: '/nonexistent',
          GIT_AUTHOR_NAME: 'a',
          GIT_AUTHOR_EMAIL: 'a@b',
          GIT_COMMITTER_NAME: 'a',
          GIT_COMMITTER_EMAIL: 'a@b',
        },
      });
    };
    await git('init', '--quiet', '--initial-branch=main');
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(directory, file)), { recursive: true });
      if (content.startsWith('-> ')) {
        symlinkSync(content.slice(3), path.join(directory, file));
      } else {
        writeFileSync(path.join(directory, file), content);
      }
    }
    await git('add', '--all');
    await git('commit', '--quiet', '--message=one');
    for (const args of more) {
      await git(...args);
    }
    // For servers without a protocol of git's.
    await git('update-server-info');
    return this.url(`/git/${name}`);
  }

  /** `git http-backend` as a CGI program (git-http-backend(1)). */
  #git(
    request: IncomingMessage,
    response: ServerResponse,
    { pathname, search }: { pathname: string; search: string },
  ): void {
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.#directory,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        PATH_INFO: pathname.slice('/git'.length),
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'],
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(child.stdin);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('close', () => {
      const all = Buffer.concat(chunks);
      const end = all.indexOf('\r\n\r\n');
      const head = all.subarray(0, end).toString('latin1').split('\r\n');
      for (const line of head) {
        const [name = '', ...value] = line.split(': ');
        if (name === 'Status') {
          response.statusCode = Number.parseInt(value.join(': '), 10);
        } else if (name !== '') {
          response.setHeader(name, value.join(': '));
        }
      }
      response.end(all.subarray(end + 4));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
