import { describe, expect, it } from 'vitest';
import { platformFits } from '../../../../../swarm/planner/placement/platform.ts';
import {
  isPluginNeeded,
  pluginsFit,
  type NeededPlugin,
} from '../../../../../swarm/planner/placement/plugins.ts';
import type { Platform } from '../../../../../swarm/planner/placement/traits.ts';

const platform = (text: string): Platform => {
  const [os = '', architecture = ''] = text.split('/');
  return { os, architecture };
};

const volume = (name: string): NeededPlugin => ({ type: 'Volume', name });
const log = (name: string): NeededPlugin => ({ type: 'Log', name });

describe('63: platform aliases', () => {
  it.each([
    [[], 'linux/x86_64', true],
    [['linux/amd64'], 'linux/x86_64', true],
    [['linux/x86_64'], 'linux/amd64', true],
    [['linux/arm64'], 'linux/aarch64', true],
    [['linux/aarch64'], 'linux/aarch64', true],
    [['linux/'], 'linux/riscv64', true],
    [['/amd64'], 'linux/x86_64', true],
    [['windows/amd64'], 'linux/x86_64', false],
    [['linux/arm64', 'linux/amd64'], 'linux/x86_64', true],
    [['linux/arm64'], 'linux/x86_64', false],
    [['linux/amd64'], '/', false],
  ])('images for %j on %s: %s', (wanted, node, expected) => {
    expect(platformFits(wanted.map(platform), platform(node))).toBe(expected);
  });
});

describe('64: plugin missing', () => {
  const reported = [
    { type: 'Network', name: 'overlay' },
    { type: 'Volume', name: 'store:latest' },
    { type: 'Volume', name: 'other:v2' },
    { type: 'Log', name: 'json-file' },
  ];

  it.each<[title: string, needed: NeededPlugin[], reported: typeof reported | undefined, expected: boolean]>([
    ['a network driver', [{ type: 'Network', name: 'overlay' }], reported, true],
    ['a name without its tag', [volume('store')], reported, true],
    ['another tag than latest', [volume('other')], reported, false],
    ['another type of the same name', [volume('overlay')], reported, false],
    ['a log driver that is not there', [log('gelf')], reported, false],
    ['a log driver where no log drivers are reported', [log('gelf')], reported.slice(0, 3), true],
    ['anything where nothing is reported', [volume('x')], undefined, true],
  ])('%s', (_title, needed, plugins, expected) => {
    expect(pluginsFit(needed, plugins)).toBe(expected);
  });

  it('what every engine has is not asked for', () => {
    const names: NeededPlugin[] = [
      volume(''),
      volume('local'),
      volume('nfs'),
      log('none'),
      log(''),
      log('gelf'),
    ];
    expect(names.filter(isPluginNeeded)).toEqual([volume('nfs'), log('gelf')]);
  });
});
