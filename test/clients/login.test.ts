import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../support/engine/daemon.ts';
import { needs } from '../support/needs.ts';
import { ACCOUNT, TestRegistry } from '../support/registry/registry.ts';

const run = promisify(execFile);

needs(
  'root',
  'built',
  'docker-cli',
  'docker-registry',
  'netns',
)('docker login', () => {
  let daemon: TestDaemon;
  let registry: TestRegistry;
  const config = mkdtempSync(path.join(tmpdir(), 'berth-login-'));

  beforeAll(async () => {
    daemon = await TestDaemon.start();
    registry = await TestRegistry.start({
      port: 5000,
      password: true,
      enter: (...argv) => daemon.netns.enter(...argv),
    });
  });
  afterAll(async () => {
    await registry[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
    rmSync(config, { recursive: true });
  });

  const login = (password: string): Promise<{ stdout: string }> => {
    const { username } = ACCOUNT;
    const options = ['--host', `unix://${daemon.paths.socket}`, '--config', config];
    return run('docker', [...options, 'login', '-u', username, '-p', password, registry.address]);
  };

  it('succeeds with the right password and is kept by the client', async () => {
    expect((await login(ACCOUNT.password)).stdout).toContain('Login Succeeded');
    const kept: unknown = JSON.parse(readFileSync(path.join(config, 'config.json'), 'utf8'));
    expect(kept).toMatchObject({ auths: { [registry.address]: {} } });
  });

  it('fails with a wrong one, which no log holds', async () => {
    await expect(login('guessed-wrong')).rejects.toThrow(/unauthorized|401/);
    expect(daemon.log()).not.toContain('guessed-wrong');
    expect(daemon.log()).not.toContain(ACCOUNT.password);
  });

  it.each([
    [{ serveraddress: 'http://[nonsense' }, 400, 'unable to parse server address'],
    [{ serveraddress: '..' }, 400, 'unable to parse server address'],
    [{ serveraddress: '127.0.0.1:1', username: 'a', password: 'b' }, 500, 'Get "http://127.0.0.1:1/v2/"'],
    [{ username: 7 }, 400, 'username'],
  ])('POST /auth with %j is %i', async (body, status, message) => {
    const answer = await daemon.http.request('POST', '/auth', { body });
    expect([answer.status, answer.bytes.toString()]).toEqual([
      status,
      expect.stringContaining(message.replaceAll('"', String.raw`\"`)),
    ]);
  });
});
