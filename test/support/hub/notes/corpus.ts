/** Front matter of notes, and what is wrong with it: judged by us, by plain ajv and by the linter of editors. */
export interface CorpusNote {
  title: string;
  yaml: string;
  /** Fields that are wrong, in any order; empty = it is right. */
  wrong: readonly string[];
}

/** Of the seed (section 2D), written down once more: the schema is compared with it. */
export const ENUMS: Readonly<Record<string, readonly (string | null)[]>> = {
  'application.category':
    `automation, auth, ai, browser, development, development/oci, development/python, development/rust,
    development/database, development/git, crypto, communication, file-sharing, documents, social, gaming, network,
    location, system, system/systemd, compression, monitoring, monitoring/logs, management, media, media/3d,
    media/video, media/image, media/audio, vpn, osint, desktop, text, text/view, text/editor, serialization, shell,
    finance, backup, terminal, productivity, files, tools, package-manager-a, containers, virtualization, web, news,
    utility, data, development/ai, storage, containers/orchestrator`.split(/,\s+/),
  'operating-system.family': ['desktop-os-a', 'desktop-os-b', 'linux', 'mobile-os-a', 'bsd'],
  'emulator.target-system':
    `console-a-switch console-a-wiiu console-a-wii console-a-ds console-a-3ds console-a-nes
    console-a-64 console-a-gameboy-advance console-b-2 console-b-3 console-b-4`.split(/\s+/),
  'meta.kind': ['collection'],
  'website-meta.category':
    `server finance social service development search information market knowledge board company
    shop content images link-registry api`.split(/\s+/),
  'website-meta.status': ['down', 'up', null],
};

function yamlOf(field: string, value: string | null): string {
  const [outer = '', inner = ''] = field.split('.');
  const required = field === 'website-meta.status' ? '  category: server\n' : '';
  return `${outer}:\n${required}  ${inner}: ${value ?? 'null'}\n`;
}

const eachValue: CorpusNote[] = Object.entries(ENUMS).flatMap(([field, values]) => [
  ...values.map((value) => ({ title: `${field} ${value}`, yaml: yamlOf(field, value), wrong: [] })),
  { title: `${field} of none`, yaml: yamlOf(field, 'no-such-value'), wrong: [field] },
]);

const URIS = ['website', 'repo', 'source', 'wiki', 'distro-wiki', 'rfc', 'chart'];
const LISTS = ['tags', 'aliases'];

const eachField: CorpusNote[] = [
  ...URIS.flatMap((field) => [
    { title: `${field} is a URI`, yaml: `${field}: https://example.org/a?b#c\n`, wrong: [] },
    { title: `${field} is no URI`, yaml: `${field}: not a URI\n`, wrong: [field] },
    { title: `${field} is relative`, yaml: `${field}: /a/b\n`, wrong: [field] },
    { title: `${field} is a number`, yaml: `${field}: 5\n`, wrong: [field] },
    ...(field === 'website' || field === 'repo'
      ? [
          {
            title: `${field} are URIs`,
            yaml: `${field}:\n  - https://a.example\n  - oci://b.example/c\n`,
            wrong: [],
          },
          {
            title: `${field} with one of two`,
            yaml: `${field}: ["https://a.example", x y]\n`,
            wrong: [`${field}.1`],
          },
        ]
      : [{ title: `${field} is a list`, yaml: `${field}: [https://a.example]\n`, wrong: [field] }]),
  ]),
  ...LISTS.flatMap((field) => [
    { title: `${field} are texts`, yaml: `${field}: [a, b c, "1"]\n`, wrong: [] },
    { title: `${field} is empty`, yaml: `${field}: []\n`, wrong: [] },
    { title: `${field} is one text`, yaml: `${field}: a\n`, wrong: [field] },
    { title: `${field} has a number`, yaml: `${field}: [a, 1]\n`, wrong: [`${field}.1`] },
  ]),
  ...['cli', 'gui', 'http', 'tui', 'mobile'].flatMap((flag) => [
    { title: `application.${flag}`, yaml: `application: {category: shell, ${flag}: true}\n`, wrong: [] },
    {
      title: `application.${flag} is yes, which YAML 1.2 has as a text`,
      yaml: `application: {category: shell, ${flag}: yes}\n`,
      wrong: [`application.${flag}`],
    },
  ]),
];

