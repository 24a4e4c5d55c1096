import { expect, test } from 'vitest';
import { exportProxies } from '../../../../daemon/boot/host/proxies.ts';

type Warning = [facts: object, message: string];

function exported(
  config: Partial<Parameters<typeof exportProxies>[0]>,
  environment: Record<string, string>,
): { environment: Record<string, string>; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const warn = (...warning: Warning): unknown => warnings.push(warning);
  // Of a logger only what is called here.
  const log = { warn } as never;
  exportProxies({ httpProxy: '', httpsProxy: '', noProxy: '', ...config }, environment, log);
  return { environment, warnings };
}

test('what is not configured stays as it is in the environment', () => {
  const environment = { HTTP_PROXY: 'http://a.test', no_proxy: 'b.test' };
  expect(exported({}, { ...environment })).toEqual({ environment, warnings: [] });
});

test('what is configured takes the place of what the environment says, in both spellings', () => {
  const httpProxy = 'http://someone:secret@new.test';
  const { environment, warnings } = exported(
    { httpProxy, noProxy: 'direct.test' },
    { HTTP_PROXY: 'http://old:hunter2@old.test', http_proxy: httpProxy, HTTPS_PROXY: 'http://kept.test' },
  );
  expect(environment).toEqual({
    HTTP_PROXY: httpProxy,
    http_proxy: httpProxy,
    HTTPS_PROXY: 'http://kept.test',
    NO_PROXY: 'direct.test',
    no_proxy: 'direct.test',
  });
  const masked = { oldValue: 'http://xxxxx:xxxxx@old.test', newValue: 'http://xxxxx:xxxxx@new.test' };
  expect(warnings).toEqual([
    [{ name: 'HTTP_PROXY', ...masked }, 'overriding existing proxy variable with value from configuration'],
  ]);
});

test('an address in the environment that is of no use is told, once and without its password', () => {
  const socks = 'socks5://someone:secret@p.test';
  const { warnings } = exported({}, { HTTP_PROXY: socks, HTTPS_PROXY: socks });
  expect(warnings).toEqual([
    [
      { value: 'socks5://xxxxx:xxxxx@p.test' },
      'a proxy must look like http[s]://[user:password@]host[:port]',
    ],
  ]);
});
