import { describe, expect, it } from 'vitest';
import {
  constraintsFit,
  labelValue,
  parseConstraints,
} from '../../../../../swarm/planner/placement/constraint.ts';
import type { NodeTraits } from '../../../../../swarm/planner/placement/traits.ts';

const NODE: NodeTraits = {
  id: 'n1',
  hostname: 'Alpha',
  address: '10.1.2.3',
  role: 'worker',
  platform: { architecture: 'x86_64', os: 'linux' },
  labels: new Map([
    ['zone', 'East'],
    ['__proto__', 'odd'],
    ['a.b', 'f*o'],
  ]),
  engineLabels: new Map([['storage', 'ssd']]),
  plugins: undefined,
};

const fits = (text: string, node: Partial<NodeTraits> = {}): boolean =>
  constraintsFit(parseConstraints([text]), { ...NODE, ...node });

describe('62: constraint syntax', () => {
  it.each([
    [' node == node1', 'node', '==', 'node1'],
    ['NoDe==node1', 'NoDe', '==', 'node1'],
    ['no.de!=node1', 'no.de', '!=', 'node1'],
    ['_node==_node1', '_node', '==', '_node1'],
    ['node==[a-b]+c*(n|b)/', 'node', '==', '[a-b]+c*(n|b)/'],
    ['node==node 1', 'node', '==', 'node 1'],
    ['node.ip==2001:db8::/32', 'node.ip', '==', '2001:db8::/32'],
  ])('"%s" is %s %s %s', (text, key, operator, value) => {
    expect(parseConstraints([text])).toEqual([{ key, operator, value }]);
  });

  it.each([
    ['', 'constraint expected one operator from ==, !='],
    ['nodeabc', 'constraint expected one operator from ==, !='],
    ['node ~ abc', 'constraint expected one operator from ==, !='],
    ['1node==a2', "key '1node' is invalid"],
    ['no de== node1', "key 'no de' is invalid"],
    ['no*de==node1', "key 'no*de' is invalid"],
    ['no$de==node1', "key 'no$de' is invalid"],
    ['==node1', "key '' is invalid"],
    ['a!=b==c', "key 'a!=b' is invalid"],
    ['node==', "value '' is invalid"],
    ['node== ', "value '' is invalid"],
    ['node==a>b', "value 'a>b' is invalid"],
    ['node==a~b', "value 'a~b' is invalid"],
    ["node=='a'", "value ''a'' is invalid"],
    ['node==é', "value 'é' is invalid"],
  ])('"%s" is refused: %s', (text, message) => {
    expect(() => parseConstraints(['node.id==n1', text])).toThrow(
      expect.objectContaining({ code: 'internal', message }),
    );
  });
});

describe('62: constraint match', () => {
  it.each([
    ['node.id==n1', true],
    ['NODE.ID==N1', true],
    ['node.id!=n1', false],
    ['node.hostname==alpha', true],
    ['node.hostname!=beta', true],
    ['node.role==worker', true],
    ['node.role==manager', false],
    ['node.platform.os==Linux', true],
    ['node.platform.arch==x86_64', true],
    ['node.labels.zone==east', true],
    ['node.labels.zone==eas', false],
    ['node.labels.Zone==east', false],
    ['node.labels.none!=x', true],
    ['node.labels.none==x', false],
    ['node.labels.__proto__==odd', true],
    ['node.labels.constructor!=x', true],
    ['node.labels.a.b==f*o', true],
    ['node.labels.a.b==foo', false],
    ['Engine.Labels.storage==SSD', true],
    ['engine.labels.storage!=ssd', false],
    ['node.labels.!=x', false],
    ['node.unknown==x', false],
    ['node.unknown!=x', false],
  ])('%s: %s', (text, expected) => {
    expect(fits(text)).toBe(expected);
  });

  it.each([
    ['10.1.2.3', 'node.ip==10.1.2.3', true],
    ['10.1.2.3', 'node.ip==::ffff:10.1.2.3', true],
    ['10.1.2.3', 'node.ip!=10.1.2.3', false],
    ['10.1.2.3', 'node.ip==10.1.0.0/16', true],
    ['10.1.2.3', 'node.ip!=10.1.0.0/16', false],
    ['10.2.2.3', 'node.ip==10.1.0.0/16', false],
    ['2001:db8::2', 'node.ip==2001:DB8:0::2', true],
    ['2001:db8::2', 'node.ip==2001:db8::/64', true],
    ['2001:db8::2', 'node.ip==10.1.0.0/16', false],
    ['', 'node.ip==10.1.2.3', false],
    ['', 'node.ip!=10.1.2.3', true],
    ['10.1.2.3', 'node.ip==10.1.2', false],
    ['10.1.2.3', 'node.ip!=10.1.2', false],
    ['10.1.2.3', 'node.ip!=10.1.2.0/33', false],
  ])('a node at "%s" and %s: %s', (address, text, expected) => {
    expect(fits(text, { address })).toBe(expected);
  });

  it('all have to hold', () => {
    const constraints = parseConstraints(['node.role==worker', 'node.labels.zone==west']);
    expect(constraintsFit(constraints, NODE)).toBe(false);
    expect(constraintsFit([], NODE)).toBe(true);
  });
});

it('labelValue() reads labels only: "" for one that is not there, undefined for what is no label', () => {
  expect(
    ['node.labels.zone', 'engine.labels.storage', 'node.labels.x', 'node.id'].map((key) =>
      labelValue(key, NODE),
    ),
  ).toEqual(['East', 'ssd', '', undefined]);
});
