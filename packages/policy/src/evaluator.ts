import { setImmediate } from 'node:timers/promises';
import {
  authorize,
  type CedarFailure,
  type EvaluationRequest,
  failure,
  type NamedPolicy,
  type PolicyJson,
  policyToJson,
  readSchema,
  type SchemaSource,
} from './cedar.ts';
import { combineAnswers, type EvaluationResult } from './combine-answers.ts';
import { PolicyError } from './policy-error.ts';
import { createPolicyIndex, type PolicyIndex } from './policy-index.ts';
import { plainUidKey } from './policy-scope.ts';
import { createPreparedSets, type Slot, takeSchemaSlot } from './prepared-sets.ts';
import { type SchemaAction, schemaActions, type UidKey } from './schema-actions.ts';

export type { EvaluationRequest } from './cedar.ts';
export type { EvaluationResult } from './combine-answers.ts';

export interface EvaluateOptions {
  /** Whether the request must match the schema; true unless said otherwise. */
  readonly validateRequest?: boolean;
}

export interface Evaluator {
  /** Never throws. The answer is Cedar's for the whole set, whichever part of it had to be asked. */
  evaluate(request: EvaluationRequest, options?: EvaluateOptions): EvaluationResult;
  /** Parses ahead what requests will need, in small steps between which other work can run. */
  warmUp(): Promise<void>;
  /** Gives the memory inside Cedar back. Every later request fails. */
  close(): void;
}

export interface EvaluatedPolicy extends NamedPolicy {
  /** Cedar's JSON of the text, when the caller has it already; it must be of this very text. */
  readonly json?: PolicyJson;
}

export interface EvaluatorOptions {
  readonly schema: SchemaSource;
  readonly policies: readonly EvaluatedPolicy[];
  /** Whether `validatePolicies` found this set valid against this schema; without it fewer policies are left out. */
  readonly strictlyValid: boolean;
  /** How many policies at most are parsed in one step; fewer when they are long. */
  readonly chunk?: ChunkLimits;
}

export interface ChunkLimits {
  readonly mostPolicies: number;
  readonly mostCharacters: number;
}

/** Parsing takes about 0.15 ms a policy and must stay far below the 50 ms that the daemon's loop may stand still. */
const CHUNK: ChunkLimits = { mostPolicies: 100, mostCharacters: 40_000 };

/** How long work may go on before others get a turn. */
const STEP_MS = 10;

/**
 * Evaluates requests against the policies they may meet. Throws `PolicyError` (`invalid_schema`,
 * `invalid_policy_set`) when the schema or a policy does not parse, or two policies have one id.
 */
export async function createEvaluator(options: EvaluatorOptions): Promise<Evaluator> {
  const { schema, policies, strictlyValid, chunk = CHUNK } = options;
  const actions = actionsOf(schema);
  const parsed = await parseAll(policies);
  const schemaSlot = takeSchemaSlot(schema);
  if (schemaSlot.kind === 'failed') throw invalid('policy.invalid_schema', schemaSlot);
  const indexed = { policies: parsed, actions };
  const byScope = createPolicyIndex({ ...indexed, byContext: false });
  return evaluatorOf({
    policies,
    actions,
    chunk,
    schemaSlot: schemaSlot.slot,
    byScope,
    // SECURITY: T-09 — conditions are only relied on where validation has shown what they can be.
    byContext: strictlyValid ? createPolicyIndex({ ...indexed, byContext: true }) : byScope,
  });
}

/** The daemon has one schema for life; reading it takes longer than all else in a reload of few policies. */
let lastRead: { readonly schema: SchemaSource; readonly actions: ReadonlyMap<UidKey, SchemaAction> } | undefined;

function actionsOf(schema: SchemaSource): ReadonlyMap<UidKey, SchemaAction> {
  if (lastRead?.schema === schema && typeof schema === 'string') return lastRead.actions;
  const answer = readSchema(schema);
  if (answer.kind === 'failed') throw invalid('policy.invalid_schema', answer);
  lastRead = { schema, actions: schemaActions(answer.json) };
  return lastRead.actions;
}

interface Parts {
  readonly policies: readonly EvaluatedPolicy[];
  readonly actions: ReadonlyMap<UidKey, SchemaAction>;
  readonly chunk: ChunkLimits;
  readonly schemaSlot: Slot;
  readonly byScope: PolicyIndex;
  /** For requests that are validated. */
  readonly byContext: PolicyIndex;
}

/** Policies that are parsed and evaluated together. */
interface Chunk {
  readonly key: string;
  readonly numbers: readonly number[];
}

