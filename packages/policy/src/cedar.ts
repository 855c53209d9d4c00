import * as wasm from '@cedar-policy/cedar-wasm/nodejs';
import { exactValue } from './exact-value.ts';
import { knownPolicy, knownSchema } from './known-forms.ts';
import { policyStatements } from './policy-statements.ts';
import { positionAtByte, type SourcePosition, START_OF_TEXT } from './source-position.ts';

/** Cedar's JSON form of one policy. Its integers may be rounded: never read them. */
export type PolicyJson = wasm.PolicyJson;
/** Cedar's JSON form of an expression: an operator, or the call of an extension function under its name. */
export type ExpressionJson = wasm.Expr;
/** An expression that is no call of an extension function. */
export type OperatorJson = wasm.ExprNoExt;
/** Cedar's JSON form of a schema, names resolved. */
export type SchemaJson = wasm.SchemaJson<string>;
/** The type of an attribute, or of a context, in `SchemaJson`. */
export type SchemaTypeJson = wasm.TypeOfAttribute<string>;
/** A schema as Cedar text or as Cedar's JSON. */
export type SchemaSource = string | SchemaJson;

export interface EntityUid {
  readonly type: string;
  readonly id: string;
}

/** Cedar's JSON values, with its escapes `__entity` and `__extn`. An integer of 2^53 and more must be a bigint. */
export type CedarRecord = Readonly<Record<string, unknown>>;

export interface EvaluationEntity {
  readonly uid: EntityUid;
  readonly attrs: CedarRecord;
  readonly parents: readonly EntityUid[];
  readonly tags?: CedarRecord;
}

export interface EvaluationRequest {
  readonly principal: EntityUid;
  readonly action: EntityUid;
  readonly resource: EntityUid;
  readonly context: CedarRecord;
  readonly entities: readonly EvaluationEntity[];
}

/** What Cedar found wrong, and where in the text it was given. */
export interface CedarProblem {
  readonly message: string;
  readonly help: string | undefined;
  readonly position: SourcePosition;
}

export interface CedarFailure {
  readonly kind: 'failed';
  readonly problems: readonly CedarProblem[];
}