const others: CorpusNote[] = [
  { title: 'nothing', yaml: '', wrong: ['metadata'] },
  { title: 'no fields', yaml: '{}\n', wrong: [] },
  { title: 'null', yaml: 'null\n', wrong: ['metadata'] },
  { title: 'comments alone', yaml: '# nothing\n', wrong: ['metadata'] },
  { title: 'a date', yaml: 'rev: 2024-01-02\n', wrong: [] },
  { title: 'a date in quotes', yaml: 'rev: "2024-02-29"\n', wrong: [] },
  { title: 'a day that is not', yaml: 'rev: 2023-02-29\n', wrong: ['rev'] },
  { title: 'a time', yaml: 'rev: 2024-01-02T00:00:00Z\n', wrong: ['rev'] },
  { title: 'a year', yaml: 'rev: 2024\n', wrong: ['rev'] },
  { title: 'a format', yaml: 'format: {mime: text/csv, extension: csv}\n', wrong: [] },
  { title: 'a format of several', yaml: 'format: {extension: [csv, tsv]}\n', wrong: [] },
  { title: 'a format of a number', yaml: 'format: {extension: [csv, 7]}\n', wrong: ['format.extension.1'] },
  { title: 'empty objects', yaml: 'filesystem: {}\nconcept: {}\nscience: {unit: {}}\n', wrong: [] },
  { title: 'an operating system of no family', yaml: 'operating-system: {}\n', wrong: [] },
  { title: 'several kinds at once', yaml: 'application: {category: ai}\ndevice: {vendor: x}\n', wrong: [] },
  {
    title: 'an application whole',
    yaml:
      'application:\n  category: containers\n  mobile-app-id: org.example\n  package-id: example\n' +
      '  app-store-page: https://apps.example/1\n  cli: true\n  gui: false\n',
    wrong: [],
  },
  {
    title: 'an application without category',
    yaml: 'application: {cli: true}\n',
    wrong: ['application.category'],
  },
  { title: 'an emulator of nothing', yaml: 'emulator: {}\n', wrong: ['emulator.target-system'] },
  { title: 'a device of nobody', yaml: 'device: {}\n', wrong: ['device.vendor'] },
  { title: 'meta without kind', yaml: 'meta: {}\n', wrong: ['meta.kind'] },
  {
    title: 'a website without category',
    yaml: 'website-meta: {status: up}\n',
    wrong: ['website-meta.category'],
  },
  { title: 'null in place of an object', yaml: 'application:\n', wrong: ['application'] },
  { title: 'a list in place of an object', yaml: 'concept: []\n', wrong: ['concept'] },
  { title: 'a list alone', yaml: '- a\n', wrong: ['metadata'] },
  { title: 'a text alone', yaml: 'just a text\n', wrong: ['metadata'] },
  { title: 'a field of nobody', yaml: 'colour: red\n', wrong: ['colour'] },
  ...['filesystem', 'concept', 'operating-system', 'format', 'science'].map((field) => ({
    title: `a field of nobody in ${field}`,
    yaml: `${field}: {colour: red}\n`,
    wrong: [`${field}.colour`],
  })),
  { title: 'a field of nobody far down', yaml: 'science: {unit: {name: m}}\n', wrong: ['science.unit.name'] },
  {
    title: 'fields of nobody where others are needed',
    yaml:
      'application: {category: ai, colour: red}\nemulator: {target-system: console-b-2, colour: red}\n' +
      'device: {vendor: x, colour: red}\nmeta: {kind: collection, colour: red}\n' +
      'website-meta: {category: api, colour: red}\n',
    wrong: ['application', 'emulator', 'device', 'meta', 'website-meta'].map((field) => `${field}.colour`),
  },
  {
    title: 'all kinds of wrong at once',
    yaml: 'application: {category: nothing, cli: 1}\nrev: tomorrow\ntags: {}\nwebsite: [x, 1]\nowner: me\n',
    wrong: ['application.category', 'application.cli', 'rev', 'tags', 'website.0', 'website.1', 'owner'],
  },
  { title: 'an alias', yaml: 'website: &w https://example.org\nsource: *w\n', wrong: [] },
  { title: 'a field that objects have', yaml: '__proto__: {a: 1}\n', wrong: ['__proto__'] },
  { title: 'a constructor', yaml: 'constructor: {a: 1}\n', wrong: ['constructor'] },
];

export const CORPUS: readonly CorpusNote[] = [...eachValue, ...eachField, ...others];