function evaluatorOf({ policies, actions, chunk, schemaSlot, byScope, byContext }: Parts): Evaluator {
  const sets = createPreparedSets();
  const everyPolicy = policies.map((_policy, number) => number);
  const chunksOf = createChunks(policies, chunk);
  let isClosed = false;

  const prepare = ({ key, numbers }: Chunk) =>
    sets.slotOf(key, () => numbers.flatMap((number) => policies[number] ?? []));

  const chunksFor = (request: EvaluationRequest, validateRequest: boolean): readonly Chunk[] => {
    const action = actions.get(plainUidKey(request.action));
    if (action === undefined) return chunksOf(everyPolicy, []);
    const { always, selected } = (validateRequest ? byContext : byScope).candidates(request, action);
    return chunksOf(always, selected);
  };

  return {
    evaluate(request, { validateRequest = true } = {}) {
      if (isClosed) return { kind: 'failed', message: 'The evaluator is closed.' };
      try {
        const answers = chunksFor(request, validateRequest).map((part) => {
          const prepared = prepare(part);
          if (prepared.kind === 'failed') return prepared;
          const slots = { policySlot: prepared.slot.name, schemaSlot: schemaSlot.name, validateRequest };
          return authorize(request, slots);
        });
        return combineAnswers(answers);
      } catch (error) {
        // SECURITY: T-09 — a request that is not what its type says fails, it does not crash.
        return combineAnswers([failure(error instanceof Error ? error.message : String(error))]);
      }
    },
    async warmUp() {
      const turns = createTurns();
      for (const action of actions.values()) {
        const studying = byContext.study(action);
        while (studying.next().done !== true) await turns.next();
        await turns.next();
        for (const part of chunksOf(byContext.alwaysMet(action), [])) {
          await turns.next();
          if (isClosed) return;
          prepare(part);
        }
      }
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      sets.close();
      schemaSlot.release();
    },
  };
}

/**
 * Few policies make one chunk. More than fit are cut, those that are always met apart from the selected ones: their
 * cuts then stay the same for every request, and are parsed once.
 */
function createChunks(
  policies: readonly NamedPolicy[],
  { mostPolicies, mostCharacters }: ChunkLimits,
): (always: readonly number[], selected: readonly number[]) => readonly Chunk[] {
  const known = new Map<readonly number[], readonly Chunk[]>();
  const lengthOf = (number: number) => policies[number]?.text.length ?? 0;

  const cut = (numbers: readonly number[]): readonly Chunk[] => {
    const chunks: number[][] = [[]];
    let length = 0;
    for (const number of numbers) {
      const last = chunks.at(-1) ?? [];
      const fits = last.length < mostPolicies && length + lengthOf(number) <= mostCharacters;
      if (fits || last.length === 0) last.push(number);
      else chunks.push([number]);
      length = (fits ? length : 0) + lengthOf(number);
    }
    return chunks.map((part) => ({ key: part.join(), numbers: part }));
  };
  const cutOnce = (numbers: readonly number[]): readonly Chunk[] => {
    const chunks = known.get(numbers) ?? cut(numbers);
    known.set(numbers, chunks);
    return chunks;
  };

  return (always, selected) => {
    const fixed = cutOnce(always);
    if (selected.length === 0) return fixed;
    const [only, ...more] = fixed;
    if (only === undefined || more.length > 0) return [...fixed, ...cut(selected)];
    const together = [...only.numbers, ...selected];
    const cuts = together.length <= mostPolicies ? cut(together) : [];
    return cuts.length === 1 ? cuts : [only, ...cut(selected)];
  };
}

async function parseAll(policies: readonly EvaluatedPolicy[]): Promise<readonly PolicyJson[]> {
  const turns = createTurns();
  const ids = new Set<string>();
  const parsed: PolicyJson[] = [];
  for (const { id, text, json } of policies) {
    await turns.next();
    if (ids.has(id)) throw new PolicyError('policy.invalid_policy_set', `Two policies have the id ${id}.`);
    ids.add(id);
    if (json !== undefined) {
      parsed.push(json);
      continue;
    }
    const answer = policyToJson(text);
    if (answer.kind === 'failed') throw invalid('policy.invalid_policy_set', answer);
    parsed.push(answer.json);
  }
  return parsed;
}

/** Lets other work run when a step has taken long enough. */
function createTurns(): { next(): Promise<void> | undefined } {
  let started = performance.now();
  return {
    next() {
      if (performance.now() - started < STEP_MS) return undefined;
      return setImmediate().then(() => {
        started = performance.now();
      });
    },
  };
}

function invalid(code: 'policy.invalid_schema' | 'policy.invalid_policy_set', { problems }: CedarFailure): PolicyError {
  return new PolicyError(code, problems[0]?.message ?? 'Cedar failed without saying why.', {
    problems: problems.map(({ position, message }) => ({ file: '', ...position, message })),
  });
}
