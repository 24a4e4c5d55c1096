import { documentMessage } from './messages.ts';

/** What `documentV2` makes, as far as the names of its objects are not data. */
interface DocumentV2 {
  swagger: string;
  info: { title: string; version: string };
  paths: Readonly<Record<string, PathItem>>;
  definitions: Readonly<Record<string, Definition>>;
}

type Method = 'get' | 'put' | 'post' | 'delete' | 'patch';

type PathItem = Readonly<Partial<Record<Method, Operation>>> & { parameters: readonly Parameter[] };

interface Operation extends Vendor {
  description: string;
  produces: string[];
  parameters: readonly Parameter[];
  responses: Readonly<Record<string, { description: string; schema?: Schema }>>;
}

interface Parameter {
  name: string;
  in: 'query' | 'path' | 'body';
  required?: boolean;
  type?: string;
  schema?: Schema;
}

interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  items?: Schema;
  additionalProperties?: Schema;
}

interface Definition extends Schema, Vendor {
  properties?: Readonly<Record<string, Schema>>;
}

type Vendor = Readonly<Record<`x-${string}`, unknown>>;

/** A document of `documentV2` as bytes of `openapi.v2.Document`, which clients before Kubernetes 1.24 alone read. */
export function protobufOf(made: object): Buffer {
  // `documentV2` alone makes it.
  const document = made as DocumentV2;
  return documentMessage.encode({
    swagger: document.swagger,
    info: document.info,
    paths: { named: named(document.paths, pathOf) },
    definitions: { named: named(document.definitions, definitionOf) },
  });
}

function named<T, U>(
  given: Readonly<Record<string, T>>,
  made: (value: T) => U,
): { name: string; value: U }[] {
  return Object.entries(given).map(([name, value]) => ({ name, value: made(value) }));
}

function pathOf({ parameters, ...operations }: PathItem) {
  const made = Object.entries(operations).map(([method, operation]) => [method, operationOf(operation)]);
  return { ...Object.fromEntries(made), parameters: parameters.map(parameterOf) };
}

function operationOf(operation: Operation) {
  const { description, produces, parameters, responses } = operation;
  return {
    description,
    produces,
    parameters: parameters.map(parameterOf),
    responses: { named: named(responses, responseOf) },
    vendor: vendorOf(operation),
  };
}

function responseOf({ description, schema }: { description: string; schema?: Schema }) {
  return { response: { description, ...(schema && { schema: { schema: leafOf(schema) } }) } };
}

function parameterOf({ name, in: place, required = false, type = '', schema = {} }: Parameter) {
  const common = { name, in: place, required };
  return {
    parameter:
      place === 'body'
        ? { body: { ...common, schema: leafOf(schema) } }
        : { other: { [place]: { ...common, type } } },
  };
}

function definitionOf(definition: Definition) {
  const { properties = {} } = definition;
  return {
    ...leafOf(definition),
    properties: { named: named(properties, propertyOf) },
    vendor: vendorOf(definition),
  };
}

function propertyOf(schema: Schema) {
  const { items, additionalProperties } = schema;
  return {
    ...leafOf(schema),
    ...(items && { items: { schema: [leafOf(items)] } }),
    ...(additionalProperties && { additionalProperties: { schema: leafOf(additionalProperties) } }),
  };
}

function leafOf({ $ref = '', type, format = '' }: Schema) {
  return { ref: $ref, format, ...(type !== undefined && { type: { value: [type] } }) };
}

function vendorOf(object: Vendor): { name: string; value: { yaml: string } }[] {
  return Object.entries(object)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => ({ name, value: { yaml: JSON.stringify(value) } }));
}
