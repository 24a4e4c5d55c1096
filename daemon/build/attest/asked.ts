import { invalidArgument, notImplemented } from '../../base/errors.ts';
import { csvFields } from '../../base/go/csv-fields.ts';

/** What a client wants to be said of the images that it builds. */
export interface AskedAttestations {
  /** How they were made; undefined = nothing is asked for. */
  provenance: AskedProvenance | undefined;
  /** What is in them; undefined = nobody looks. */
  scan: AskedScan | undefined;
}

/** An image that looks through others. */
export interface AskedScan {
  /** Normalized by who pulls it. */
  scanner: string;
  /** What it is told besides. */
  parameters: ReadonlyMap<string, string>;
  /** What it said before is not taken. */
  isFresh: boolean;
}

export interface AskedProvenance {
  /** `max`: arguments, steps and the Dockerfile as well. */
  mode: 'min' | 'max';
  /** Of https://slsa.dev/provenance. */
  version: 'v0.2' | 'v1';
  builderId: string;
  /** As the client says. */
  isReproducible: boolean;
  /** Only where an image holds it: clients ask so by default. */
  isInlineOnly: boolean;
  /** A build that reads files of the client fails. */
  mustBeComplete: boolean;
  fileName: string;
}

/** As BuildKit has it. */
const USUAL_SCANNER = 'docker/buildkit-syft-scanner:stable-1';
const ATTEST = 'attest:';
/** The same by `--build-arg`. */
const ATTEST_ARGUMENT = 'build-arg:BUILDKIT_ATTEST_';

/**
 * Reads `attest:provenance=mode=max,version=v1` and its like, of what a client asks of a frontend. Throws
 * invalid_argument and not_implemented that name type and option. Pure.
 */
export function readAttestations(attributes: ReadonlyMap<string, string>): AskedAttestations {
  const asked: AskedAttestations = { provenance: undefined, scan: undefined };
  for (const [name, value] of attributes) {
    const type = typeOf(name);
    if (type === undefined) {
      continue;
    }
    const options = new Options(type, value);
    const said = options.take('type');
    if (said !== '' && said !== type) {
      throw invalidArgument(`attestation ${type}: it is of type ${said}`);
    }
    // What clients say instead of leaving it out.
    const isDisabled = options.flag('disabled');
    if (type === 'provenance') {
      asked.provenance = isDisabled ? undefined : provenanceOf(options);
    } else if (type === 'sbom') {
      asked.scan = isDisabled ? undefined : scanOf(options, attributes.get('no-cache') === '');
    } else {
      throw invalidArgument(`unknown attestation type ${JSON.stringify(type)}`);
    }
    if (!isDisabled) {
      options.refuse();
    }
  }
  return asked;
}

/** Undefined: it is about something else. Pure. */
export function isAttestation(name: string): boolean {
  return typeOf(name) !== undefined;
}

function typeOf(name: string): string | undefined {
  const prefix = [ATTEST, ATTEST_ARGUMENT].find((each) => name.startsWith(each));
  return prefix === undefined ? undefined : name.slice(prefix.length).toLowerCase();
}

function provenanceOf(options: Options): AskedProvenance {
  const usual = { mode: 'max', version: 'v0.2' };
  const mode = options.take('mode') || usual.mode;
  const version = options.take('version') || usual.version;
  if (mode !== 'min' && mode !== 'max' && mode !== 'full') {
    throw invalidArgument(`attestation provenance: invalid mode ${JSON.stringify(mode)}: min and max are`);
  }
  if (version !== 'v0.2' && version !== 'v1') {
    throw invalidArgument(
      `attestation provenance: invalid version ${JSON.stringify(version)}: v0.2 and v1 are`,
    );
  }
  const fileName = options.take('filename') || 'provenance.json';
  if (fileName.includes('/') || fileName === '.' || fileName === '..') {
    throw invalidArgument(`attestation provenance: filename ${fileName}: must be a name without a directory`);
  }
  return {
    mode: mode === 'min' ? 'min' : 'max',
    version,
    builderId: options.take('builder-id'),
    isReproducible: options.flag('reproducible'),
    isInlineOnly: options.flag('inline-only'),
    mustBeComplete: options.flag('complete-materials'),
    fileName,
  };
}

function scanOf(options: Options, isFresh: boolean): AskedScan {
  return { scanner: options.take('generator') || USUAL_SCANNER, parameters: options.takeAll(), isFresh };
}

/** What is said of one attestation, and was not read yet. */
class Options {
  readonly #type: string;
  readonly #left: Map<string, string>;

  constructor(type: string, text: string) {
    this.#type = type;
    this.#left = new Map(
      csvFields(text).map((field): [string, string] => {
        const at = field.indexOf('=');
        return at < 0 ? [field, ''] : [field.slice(0, at), field.slice(at + 1)];
      }),
    );
  }

  /** `''` = it is not said. */
  take(name: string): string {
    const value = this.#left.get(name) ?? '';
    this.#left.delete(name);
    return value;
  }

  takeAll(): ReadonlyMap<string, string> {
    const all = new Map(this.#left);
    this.#left.clear();
    return all;
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (!/^(?:|1|t|true|0|f|false)$/i.test(value)) {
      throw invalidArgument(`attestation ${this.#type}: ${name}=${value}: must be true or false`);
    }
    return /^(?:1|t)/i.test(value);
  }

  /** Throws not_implemented that names the first. */
  refuse(): void {
    for (const [name, value] of this.#left) {
      throw notImplemented(`attestation ${this.#type}: option ${name}=${value} is not supported`);
    }
  }
}
