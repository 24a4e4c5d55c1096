import { LLB_CAPABILITIES } from '../../../api/types/build/capabilities.ts';
import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import { notImplemented } from '../../base/errors.ts';

const KNOWN: ReadonlySet<string> = new Set(LLB_CAPABILITIES);

/** Throws not_implemented with the name of the first that is not there. Pure. */
export function refuseCapabilities({ notes }: BuildDefinition): void {
  for (const { capabilities } of notes.values()) {
    const missing = capabilities.find((name) => !KNOWN.has(name));
    if (missing !== undefined) {
      throw notImplemented(`capability ${missing} of a graph (LLB) is not supported`);
    }
  }
}
