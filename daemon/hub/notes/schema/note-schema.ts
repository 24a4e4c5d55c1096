const text = { type: 'string' } as const;
const uri = { type: 'string', format: 'uri' } as const;
/** One, or a list of them. A format says nothing of what is no text. */
const uris = { type: ['string', 'array'], format: 'uri', items: uri } as const;
const flag = { type: 'boolean' } as const;
const texts = { type: 'array', items: text } as const;

function closed(properties: object, required: readonly string[] = []): object {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** `values`: with spaces between them. */
function oneOf(values: string): object {
  return { type: 'string', enum: values.split(' ') };
}

const application = closed(
  {
    category: oneOf(
      'automation auth ai browser development development/oci development/python development/rust ' +
        'development/database development/git crypto communication file-sharing documents social ' +
        'gaming network location system system/systemd compression monitoring monitoring/logs ' +
        'management media media/3d media/video media/image media/audio vpn osint desktop text ' +
        'text/view text/editor serialization shell finance backup terminal productivity files tools ' +
        'package-manager-a containers virtualization web news utility data development/ai storage ' +
        'containers/orchestrator',
    ),
    'mobile-app-id': text,
    'package-id': text,
    'app-store-page': uri,
    cli: flag,
    gui: flag,
    http: flag,
    tui: flag,
    mobile: flag,
  },
  ['category'],
);

const emulator = closed(
  {
    'target-system': oneOf(
      'console-a-switch console-a-wiiu console-a-wii console-a-ds console-a-3ds console-a-nes ' +
        'console-a-64 console-a-gameboy-advance console-b-2 console-b-3 console-b-4',
    ),
  },
  ['target-system'],
);

const websiteMeta = closed(
  {
    category: oneOf(
      'server finance social service development search information market knowledge board company ' +
        'shop content images link-registry api',
    ),
    status: { type: ['string', 'null'], enum: ['down', 'up', null] },
  },
  ['category'],
);

/**
 * What the metadata of a note may be (seed 002 section 2D), as JSON Schema draft 2020-12. Formats are to be asserted.
 * Its id names no host, so that it is the same at every hub.
 */
export const NOTE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:berth:schema:note-metadata:v1',
  title: 'Note metadata',
  description: 'The front matter of a note. The formats date and uri are asserted.',
  ...closed({
    application,
    'operating-system': closed({
      family: oneOf('desktop-os-a desktop-os-b linux mobile-os-a bsd'),
    }),
    format: closed({ mime: text, extension: { type: ['string', 'array'], items: text } }),
    filesystem: closed({}),
    concept: closed({}),
    emulator,
    device: closed({ vendor: text }, ['vendor']),
    meta: closed({ kind: oneOf('collection') }, ['kind']),
    science: closed({ unit: closed({}) }),
    'website-meta': websiteMeta,
    website: uris,
    rev: { type: 'string', format: 'date', description: 'Date of the last change.' },
    tags: texts,
    aliases: texts,
    repo: uris,
    source: uri,
    wiki: uri,
    'distro-wiki': uri,
    rfc: uri,
    chart: uri,
  }),
} as const;
