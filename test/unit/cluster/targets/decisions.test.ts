import { describe, expect, test } from 'vitest';
import {
  functionEvent,
  functionReply,
} from '../../../../daemon/cluster/targets/forwarding/function-event.ts';
import { Chooser } from '../../../../daemon/cluster/targets/forwarding/choose.ts';
import { nextVerdict, type Verdict } from '../../../../daemon/cluster/targets/health/verdict.ts';
import { toTargetsFailure } from '../../../../api/cluster/targets/errors.ts';
import { EngineError, invalidArgument, notFound } from '../../../../daemon/base/errors.ts';
import { InvalidFieldsError } from '../../../../daemon/base/invalid-fields.ts';

describe('verdict', () => {
  const thresholds = { healthyThresholdCount: 3, unhealthyThresholdCount: 2 };
  /** Statuses after each check: + has passed, - has not. */
  function statuses(checks: string): (string | undefined)[] {
    let verdict: Verdict = { status: undefined, inARow: 0 };
    return checks.split('').map((check) => {
      verdict = nextVerdict(verdict, check === '+', thresholds);
      return verdict.status?.[0];
    });
  }
  test.each([
    ['one success is enough for a new target', '+', ['H']],
    ['two failures for a new target', '--', [undefined, 'U']],
    ['three in a row bring it back', '--++-+++', [undefined, 'U', 'U', 'U', 'U', 'U', 'U', 'H']],
    ['a single failure counts for nothing', '+-+-+', ['H', 'H', 'H', 'H', 'H']],
    ['two in a row end it', '+-+--', ['H', 'H', 'H', 'H', 'U']],
  ])('%s', (_what, checks, expected) => {
    expect(statuses(checks)).toEqual(expected);
  });
});

function run(chooser: Chooser<string>, count: number): string {
  return Array.from({ length: count }, () => chooser.next(new Set())).join('');
}

