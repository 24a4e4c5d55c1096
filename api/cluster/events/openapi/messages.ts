import {
  field,
  flag,
  message,
  nested,
  optional,
  repeated,
  text,
} from '../../../../daemon/base/wire/protobuf.ts';

/**
 * OpenAPI 2 as protobuf (gnostic's OpenAPIv2.proto), as much of it as `documentV2` says. Its schemas are not nested
 * deeper than a list or a map in a field of a definition, so that no message has itself as a field.
 */
const vendor = message({
  name: field(1, text),
  /** YAML, of which JSON is a part. */
  value: optional(2, nested(message({ yaml: field(2, text) }))),
});

const leaf = { ref: field(1, text), format: field(2, text), type: typeItem() };

function typeItem() {
  return optional(22, nested(message({ value: repeated(1, text) })));
}

const leafSchema = message(leaf);

const property = {
  ...leaf,
  additionalProperties: optional(21, nested(message({ schema: optional(1, nested(leafSchema)) }))),
  items: optional(23, nested(message({ schema: repeated(1, nested(leafSchema)) }))),
};

const namedProperty = message({ name: field(1, text), value: optional(2, nested(message(property))) });

const definition = message({
  ...leaf,
  properties: optional(25, nested(message({ named: repeated(1, nested(namedProperty)) }))),
  vendor: repeated(31, nested(vendor)),
});

const namedDefinition = message({ name: field(1, text), value: optional(2, nested(definition)) });

const bodyParameter = message({
  name: field(2, text),
  in: field(3, text),
  required: field(4, flag),
  schema: optional(5, nested(leafSchema)),
});
const queryParameter = message({
  required: field(1, flag),
  in: field(2, text),
  name: field(4, text),
  type: field(6, text),
});
const pathParameter = message({
  required: field(1, flag),
  in: field(2, text),
  name: field(4, text),
  type: field(5, text),
});
const parameter = message({
  body: optional(1, nested(bodyParameter)),
  other: optional(
    2,
    nested(message({ query: optional(3, nested(queryParameter)), path: optional(4, nested(pathParameter)) })),
  ),
});
const parameterItem = message({ parameter: optional(1, nested(parameter)) });

const response = message({
  description: field(1, text),
  schema: optional(2, nested(message({ schema: optional(1, nested(leafSchema)) }))),
});
const namedResponse = message({
  name: field(1, text),
  value: optional(2, nested(message({ response: optional(1, nested(response)) }))),
});

const operation = message({
  description: field(3, text),
  produces: repeated(6, text),
  parameters: repeated(8, nested(parameterItem)),
  responses: optional(9, nested(message({ named: repeated(1, nested(namedResponse)) }))),
  vendor: repeated(13, nested(vendor)),
});

const pathItem = message({
  get: optional(2, nested(operation)),
  put: optional(3, nested(operation)),
  post: optional(4, nested(operation)),
  delete: optional(5, nested(operation)),
  patch: optional(8, nested(operation)),
  parameters: repeated(9, nested(parameterItem)),
});
const namedPath = message({ name: field(1, text), value: optional(2, nested(pathItem)) });

/** `openapi.v2.Document` */
export const documentMessage = message({
  swagger: field(1, text),
  info: optional(2, nested(message({ title: field(1, text), version: field(2, text) }))),
  paths: optional(8, nested(message({ named: repeated(2, nested(namedPath)) }))),
  definitions: optional(9, nested(message({ named: repeated(1, nested(namedDefinition)) }))),
});
