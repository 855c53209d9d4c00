import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type EvaluatedPolicy,
  type EvaluationRequest,
  type NamedPolicy,
  policyToText,
  type SchemaSource,
  splitPolicies,
  validatePolicies,
} from '@palyra/policy';

/** One file of the suite with everything it names, read and judged by our validator. */
export interface CedarCase {
  readonly schema: SchemaSource;
  readonly policies: readonly EvaluatedPolicy[];
  readonly entities: EvaluationRequest['entities'];
  readonly isValid: boolean;
  readonly shouldValidate: boolean;
  readonly requests: readonly CedarCaseRequest[];
}

export interface CedarCaseRequest {
  readonly description: string;
  readonly request: Omit<EvaluationRequest, 'entities'>;
  readonly validateRequest: boolean;
  readonly expected: {
    readonly decision: string;
    readonly reasons: readonly string[];
    readonly errors: readonly string[];
  };
}

export type LoadedCase =
  /** Some other JSON: entities, a schema, policies. */
  | { readonly kind: 'no_case' }
  | { readonly kind: 'case'; readonly case: CedarCase }
  | { readonly kind: 'failed' | 'unsupported'; readonly requests: number; readonly why: string };

export interface CasePlace {
  /** Where the suite's own relative paths begin. */
  readonly directory: string;
  readonly file: string;
}

/** What a case file says, before the files it names are read. */
interface CaseFile {
  readonly policies: string;
  readonly policyFormat?: string;
  readonly entities: string;
  readonly schema: string;
  readonly schemaFormat?: string;
  readonly shouldValidate: boolean;
  readonly requests: readonly Json[];
}

type Json = Readonly<Record<string, unknown>>;

export async function loadCase(text: string, place: CasePlace): Promise<LoadedCase> {
  const file = inTodaysWords(parseExactly(text));
  if (!isRecord(file) || !('policies' in file && 'entities' in file)) return { kind: 'no_case' };
  const requests = Array.isArray(file['requests']) ? file['requests'].length : 0;
  try {
    if (!isCaseFile(file)) return { kind: 'failed', requests, why: 'the file is not of the published format' };
    const policies = await loadPolicies(file, place);
    if (policies.kind !== 'loaded') return { ...policies, requests };
    const schema = await loadSchema(file, place);
    const validation = validatePolicies(schema, policies.policies, policies.templates);
    if (validation.kind === 'failed') {
      return { kind: 'failed', requests, why: validation.problems[0]?.message ?? 'no answer from validation' };
    }
    const entities = await loadEntities(file, place);
    const { valid: isValid } = validation;
    const { shouldValidate } = file;
    const asked = file.requests.map(requestOf);
    return {
      kind: 'case',
      case: { schema, policies: policies.policies, entities, isValid, shouldValidate, requests: asked },
    };
  } catch (error) {
    return { kind: 'failed', requests, why: error instanceof Error ? error.message : String(error) };
  }
}

/** Older copies of the suite say `queries`, `should_validate`, `desc` and `reasons`. */
function inTodaysWords(file: unknown): unknown {
  if (!isRecord(file)) return file;
  const { queries, should_validate: shouldValidate, ...today } = file;
  if (!Array.isArray(queries)) return file;
  const requests = queries.map((query: unknown) => {
    return isRecord(query) ? { description: query['desc'], reason: query['reasons'], ...query } : query;
  });
  return { shouldValidate, ...today, requests };
}

type LoadedPolicies =
  | { readonly kind: 'failed' | 'unsupported'; readonly why: string }
  | {
      readonly kind: 'loaded';
      readonly policies: readonly EvaluatedPolicy[];
      /** Without links: they are validated and have no other effect. */
      readonly templates: readonly NamedPolicy[];
    };

async function loadPolicies({ policies: name, policyFormat }: CaseFile, place: CasePlace): Promise<LoadedPolicies> {
  const text = await contentOf(name, place);
  if (policyFormat === 'json') return policiesOfJson(parseExactly(text));
  const answer = splitPolicies(text);
  if (answer.kind === 'failed') return { kind: 'failed', why: answer.problems[0]?.message ?? 'policies do not parse' };
  // The suite numbers policies and templates together, in file order, and ignores `@id`.
  const named = answer.parts.map((part, index) => ({ ...part, id: `policy${index}` }));
  return {
    kind: 'loaded',
    policies: named.filter(({ kind }) => kind === 'policy'),
    templates: named.filter(({ kind }) => kind === 'template'),
  };
}

