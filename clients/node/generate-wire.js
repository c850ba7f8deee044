// Writes wire.d.ts: the types of the wire, from schema/openapi.json.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Types that index.d.ts names; the types that they need come with them. */
const ROOTS = [
  "CredentialCommand",
  "CredentialReport",
  "EntryItem",
  "FetchFrame",
  "FetchPolicy",
  "ModifierCommand",
  "ModifierConflict",
  "ModifierReport",
  "PinItem",
  "PrefetchItem",
  "PrefetchReport",
  "Problem",
  "ProblemType",
  "RenewalOrder",
  "WatchFrame",
  "WatchKind",
];

/** The classes of problems, each with the types that it has; the others have one by their status. */
const CLASSES = {
  NoDaemon: "no-daemon",
  Miss: "miss no-such-modifier",
  Gone: "deleted",
  UnknownOrigin: "unknown-origin no-such-origin",
  NotPermitted: "not-permitted",
  Offline: "unreachable captive offline timeout",
  OriginFailed: "origin-status redirect-refused address-refused bad-answer not-applied",
  TooLarge: "body-too-large head-too-large entry-too-large",
  TooLate: "already-sent already-settled lease-over",
  Invalid: "",
  Unavailable: "in-use",
  CutOff: "cut-off",
};

const reference = (schema) => schema.$ref?.split("/").at(-1);

/** The names of all schemas that a schema needs. */
function* needed(schema) {
  if (reference(schema)) yield reference(schema);
  for (const value of Object.values(schema)) {
    if (value !== null && typeof value === "object") yield* needed(value);
  }
}

function reachable(schemas) {
  const found = new Set(ROOTS);
  // A set goes on with what is added while it is read.
  for (const name of found) for (const other of needed(schemas[name])) found.add(other);
  return [...found].sort();
}

/** Values of a newer daemon are text, too. */
const open = (values) => [...values, "(string & {})"].join(" | ");

function typeOf(schema) {
  if (reference(schema)) return reference(schema);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.oneOf?.every((item) => "const" in item)) {
    return open(schema.oneOf.map((item) => JSON.stringify(item.const)));
  }
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `Array<${typeOf(schema.items)}>`;
    case "object":
      return schema.properties ? objectOf(schema) : mapOf(schema);
    default:
      return "any";
  }
}

function mapOf({ additionalProperties: values }) {
  return `{ [name: string]: ${values && values !== true ? typeOf(values) : "any"} }`;
}

function objectOf({ properties, required = [] }) {
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description ? `  /** ${schema.description} */\n` : "";
    const key = /^\w+$/.test(name) && !/^\d/.test(name) ? name : JSON.stringify(name);
    return `${comment}  ${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};\n`;
  });
  return `{\n${members.join("")}}`;
}

/** The text of wire.d.ts for an OpenAPI document. */
export function generate(document) {
  const { schemas } = document.components;
  const declarations = reachable(schemas).map((name) => {
    const schema = schemas[name];
    const comment = schema.description ? `/** ${schema.description} */\n` : "";
    return `${comment}export type ${name} = ${typeOf(schema)};\n`;
  });
  const head = "// Made of schema/openapi.json by generate-wire.js; `npm run generate` makes it again.\n";
  return [head, ...declarations].join("\n");
}

/** The text of wire.js: the classes of problems, and the types of each. */
export function generateClasses({ components }) {
  const names = new Map(Object.entries(CLASSES).map(([name, types]) => [name, types.split(" ")]));
  const known = [...names.values()].flat();
  for (const { const: type, "x-status": status } of components.schemas.ProblemType.oneOf) {
    const name = type.split(":").at(-1);
    if (!known.includes(name)) names.get(status < 500 ? "Invalid" : "Unavailable").push(name);
  }
  const classes = [...names.keys()].map((name) => {
    const base = name === "CutOff" ? "Unavailable" : "Problem";
    return `export class ${name} extends ${base} {}`;
  });
  const sets = [...names].flatMap(([name, types]) =>
    types.filter(Boolean).map((type) => `classes.set("urn:larder:${type}", ${name});`),
  );
  const head = [
    "// Made of schema/openapi.json by generate-wire.js; `npm run generate` makes it again.\n",
    'import { Problem, classes } from "./lib/problem.js";\n',
  ];
  return [...head, ...classes, "", ...sets, ""].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const schema = new URL("../../schema/openapi.json", import.meta.url);
  const document = JSON.parse(readFileSync(schema, "utf8"));
  writeFileSync(new URL("wire.d.ts", import.meta.url), generate(document));
  writeFileSync(new URL("wire.js", import.meta.url), generateClasses(document));
}