/** One policy of a file. `id` is what `@id` says: whether it must be there, and be the only one, is up to the caller. */
export interface PolicyPart {
  readonly kind: 'policy' | 'template';
  readonly id: string | undefined;
  readonly text: string;
  readonly position: SourcePosition;
  readonly effect: 'permit' | 'forbid';
  /** An annotation without a value has the empty text. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly json: PolicyJson;
}

export type SplitAnswer = CedarFailure | { readonly kind: 'split'; readonly parts: readonly PolicyPart[] };

/** A policy under the id it is known by. */
export interface NamedPolicy {
  readonly id: string;
  readonly text: string;
}

/** The position is in the policy's own text. */
export interface ValidationFinding extends CedarProblem {
  readonly severity: 'error' | 'warning';
  readonly policyId: string;
}

export type ValidationAnswer =
  | CedarFailure
  /** `valid` means: without an error; there may be warnings. */
  | { readonly kind: 'validated'; readonly valid: boolean; readonly findings: readonly ValidationFinding[] };

export type SchemaAnswer = CedarFailure | { readonly kind: 'parsed'; readonly json: SchemaJson };

export type PrepareAnswer = CedarFailure | { readonly kind: 'prepared' };

export interface PolicyFault {
  readonly policyId: string;
  readonly message: string;
}

export type AuthorizationAnswer =
  | CedarFailure
  | {
      readonly kind: 'answered';
      readonly decision: 'allow' | 'deny';
      readonly reasons: readonly string[];
      readonly errors: readonly PolicyFault[];
    };

/** Names of what was prepared. A request that is not validated is still read by the schema. */
export interface AuthorizationSlots {
  readonly policySlot: string;
  readonly schemaSlot: string;
  readonly validateRequest: boolean;
}

/** The policies of one file, in file order, each with its own text and place. */
export function splitPolicies(source: string): SplitAnswer {
  return guarded(() => {
    const answer = wasm.policySetTextToParts(source);
    if (answer.type === 'failure') return failed(answer.errors, source);
    const statements = policyStatements(source);
    const templates = new Set(answer.policy_templates);
    // SECURITY: T-09 — a policy that our cut loses would not be enforced, so both cuts must give the same texts.
    const theirs = [...answer.policies, ...answer.policy_templates].toSorted();
    const ours = statements.map(({ text }) => text).toSorted();
    if (ours.length !== theirs.length || ours.some((text, index) => text !== theirs[index])) {
      return failure('The policies of this text cannot be told apart.');
    }
    const parts: PolicyPart[] = [];
    for (const { text, position } of statements) {
      const kind = templates.has(text) ? 'template' : 'policy';
      const parsed = kind === 'template' ? wasm.templateToJson(text) : wasm.policyToJson(text);
      if (parsed.type === 'failure') return failed(parsed.errors, text);
      parts.push(partOf(parsed.json, { kind, text, position }));
    }
    return { kind: 'split', parts };
  });
}

/** One policy as JSON; a template is a failure. Of our own it is known. */
export function policyToJson(text: string): ParsedPolicy {
  const json = knownPolicy(text);
  return json === undefined ? parsePolicy(text) : { kind: 'parsed', json };
}

export type ParsedPolicy = CedarFailure | { readonly kind: 'parsed'; readonly json: PolicyJson };

export function parsePolicy(text: string): ParsedPolicy {
  return guarded(() => {
    const answer = wasm.policyToJson(text);
    return answer.type === 'failure' ? failed(answer.errors, text) : { kind: 'parsed', json: answer.json };
  });
}

/** Cedar's JSON of one policy as text. */
export function policyToText(json: unknown): CedarFailure | { readonly kind: 'written'; readonly text: string } {
  return guarded(() => {
    const answer = wasm.policyToText(exactValue(json) as PolicyJson);
    return answer.type === 'failure' ? failed(answer.errors, '') : { kind: 'written', text: answer.text };
  });
}

/** The schema with every name resolved: common types, entity types and the parents of actions in full. Our own is known. */
export function readSchema(schema: SchemaSource): SchemaAnswer {
  const json = typeof schema === 'string' ? knownSchema(schema) : undefined;
  return json === undefined ? parseSchema(schema) : { kind: 'parsed', json };
}

export function parseSchema(schema: SchemaSource): SchemaAnswer {
  return guarded(() => {
    const source = typeof schema === 'string' ? { type: 'success' as const, text: schema } : wasm.schemaToText(schema);
    if (source.type === 'failure') return failed(source.errors, '');
    const answer = wasm.schemaToJsonWithResolvedTypes(source.text);
    return answer.type === 'failure' ? failed(answer.errors, source.text) : { kind: 'parsed', json: answer.json };
  });
}

/** Strict validation. `failed` means that a text does not even parse. */
export function validatePolicies(
  schema: SchemaSource,
  policies: readonly NamedPolicy[],
  templates: readonly NamedPolicy[] = [],
): ValidationAnswer {
  return guarded(() => {
    const answer = wasm.validate({
      schema,
      policies: { staticPolicies: recordOf(policies), templates: recordOf(templates) },
      validationSettings: { mode: 'strict' },
    });
    if (answer.type === 'failure') return failed(answer.errors, '');
    const texts = new Map([...policies, ...templates].map(({ id, text }) => [id, text]));
    const findings = [
      ...answer.validationErrors.map((finding) => findingOf('error', finding, texts)),
      ...answer.validationWarnings.map((finding) => findingOf('warning', finding, texts)),
    ];
    return { kind: 'validated', valid: answer.validationErrors.length === 0, findings };
  });
}

/** Parses a schema into a slot, in place of what was there. */
export function prepareSchema(slot: string, schema: SchemaSource): PrepareAnswer {
  return guarded(() => prepared(wasm.preparseSchema(slot, schema)));
}

/** Parses policies into a slot, in place of what was there. */
export function preparePolicies(slot: string, policies: readonly NamedPolicy[]): PrepareAnswer {
  return guarded(() => prepared(wasm.preparsePolicySet(slot, { staticPolicies: recordOf(policies) })));
}

/** One evaluation. Reasons and errors come in no order. Anything but an answer is `failed`, never a throw. */
export function authorize(request: EvaluationRequest, slots: AuthorizationSlots): AuthorizationAnswer {
  return guarded(() => {
    const { principal, action, resource, context, entities } = request;
    // SECURITY: T-09 — an integer that a double cannot hold is refused or written digit by digit, never rounded.
    const exact = exactValue({ principal, action, resource, context, entities }) as Omit<
      wasm.StatefulAuthorizationCall,
      'preparsedPolicySetId'
    >;
    const answer = wasm.statefulIsAuthorized({
      ...exact,
      preparsedSchemaName: slots.schemaSlot,
      preparsedPolicySetId: slots.policySlot,
      validateRequest: slots.validateRequest,
    });
    if (answer.type === 'failure') return failed(answer.errors, '');
    const { decision, diagnostics } = answer.response;
    const errors = diagnostics.errors.map(({ policyId, error }) => ({ policyId, message: error.message }));
    return { kind: 'answered', decision, reasons: diagnostics.reason, errors };
  });
}

/**
 * SECURITY: T-09 — the WebAssembly throws for values it cannot read and traps on its own faults. Nothing of that may
 * look like an answer.
 */
function guarded<Answer>(call: () => Answer | CedarFailure): Answer | CedarFailure {
  try {
    return call();
  } catch (error) {
    return failure(`Cedar gave no answer: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function failure(message: string): CedarFailure {
  return { kind: 'failed', problems: [{ message, help: undefined, position: START_OF_TEXT }] };
}

/** A file with a fault in every line makes thousands of them; nobody reads more than these. */
const MOST_PROBLEMS = 50;

function failed(errors: readonly wasm.DetailedError[], source: string): CedarFailure {
  const flat = errors.flatMap((error) => [error, ...(error.related ?? [])]).slice(0, MOST_PROBLEMS);
  if (flat.length === 0) return failure('Cedar failed without saying why.');
  return { kind: 'failed', problems: flat.map((error) => problemOf(error, source)) };
}

function problemOf(error: wasm.DetailedError, source: string): CedarProblem {
  const location = error.sourceLocations?.[0];
  return {
    message: location?.label ? `${error.message}: ${location.label}` : error.message,
    help: error.help ?? undefined,
    position: location === undefined ? START_OF_TEXT : positionAtByte(source, location.start),
  };
}

function findingOf(
  severity: 'error' | 'warning',
  { policyId, error }: wasm.ValidationError,
  texts: ReadonlyMap<string, string>,
): ValidationFinding {
  return { severity, policyId, ...problemOf(error, texts.get(policyId) ?? '') };
}

function prepared(answer: wasm.CheckParseAnswer): PrepareAnswer {
  return answer.type === 'failure' ? failed(answer.errors, '') : { kind: 'prepared' };
}

function partOf(json: PolicyJson, place: Pick<PolicyPart, 'kind' | 'text' | 'position'>): PolicyPart {
  const annotations = new Map<string, string>();
  for (const [name, value] of Object.entries(json.annotations ?? {})) annotations.set(name, value ?? '');
  return { ...place, id: annotations.get('id'), effect: json.effect, annotations, json };
}

/** Ids are keys, `__proto__` too. */
function recordOf(policies: readonly NamedPolicy[]): Record<string, string> {
  return Object.fromEntries(policies.map(({ id, text }) => [id, text]));
}
