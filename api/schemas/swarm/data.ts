import { mapOf, secret, struct, text } from '../schema.ts';
import type { Schema } from '../schema.ts';

const labels = secret(mapOf(text));
const driver = struct({ Name: text, Options: labels });
const common = { Name: text, Labels: labels, Data: secret(text), Templating: driver };

/** Body of POST /configs/create and /configs/{id}/update (`ConfigRequest`). */
export const configSchema: Schema = struct(common);

/** Body of POST /secrets/create and /secrets/{id}/update (`SecretRequest`). */
export const secretSchema: Schema = struct({ ...common, Driver: driver });
