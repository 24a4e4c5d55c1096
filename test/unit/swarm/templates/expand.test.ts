import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { templateContext } from '../../../../swarm/templates/context.ts';
import { expand } from '../../../../swarm/templates/execute.ts';
import { processorTime } from '../../../support/processor-time.ts';

const DATA = templateContext({
  service: { id: 'sid', name: 'web', labels: { zone: 'a', 'com.x/y': 'dotted', __proto__x: 'p' } },
  node: { id: 'nid', hostname: 'host1', platform: { Architecture: 'x86_64', OS: 'linux' } },
  task: { id: 'tid', slot: 3 },
});

test.each<[string, string]>([
  ['plain', 'plain'],
  ['', ''],
  ['{{.Service.Name}}.{{.Task.Slot}}.{{.Task.ID}}', 'web.3.tid'],
  ['{{.Task.Name}}', 'web.3.tid'],
  [
    '{{ .Node.ID }}/{{.Node.Hostname}}/{{.Node.Platform.Architecture}}/{{.Node.Platform.OS}}',
    'nid/host1/x86_64/linux',
  ],
  ['{{.Service.ID}} {{.Service.Labels.zone}}', 'sid a'],
  ['{{index .Service.Labels "com.x/y"}}', 'dotted'],
  ['[{{index .Service.Labels "none"}}]', '[]'],
  ['{{join "-" .Service.Name "x" `y`}}', 'web-x-y'],
  ['{{.Service.Name | printf "%s:%s" "a"}}', 'a:web'],
  [
    '{{printf "%5s|%-5s|%05d|%q|%v|%x|%%|%t" "ab" "cd" 42 "e\\"f" .Service.Labels 255 true}}',
    '   ab|cd   |00042|"e\\"f"|map[__proto__x:p com.x/y:dotted zone:a]|ff|%|true',
  ],
  ['{{printf "%s" 5}}{{printf "%d"}}{{printf "a" "b"}}', '%!s(int=5)%!d(MISSING)a%!(EXTRA string=b)'],
  ['a {{- " b " -}}  c', 'a b c'],
  ['a{{/* no */}}b{{- /* no */ -}} c', 'abc'],
  ['{{if eq .Service.Name "web"}}yes{{else}}no{{end}}', 'yes'],
  ['{{if .Service.Labels.zone | eq "b"}}1{{else if and true .Node.ID}}2{{else}}3{{end}}', '2'],
  ['{{range $k, $v := .Service.Labels}}{{$k}}={{$v}},{{end}}', '__proto__x=p,com.x/y=dotted,zone=a,'],
  ['{{range .Service.Labels}}{{.}};{{else}}none{{end}}', 'p;dotted;a;'],
  ['{{with .Service.Labels.zone}}{{.}}{{$.Node.ID}}{{end}}', 'anid'],
  ['{{$x := "1"}}{{if true}}{{$x = "2"}}{{end}}{{$x}}', '2'],
  ['{{(index .Service.Labels "zone") | len}}{{len .Service.Labels}}', '13'],
  ['{{not true}} {{or "" "z"}} {{lt 1 2}} {{ge "a" "b"}} {{ne 1 2}}', 'false z true false true'],
  ['{{"a\\tb\\x41\\u00e9"}}', 'a\tbAé'],
  ['{{print 1 2 "x" 3}}', '1 2x3'],
])('a template %j becomes %j', (template, expected) => {
  expect(expand(template, DATA)).toBe(expected);
});

test.each<[string, string]>([
  ['{{.Service.Labels.nope}}', 'map has no entry for key "nope"'],
  ['{{.Service.Nope}}', "can't evaluate field Nope in type struct"],
  ['{{.Service.Name.X}}', "can't evaluate field X in type string"],
  ['{{.Service.Labels.__proto__}}', 'map has no entry for key "__proto__"'],
  ['{{.constructor}}', "can't evaluate field constructor in type *template.Context"],
  ['{{nope}}', 'function "nope" not defined'],
  ['{{env "HOME"}}', 'function "env" not defined'],
  ['{{.Service.ID', 'unclosed action'],
  ['{{}}', 'missing value for command'],
  ['{{.Service.ID |}}', 'missing value for command'],
  ['{{"abc}}', 'unexpected "\\"" in command'],
  ['{{if true}}', 'unexpected EOF'],
  ['{{end}}', 'unexpected {{end}}'],
  ['{{if true}}{{else}}{{else}}{{end}}', 'expected end; found {{else}}'],
  ['{{define "x"}}{{end}}', '{{define}} is not supported here'],
  ['{{$x}}', 'undefined variable "$x"'],
  ['{{$x = 1}}', 'undefined variable "$x"'],
  ['{{"a" "b"}}', 'can\'t give argument to non-function "a"'],
  ['{{index .Service.Labels 1}}', 'expected string; got int'],
  ['{{index "abc" 7}}', 'index out of range: 7'],
  ['{{len 5}}', 'len of type int'],
  ['{{lt 1 "a"}}', 'incompatible types for comparison'],
  ['{{range 5}}{{end}}', "range can't iterate over 5"],
  ['{{(.Service.ID}}', 'unclosed left paren'],
  ['{{"\\y"}}', 'invalid syntax in "\\y"'],
  ['a\nb{{.X}}', 'template: expansion:2:3: '],
  ['a\nb{{/* \n */}}{{1}}{{.X}}', 'template: expansion:3:12: '],
])('a template %j is refused: %s', (template, text) => {
  expect(() => expand(template, DATA)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(text) as string }),
  );
});

const DOUBLING = `{{$x := "ab"}}${'{{$x = printf "%s%s" $x $x}}'.repeat(40)}{{$x}}`;
const LOOPS = '{{range $.Service.Labels}}'.repeat(12) + '{{end}}'.repeat(12);

test.each<[string, string, string]>([
  ['doubles a text', DOUBLING, 'the text is longer than'],
  [
    'prints a long text often',
    `{{$x := \`${'y'.repeat(1e5)}\`}}${'{{$x}}'.repeat(20)}`,
    'the text is longer than',
  ],
  [
    'joins a long text often',
    `{{$x := \`${'y'.repeat(1e5)}\`}}{{join ""${' $x'.repeat(20)}}}`,
    'longer than',
  ],
  ['has very many actions', '{{1}}\n'.repeat(170_000), 'takes more than'],
  ['nests loops', LOOPS, `takes more than ${limits.swarmTemplateStepsMax} steps`],
  ['nests blocks', '{{if true}}'.repeat(100) + '{{end}}'.repeat(100), 'blocks are nested deeper'],
  ['chains else', `{{if false}}${'{{else if false}}'.repeat(100)}{{end}}`, 'blocks are nested deeper'],
  ['nests parentheses', `{{${'('.repeat(1e4)}1${')'.repeat(1e4)}}}`, 'parentheses are nested deeper'],
  ['asks for a wide number', '{{printf "%999999999d" 1}}', 'the width of %999999999d is more than'],
])('bomb: a template that %s is refused at once', (_what, template, text) => {
  const tookMs = processorTime();
  expect(() => expand(template, DATA)).toThrow(text);
  expect(tookMs()).toBeLessThan(2000);
});

test('a task without a slot has its node in its name and slot', () => {
  const data = templateContext({
    service: { id: 's', name: 'g', labels: {} },
    node: { id: 'n1', hostname: 'h' },
    task: { id: 't1' },
  });
  expect(expand('{{.Task.Name}} {{.Task.Slot}}', data)).toBe('g.n1.t1 n1');
});
