import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const CACHE = '/var/cache/berth-github-schemas';

/** Packages that hold what GitHub publishes, and which of their files. Too large to be installed with ours. */
const DOCUMENTS = {
  /** Answers of the REST API. */
  answers: { name: '@octokit/openapi', version: '23.0.2' },
  /** Payloads of webhooks. */
  payloads: { name: '@octokit/openapi-webhooks', version: '12.1.0' },
} as const;

const FILE = 'package/generated/api.github.com.json';

export type SchemaKind = keyof typeof DOCUMENTS;

/** Whether the documents are here or could be fetched. */
export function hasGithubSchemas(): boolean {
  try {
    documentPath('answers');
    documentPath('payloads');
    return true;
  } catch (error) {
    // No registry of packages: what needs them is skipped, and this is why.
    console.error(String(error));
    return false;
  }
}

const ajvs = new Map<SchemaKind, Ajv2020>();

/** What is wrong with a value by one of GitHub's schemas, `hook`; empty = nothing. */
export function schemaProblems(kind: SchemaKind, schema: string, value: unknown): string[] {
  const validate = ajvOf(kind).getSchema(`${kind}#/components/schemas/${schema}`);
  if (validate === undefined) {
    return [`GitHub has no schema ${schema}`];
  }
  const isRight = validate(value);
  return isRight === true
    ? []
    : (validate.errors ?? []).map(({ instancePath, message, params }) =>
        [instancePath, message, JSON.stringify(params)].join(' '),
      );
}

function ajvOf(kind: SchemaKind): Ajv2020 {
  let ajv = ajvs.get(kind);
  if (ajv === undefined) {
    ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
    addFormats.default(ajv);
    ajv.addFormat('timestamp', true);
    ajv.addFormat('repo.nwo', true);
    ajv.addFormat('ssh-key', true);
    ajv.addFormat('ssh-key fingerprint', true);
    ajv.addSchema(withNulls(JSON.parse(readFileSync(documentPath(kind), 'utf8'))), kind);
    ajvs.set(kind, ajv);
  }
  return ajv;
}

/** OpenAPI 3.0 says `nullable` where JSON Schema has a type of its own. */
function withNulls(value: unknown): object {
  return walk(value) as object;
}

function walk(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(walk);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'example' && key !== 'examples')
      .map(([key, inner]) => [key, walk(inner)]),
  );
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest;
}

function documentPath(kind: SchemaKind): string {
  const { name, version } = DOCUMENTS[kind];
  const file = path.join(CACHE, `${name.replace('@octokit/', '')}-${version}.json`);
  if (existsSync(file)) {
    return file;
  }
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(path.join(CACHE, 'draft-'));
  try {
    execFileSync('npm', ['pack', '--silent', `${name}@${version}`], { cwd: draft });
    const [archive = ''] = readdirSync(draft);
    const text = execFileSync('tar', ['-xzOf', archive, FILE], { cwd: draft, maxBuffer: 2 ** 28 });
    writeFileSync(path.join(draft, 'document.json'), text);
    renameSync(path.join(draft, 'document.json'), file);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return file;
}