function policiesOfJson(set: unknown): LoadedPolicies {
  if (!isRecord(set) || !isRecord(set['staticPolicies'])) return { kind: 'failed', why: 'policies do not parse' };
  const isEmpty = (part: unknown) => part === undefined || (isObject(part) && Object.keys(part).length === 0);
  if (!isEmpty(set['templates']) || !isEmpty(set['templateLinks'])) {
    // Palyra takes no templates from anyone; the published suite links none.
    return { kind: 'unsupported', why: 'templates in JSON policies' };
  }
  const policies: NamedPolicy[] = [];
  for (const [id, json] of Object.entries(set['staticPolicies'])) {
    const answer = policyToText(json);
    if (answer.kind === 'failed')
      return { kind: 'failed', why: answer.problems[0]?.message ?? 'a policy is no policy' };
    policies.push({ id, text: answer.text });
  }
  return { kind: 'loaded', policies, templates: [] };
}

async function loadSchema({ schema, schemaFormat }: CaseFile, place: CasePlace): Promise<SchemaSource> {
  const text = await contentOf(schema, place);
  const isJson = schemaFormat === 'json' || schema.endsWith('.json');
  return isJson ? (JSON.parse(text) as SchemaSource) : text;
}

async function loadEntities({ entities }: CaseFile, place: CasePlace): Promise<EvaluationRequest['entities']> {
  const list = parseExactly(await contentOf(entities, place));
  if (!Array.isArray(list) || !list.every(isRecord)) throw new TypeError(`${entities} is not a list of entities`);
  return list.map(({ uid, attrs, parents, tags }) => ({
    uid: uidOf(uid),
    attrs: isRecord(attrs) ? attrs : {},
    parents: Array.isArray(parents) ? parents.map(uidOf) : [],
    ...(isRecord(tags) ? { tags } : {}),
  }));
}

function requestOf(request: Json): CedarCaseRequest {
  const { description, principal, action, resource, context, decision, validateRequest } = request;
  if (!isRecord(context)) throw new TypeError('a request has no context');
  return {
    description: String(description),
    request: { principal: uidOf(principal), action: uidOf(action), resource: uidOf(resource), context },
    validateRequest: validateRequest !== false,
    expected: {
      decision: String(decision).toLowerCase(),
      reasons: idsOf(request['reason']),
      errors: idsOf(request['errors']),
    },
  };
}

function idsOf(ids: unknown): readonly string[] {
  if (!Array.isArray(ids)) throw new TypeError('a request does not list the policies it expects');
  return ids.map(String).toSorted();
}

/** Both spellings of an entity: plain, or under `__entity`. */
function uidOf(value: unknown): { readonly type: string; readonly id: string } {
  const uid = isRecord(value) && isRecord(value['__entity']) ? value['__entity'] : value;
  if (!isRecord(uid) || typeof uid['type'] !== 'string' || typeof uid['id'] !== 'string') {
    throw new TypeError('an entity is not named by type and id');
  }
  return { type: uid['type'], id: uid['id'] };
}

/** Paths in the suite begin at its root; a corpus may also be given by itself, or have been unpacked flat. */
async function contentOf(path: string, { directory, file }: CasePlace): Promise<string> {
  const places = [join(directory, path), join(dirname(directory), path), join(dirname(file), basename(path))];
  for (const place of places) {
    try {
      return await readFile(place, 'utf8');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }
  throw new Error(`${path} is missing`);
}

/** SECURITY: T-09 — integers that a double cannot hold become bigints, never their nearest neighbour. */
function parseExactly(text: string): unknown {
  const reviver = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
    return /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
  };
  // ES2026 gives the reviver the source; TypeScript's library does not know it yet.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

function isCaseFile(file: Json): file is Json & CaseFile {
  const { policies, entities, schema, shouldValidate, requests } = file;
  return (
    [policies, entities, schema].every((name) => typeof name === 'string') &&
    typeof shouldValidate === 'boolean' &&
    Array.isArray(requests) &&
    requests.every(isRecord)
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isRecord(value: unknown): value is Json {
  return isObject(value) && !Array.isArray(value);
}