describe('chooser', () => {
  test.each([
    ['round robin', [{ weight: 1, targets: ['a', 'b', 'c'] }], 'abcabc'],
    [
      'weights',
      [
        { weight: 2, targets: ['a'] },
        { weight: 1, targets: ['b'] },
      ],
      'abaaba',
    ],
    [
      'weight 0',
      [
        { weight: 0, targets: ['a'] },
        { weight: 1, targets: ['b'] },
      ],
      'bbbbbb',
    ],
    [
      'no targets',
      [
        { weight: 9, targets: [] },
        { weight: 1, targets: ['b'] },
      ],
      'bbbbbb',
    ],
  ])('%s', (_what, shares, expected) => {
    expect(run(new Chooser(shares), 6)).toBe(expected);
  });

  test('one that is made anew for each request keeps weights and turns', () => {
    let chooser: Chooser<string> | undefined;
    const given = Array.from({ length: 8 }, () => {
      const shares = [
        { weight: 3, targets: ['a', 'b', 'c'] },
        { weight: 1, targets: ['x', 'y'] },
      ];
      chooser = new Chooser(shares, chooser);
      return chooser.next(new Set());
    });
    expect(given.filter((one) => one === 'x' || one === 'y')).toEqual(['x', 'y']);
    expect(given.filter((one) => one !== 'x' && one !== 'y')).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  test('what was tried is not tried again', () => {
    const chooser = new Chooser([
      { weight: 100, targets: ['a', 'b'] },
      { weight: 1, targets: ['c'] },
    ]);
    const tried = new Set<string>();
    for (let target = chooser.next(tried); target !== undefined; target = chooser.next(tried)) {
      tried.add(target);
    }
    expect([...tried].toSorted()).toEqual(['a', 'b', 'c']);
  });
});

describe('functions', () => {
  const request = {
    method: 'POST',
    target: '/a?x=1&x=2&y=',
    headers: { host: 'h', cookie: 'c' },
    serviceArn: 'arn:s',
    targetGroupArn: 'arn:g',
    sourceAddress: '10.0.0.1',
    nowMs: 5,
  };
  test('V1', () => {
    expect(functionEvent('V1', { ...request, body: Buffer.from('hi') })).toEqual({
      raw_path: '/a?x=1&x=2&y=',
      method: 'POST',
      headers: { host: 'h', cookie: 'c' },
      query_string_parameters: { x: '2', y: '' },
      body: 'hi',
      is_base64_encoded: false,
    });
  });
  test('V2, with a body that is no text', () => {
    expect(functionEvent('V2', { ...request, body: Buffer.from([0xff, 0]) })).toEqual({
      version: '2.0',
      path: '/a',
      method: 'POST',
      headers: { host: ['h'], cookie: ['c'] },
      queryStringParameters: { x: ['1', '2'], y: [''] },
      body: '/wA=',
      isBase64Encoded: true,
      requestContext: {
        serviceNetworkArn: '',
        serviceArn: 'arn:s',
        targetGroupArn: 'arn:g',
        region: 'local',
        identity: { sourceVpcArn: '', type: 'NONE', principal: '10.0.0.1' },
        timeEpoch: '5000',
      },
    });
  });
  test.each([
    ['{"statusCode":200}', { statusCode: 200, headers: {}, body: Buffer.from('') }],
    [
      '{"statusCode":404,"headers":{"X-A":1,"Content-Length":9},"body":"aGk=","isBase64Encoded":true}',
      { statusCode: 404, headers: { 'X-A': '1' }, body: Buffer.from('hi') },
    ],
    ['', undefined],
    ['hello', undefined],
    ['{"statusCode":"200"}', undefined],
    ['{"statusCode":99}', undefined],
    ['{"statusCode":200,"body":7}', undefined],
    ['{"statusCode":200,"headers":{"a b":"c"}}', undefined],
    ['{"statusCode":200,"headers":{"a":"b\\r\\nc: d"}}', undefined],
  ])('the answer %s', (text, expected) => {
    expect(functionReply(text)).toEqual(expected);
  });
});

describe('errors have the shape of the original', () => {
  test.each([
    [
      new InvalidFieldsError([
        { resource: 'TargetGroup', field: 'config.port', code: 'invalid', message: 'must be' },
      ]),
      400,
      'ValidationException',
      { reason: 'fieldValidationFailed', fieldList: [{ name: 'config.port', message: 'must be' }] },
    ],
    [
      new InvalidFieldsError([
        { resource: 'Request', field: '', code: 'invalid', message: 'the body must be an object' },
      ]),
      400,
      'ValidationException',
      { message: 'the body must be an object', reason: 'fieldValidationFailed' },
    ],
    [notFound('no such page'), 404, 'UnknownOperationException', { message: 'no such page' }],
    [
      invalidArgument('not so', { details: { reason: 'cannotParse' } }),
      400,
      'ValidationException',
      { reason: 'cannotParse' },
    ],
    [
      notFound('there is none', { details: { resourceId: 'tg-1', resourceType: 'TARGET_GROUP' } }),
      404,
      'ResourceNotFoundException',
      { message: 'there is none', resourceId: 'tg-1', resourceType: 'TARGET_GROUP' },
    ],
    [
      new EngineError('resource_exhausted', 'full', { details: { quotaCode: 'q' } }),
      402,
      'ServiceQuotaExceededException',
      { message: 'full', quotaCode: 'q', serviceCode: 'vpc-lattice' },
    ],
    [
      new EngineError('forbidden', 'no', { details: { kind: 'InvalidSignatureException' } }),
      403,
      'InvalidSignatureException',
      { message: 'no' },
    ],
    [new Error('boom'), 500, 'InternalServerException', {}],
  ])('%s', (error, status, name, body) => {
    const failure = toTargetsFailure(error);
    expect(failure.status).toBe(status);
    expect(failure.headers['x-amzn-errortype']).toBe(name);
    expect(failure.body).toMatchObject(body);
  });
});
