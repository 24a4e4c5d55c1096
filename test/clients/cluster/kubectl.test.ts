import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anEvent } from '../../support/cluster/event.ts';
import { serveCluster, type ServedCluster } from '../../support/cluster/serve-cluster.ts';
import { until } from '../../support/engine/http.ts';
import { needs } from '../../support/needs.ts';

const run = promisify(execFile);

let cluster: ServedCluster;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'berth-test-kubectl-'));
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=berth', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await run('openssl', ['req', '-x509', ...curve, ...names, '-keyout', key, '-out', certificate]);
  cluster = await serveCluster({
    tls: { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') },
  });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

function argumentsOf(words: readonly string[], token = 'writer'): string[] {
  const authority = join(directory, 'cert.pem');
  return ['--server', cluster.url, '--token', token, '--certificate-authority', authority, ...words];
}

const environment = () => ({ PATH: process.env['PATH'], HOME: directory, KUBECONFIG: '/dev/null' });

/** That of Debian 12 reads OpenAPI as protobuf only, which is not served: it validates nothing. */
const isOld = (): boolean => Number(version().minor.replace(/\D/g, '')) < 24;

function version(): { minor: string } {
  const text = execFileSync('kubectl', ['version', '--client', '-o', 'json'], { env: environment() });
  return JSON.parse(text.toString()).clientVersion;
}

async function kubectl(...words: string[]): Promise<string> {
  const { stdout } = await run('kubectl', argumentsOf(words), { env: environment() });
  return stdout;
}

function written(name: string, event: object): string {
  const file = join(directory, name);
  writeFileSync(file, JSON.stringify(event));
  return file;
}

needs('kubectl')('kubectl', () => {
  test('kubectl: creates, lists, labels, patches, applies and deletes events', async () => {
    const novalidate = isOld() ? ['--validate=false'] : [];
    const file = written('event.json', anEvent('by-kubectl'));
    expect(await kubectl('create', ...novalidate, '-f', file)).toBe(
      'event.events.k8s.io/by-kubectl created\n',
    );
    if (!isOld()) {
      const dry = written('dry.json', anEvent('dry'));
      expect(await kubectl('create', '--dry-run=server', '-f', dry)).toMatch(/server dry run/);
      expect(await kubectl('events')).toMatch(/Normal +Started +Container\/web +a container was started/);
    }
    expect(await kubectl('get', 'events', '-A')).toMatch(
      /^NAMESPACE +LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\ndefault +\S+ +Normal +Started +container\/web +a/,
    );
    await kubectl('label', 'events.events.k8s.io', 'by-kubectl', 'app=web');
    await kubectl('patch', 'event', 'by-kubectl', '-p', '{"metadata":{"annotations":{"a":"b"}}}');
    await kubectl(
      'patch',
      'event',
      'by-kubectl',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/metadata/labels/x","value":"y"}]',
    );
    expect(await kubectl('apply', '--server-side', ...novalidate, '-f', file)).toMatch(/serverside-applied/);
    expect(await kubectl('describe', 'event', 'by-kubectl')).toMatch(/^Message: +a container was started$/m);
    const { metadata } = JSON.parse(await kubectl('get', 'event', 'by-kubectl', '-o', 'json'));
    expect([metadata.labels, metadata.annotations]).toEqual([{ app: 'web', x: 'y' }, { a: 'b' }]);
    expect(await kubectl('get', 'events', '--field-selector', 'reason=Other', '-o', 'name')).toBe('');
    expect(await kubectl('delete', 'event', 'by-kubectl')).toMatch(/deleted/);
    expect(await kubectl('get', 'events', '-o', 'name')).toBe('');
  });

  test('kubectl: tells what is refused', async () => {
    const strict = written('strict.json', { ...anEvent('strict'), colour: 'red' });
    if (!isOld()) {
      await expect(kubectl('create', '-f', strict)).rejects.toThrow(
        /strict decoding error: unknown field "colour"/,
      );
    }
    const bad = written('bad.json', anEvent('bad', { action: '' }));
    await expect(kubectl('create', '--validate=false', '-f', bad)).rejects.toThrow(
      /is invalid: action: Required value/,
    );
    await expect(kubectl('get', 'event', 'nothing')).rejects.toThrow(/"nothing" not found/);
    await expect(
      run('kubectl', argumentsOf(['create', '--validate=false', '-f', bad], 'reader'), {
        env: environment(),
      }),
    ).rejects.toThrow(/Forbidden/);
  });

  test('kubectl: a watch shows what comes, under one heading', async () => {
    const watch = spawn('kubectl', argumentsOf(['get', 'events', '-w']), { env: environment() });
    let text = '';
    watch.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    try {
      await kubectl('create', '--validate=false', '-f', written('w1.json', anEvent('w1')));
      await kubectl('create', '--validate=false', '-f', written('w2.json', anEvent('w2')));
      await until('two lines', () => (text.match(/container\/web/g) ?? []).length >= 2);
      expect(text.match(/LAST SEEN/g)).toHaveLength(1);
    } finally {
      watch.kill();
    }
  });
});
