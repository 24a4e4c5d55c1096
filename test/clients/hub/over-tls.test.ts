import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { needs } from '../../support/needs.ts';

const HUB = '127.0.0.1:5010';
const PER_HOUR = 60;

needs(
  'root',
  'built',
  'busybox',
  'gh',
  'podman',
  'netns',
)('clients of the hub over TLS', () => {
  let daemon: TestDaemon;
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-hub-'));
  const file = (name: string): string => path.join(folder, name);
  const tokens = { alice: '', bob: '' };

  beforeAll(async () => {
    const subject = ['-subj', '/CN=hub', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const files = ['-keyout', file('key.pem'), '-out', file('ca.crt')];
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
    ];
    execFileSync('openssl', [...request, ...subject, ...files], { stdio: 'ignore' });
    daemon = await TestDaemon.start({
      config: {
        hub: {
          address: HUB,
          'tls-cert': file('ca.crt'),
          'tls-key': file('key.pem'),
          limits: { 'user-per-hour': PER_HOUR },
        },
      },
    });
    const scopes = ['repo', 'write:packages', 'delete:packages'];
    for (const login of ['alice', 'bob'] as const) {
      await daemon.http.ok('POST', '/hub/admin/users', { login });
      const made = await daemon.http.ok<{ token: string }>('POST', `/hub/admin/users/${login}/tokens`, {
        scopes,
      });
      tokens[login] = made.token;
    }
    await daemon.http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name: 'app' });
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const gh = (token: string, ...args: string[]): Promise<string> =>
    daemon.netns.run(
      'env',
      `GH_HOST=${HUB}`,
      `GH_ENTERPRISE_TOKEN=${token}`,
      `GH_CONFIG_DIR=${file('gh')}`,
      `HOME=${folder}`,
      `SSL_CERT_FILE=${file('ca.crt')}`,
      'GH_NO_UPDATE_NOTIFIER=1',
      'NO_PROXY=*',
      'gh',
      'api',
      ...args,
    );
  const alice = (...args: string[]): Promise<string> => gh(tokens.alice, ...args);
  const HOOKS = 'repos/alice/app/hooks';

  it('gh: logs in with a token, and asks with what it keeps', async () => {
    const { token } = await daemon.http.ok<{ token: string }>('POST', '/hub/admin/users/alice/tokens', {
      scopes: ['repo', 'read:org'],
    });
    const login = (secret: string): Promise<string> =>
      daemon.netns.run(
        'env',
        `GH_HOST=${HUB}`,
        `GH_CONFIG_DIR=${file('gh-login')}`,
        `HOME=${folder}`,
        `SSL_CERT_FILE=${file('ca.crt')}`,
        'GH_NO_UPDATE_NOTIFIER=1',
        'NO_PROXY=*',
        'sh',
        '-c',
        'printf %s "$1" | gh auth login --with-token && gh api user --jq .login',
        'sh',
        secret,
      );
    await expect(login('bhp_wrong')).rejects.toThrow(/HTTP 401/);
    await expect(login(tokens.bob)).rejects.toThrow(/missing required scope 'read:org'/);
    expect(await login(token)).toBe('alice\n');
  });

  it('gh: repositories, hooks in pages, what is refused, what is left of the hour', async () => {
    expect(await alice('repos/alice/app', '--jq', '.full_name')).toBe('alice/app\n');
    for (const number of [1, 2, 3, 4, 5]) {
      const fields = [
        `config[url]=https://example.com/${number}`,
        'config[content_type]=json',
        'events[]=push',
      ];
      const made = await alice(HOOKS, ...fields.flatMap((field) => ['-f', field]), '--jq', '.id');
      expect(made).toBe(`${number}\n`);
    }
    const pages = await alice(`${HOOKS}?per_page=2`, '--paginate', '--jq', '.[].id');
    expect(pages).toBe('1\n2\n3\n4\n5\n');
    expect(await alice('-X', 'PATCH', `${HOOKS}/2`, '-F', 'active=false', '--jq', '.active')).toBe('false\n');
    expect(await alice(`${HOOKS}/1/config`, '--jq', '.content_type')).toBe('json\n');
    expect(await alice(`${HOOKS}/1/deliveries`, '--jq', '.[].event')).toBe('ping\n');
    expect(await alice('-X', 'DELETE', `${HOOKS}/3`)).toBe('');
    await expect(alice(`${HOOKS}/3`)).rejects.toThrow(/Not Found \(HTTP 404\)/);
    await expect(
      alice(HOOKS, '-f', 'config[url]=https://example.com/1', '-f', 'config[content_type]=json'),
    ).rejects.toThrow(/Validation Failed \(HTTP 422\)/);
    await expect(gh('bhp_wrong', 'user')).rejects.toThrow(/HTTP 401/);
    expect(await alice('rate_limit', '--jq', '.resources.core.limit')).toBe(`${PER_HOUR}\n`);
    const headers = await alice('--include', 'user');
    expect(headers).toMatch(/^HTTP\/[\d.]+ 200/);
    expect(headers).toMatch(/X-Ratelimit-Limit: 60/i);
  });

  it('gh: says that the hour is used up', async () => {
    const curl = ['curl', '--silent', '--cacert', file('ca.crt'), '--noproxy', '*', '--output', '/dev/null'];
    const many = `https://${HUB}/user?[1-${PER_HOUR}]`;
    await daemon.netns.run(...curl, '--header', `Authorization: Bearer ${tokens.bob}`, many);
    await expect(gh(tokens.bob, 'user')).rejects.toThrow(/API rate limit exceeded.*HTTP 403/);
    expect(await gh(tokens.bob, 'rate_limit', '--jq', '.resources.core.remaining')).toBe('0\n');
  });

  const podman = (...args: string[]): Promise<string> => {
    const store = ['--root', file('podman'), '--runroot', file('podman-run'), '--storage-driver', 'vfs'];
    const env = [`HOME=${folder}`, `REGISTRY_AUTH_FILE=${file('auth.json')}`, 'NO_PROXY=*'];
    return daemon.netns.run('env', ...env, 'podman', ...store, ...args);
  };

  it('podman: logs in, pushes, finds and pulls', async () => {
    mkdirSync(file('podman'), { recursive: true });
    writeFileSync(file('image.tar'), busyboxImageTar());
    await podman('load', '--quiet', '--input', file('image.tar'));
    const certificates = ['--cert-dir', folder];
    // Its search takes no certificates.
    const unchecked = ['--tls-verify=false'];
    const name = `${HUB}/alice/box:1`;
    const login = ['login', ...certificates, '--username', 'alice', '--password'];
    await expect(podman(...login, 'wrong', HUB)).rejects.toThrow(/invalid username\/password|unauthorized/);
    expect(await podman(...login, tokens.alice, HUB)).toContain('Login Succeeded');
    await podman('tag', 'busybox:latest', name);
    await podman('push', ...certificates, name);
    const id = await podman('image', 'inspect', '--format', '{{.Id}}', name);
    expect(await podman('search', ...unchecked, '--format', '{{.Name}}', `${HUB}/`)).toContain(
      `${HUB}/alice/box`,
    );
    const tags = await podman('search', ...unchecked, '--list-tags', `${HUB}/alice/box`);
    expect(tags).toMatch(/alice\/box +1\n/);
    await podman('rmi', '--all', '--force');
    await podman('pull', '--quiet', ...certificates, name);
    expect(await podman('image', 'inspect', '--format', '{{.Id}}', name)).toBe(id);
    await podman('logout', HUB);
    await podman('rmi', '--all', '--force');
    await expect(podman('pull', '--quiet', ...certificates, name)).rejects.toThrow(/unauthorized|denied/);
  });
});
