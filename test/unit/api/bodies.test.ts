import { expect, test } from 'vitest';
import { parseJson } from '../../../api/pipeline/json-body.ts';
import { conform } from '../../../api/schemas/conform.ts';
import { containerCreateAccepts, containerCreateSchema } from '../../../api/schemas/container-create.ts';
import { prepareContainerCreate } from '../../../api/schemas/prepare.ts';
import { Validator } from '../../../api/schemas/validator.ts';

const read = (text: string): unknown => {
  const body = prepareContainerCreate(conform(containerCreateAccepts, parseJson(Buffer.from(text), 32)));
  new Validator().check(containerCreateSchema, body);
  return body;
};

test.each([
  ['{"cmd":"ls","HOSTCONFIG":{"memory":1}}', { Cmd: ['ls'], HostConfig: { Memory: 1 } }],
  ['{"Hostname":null,"Entrypoint":null,"Unknown":[{}]}', { HostConfig: {} }],
  // The last one counts, whatever its case, as for Go.
  ['{"User":"a","User":"b"}', { User: 'b', HostConfig: {} }],
  ['{"User":"a","user":"b"}', { User: 'b', HostConfig: {} }],
  ['{"user":"a","User":"b"}', { User: 'b', HostConfig: {} }],
  ['{"StopSignal":15}', { StopSignal: '15', HostConfig: {} }],
  [
    '{"HostConfig":{"MemorySwappiness":-1,"PidsLimit":0,"CapAdd":"ALL"}}',
    { HostConfig: { CapAdd: ['ALL'] } },
  ],
  [
    '{"NetworkingConfig":{"EndpointsConfig":{"default":{"Aliases":["a"]}}}}',
    { HostConfig: {}, NetworkingConfig: { EndpointsConfig: { bridge: { Aliases: ['a'] } } } },
  ],
  // Fields of HostConfig beside it: all where there is none, five and Cpuset where it lacks them, as dockerd's.
  [
    '{"Memory":5,"binds":["/a:/b"],"Cpuset":"0"}',
    { HostConfig: { Memory: 5, Binds: ['/a:/b'], CpusetCpus: '0' } },
  ],
  [
    '{"Memory":5,"CpuShares":7,"Cpuset":"0","Privileged":true,"HostConfig":{"CpuShares":8,"CpusetCpus":"1"}}',
    { HostConfig: { Memory: 5, CpuShares: 8, CpusetCpus: '1' } },
  ],
  ['{"Memory":5,"HostConfig":null}', { HostConfig: { Memory: 5 } }],
  [
    '{"VolumeDriver":"x","CpusetCpus":"0","HostConfig":{}}',
    { HostConfig: { VolumeDriver: 'x', CpusetCpus: '0' } },
  ],
  [
    '{"Volumes":{"/a":null},"HostConfig":{"PortBindings":{"80/tcp":null}}}',
    { Volumes: { '/a': {} }, HostConfig: { PortBindings: { '80/tcp': null } } },
  ],
])('create body: %s is read as Go would', (text, body) => {
  expect(read(text)).toEqual(body);
});

test.each([
  ['{', /^invalid JSON: /],
  ['   ', 'invalid JSON: got EOF while reading request body'],
  ['{} {}', /^invalid JSON: /],
  ['['.repeat(100_000), 'invalid JSON: nested deeper than 32 levels'],
  ['[]', 'invalid request body: must be object, got a list'],
  ['"text"', 'invalid request body: must be object, got a string'],
  ['{"Cmd":{}}', 'invalid value for field Cmd: must be array, got an object'],
  ['{"StopSignal":-1}', 'invalid value for field StopSignal: must be string, got -1'],
  ['{"HostConfig":{"Memory":"1g"}}', 'invalid value for field HostConfig.Memory: must be integer, got "1g"'],
  ['{"HostConfig":{"Memory":1.5}}', 'invalid value for field HostConfig.Memory: must be integer, got 1.5'],
  [
    '{"HostConfig":{"Memory":9223372036854775807}}',
    'invalid value for field HostConfig.Memory: must be <= 9007199254740991, got 9223372036854776000',
  ],
  [
    '{"HostConfig":{"Binds":{"/a":"/b"}}}',
    'invalid value for field HostConfig.Binds: must be array, got an object',
  ],
  // What may be a password is not repeated.
  ['{"Image":"a","Env":["WORD=hush"', /^invalid JSON: [^h]*$/],
  ['{"Env":["WORD=hush"],}', /^invalid JSON: [^h]*$/],
  ['{"Env":hush}', /^invalid JSON: Unexpected token 'h'$/],
  ['{"Env":"WORD=hush"}', 'invalid value for field Env: must be array, got a string'],
  ['{"Env":[{"WORD":"hush"}]}', 'invalid value for field Env.0: must be string, got an object'],
  ['{"Labels":{"word":5}}', 'invalid value for field Labels.word: must be string, got a number'],
  [
    '{"Healthcheck":{"Test":"hush"}}',
    'invalid value for field Healthcheck.Test: must be array, got a string',
  ],
  [
    '{"HostConfig":{"LogConfig":{"Config":{"splunk-token":7}}}}',
    'invalid value for field HostConfig.LogConfig.Config.splunk-token: must be string, got a number',
  ],
  ['{"HostConfig":"hush"}', 'invalid value for field HostConfig: must be object, got a string'],
  ['{"Env":["A=\\u0000"]}', /^invalid value for field Env\.0: must not contain a NUL character/],
  ['{"Labels":{"__proto__":"x"}}', 'invalid field Labels: "__proto__" is not a valid key'],
  [
    '{"HostConfig":{"PortBindings":{"80/tcp":[{"HostPort":80}]}}}',
    'invalid value for field HostConfig.PortBindings.80/tcp.0.HostPort: must be string, got 80',
  ],
  [
    '{"HostConfig":{"Mounts":[{"Type":"floppy"}]}}',
    'invalid value for field HostConfig.Mounts.0.Type: must be one of "bind", "volume", "tmpfs", "npipe", ' +
      '"cluster", "image", got "floppy"',
  ],
])('create body: %.60s is refused', (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test('conform: a struct key "__proto__" is an unknown field like any other', () => {
  const body = read('{"__proto__":{"Image":"evil"}}');
  expect(body).toEqual({ HostConfig: {} });
  expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
});
