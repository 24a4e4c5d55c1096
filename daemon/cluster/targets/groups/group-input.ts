import { invariant } from '../../../base/errors.ts';
import { Fields } from '../input/fields.ts';
import { readName, readTags, readToken, type Tags } from '../input/resource-rules.ts';
import { fingerprintOf } from '../input/identifiers.ts';
import { readConfig } from './config-rules.ts';
import { GROUP_TYPES, type GroupConfig, type GroupType } from './target-group.ts';

/** A request for a group that keeps all rules. */
export interface GroupRequest {
  name: string;
  type: GroupType;
  config: GroupConfig;
  tags: Tags;
  clientToken: string | undefined;
  /** Equal for requests that ask for the same, whatever their tokens are. */
  fingerprint: string;
}

/** Reads the body of CreateTargetGroup (seed 002, 2B). Throws InvalidFieldsError with every field that is wrong. */
export function readGroupRequest(body: unknown): GroupRequest {
  const fields = new Fields(body, 'TargetGroup');
  fields.only('name', 'type', 'clientToken', 'config', 'tags');
  const name = readName(fields, 'tg-');
  const type = fields.required('type', (field) => fields.choice(field, GROUP_TYPES));
  const clientToken = readToken(fields);
  const tags = readTags(fields);
  const config = type === undefined ? {} : readConfig(fields.inside('config'), type);
  fields.refuse();
  invariant(name !== undefined && type !== undefined, 'a required field is absent and was not refused');
  return { name, type, config, tags, clientToken, fingerprint: fingerprintOf({ name, type, config, tags }) };
}
