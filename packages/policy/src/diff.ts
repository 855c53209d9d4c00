import { type Clock, canonicalJson, type JsonValue } from '@palyra/primitives';
import { askableActions } from './askable-actions.ts';
import type { PolicyEngine } from './decide.ts';
import type { Decision } from './decision.ts';
import { type CatalogueTool, diffCandidates } from './diff-candidates.ts';
import { type ChangedPolicy, changedPolicies, type PolicyChanges, summarizeChanges } from './policy-changes.ts';
import type { PolicyRecord } from './policy-set.ts';
import { readSchema } from './presets.ts';
import type { PolicyEvaluationConfig, PolicyRequest } from './request.ts';
import { type RequestSketch, requestFromSketch, type SketchFacts, sketchOfRequest } from './request-sketch.ts';

export interface DiffSide {
  readonly policies: readonly PolicyRecord[];
  /** The same policies at work. */
  engine(config: PolicyEvaluationConfig): PolicyEngine;
}

export interface DiffOptions {
  readonly config: PolicyEvaluationConfig;
  readonly clock: Clock;
  readonly catalogue?: readonly CatalogueTool[];
  /** Requests of policy tests: what the operator cares about is looked at first. */
  readonly tests?: readonly PolicyRequest[];
  readonly mostRequests?: number;
  readonly mostMs?: number;
  readonly seed?: number;
}

export interface PolicyDiff {
  readonly method: typeof SEARCH_NOT_PROOF;
  readonly changes: PolicyChanges;
  /** One for every kind of difference that was found, fewest facts first. */
  readonly witnesses: readonly Witness[];
  /** How many more kinds of difference there were than are shown. */
  readonly leftOut: number;
  /** How many different requests were decided by both sets. */
  readonly tried: number;
  readonly ended: 'nothing_changed' | 'searched' | 'out_of_requests' | 'out_of_time';
}

export type WitnessChange = 'newly_allowed' | 'newly_asked' | 'newly_denied' | 'obligations_changed';

/** A request that the two sets answer differently. */
export interface Witness {
  readonly change: WitnessChange;
  readonly request: PolicyRequest;
  readonly action: string;
  /** In what the request differs from the most ordinary one. */
  readonly facts: SketchFacts;
  readonly before: Decision;
  readonly after: Decision;
  /** Of the policies that changed: those that determined one of the answers. */
  readonly changedPolicyIds: readonly string[];
}

export const SEARCH_NOT_PROOF = 'search, not proof';

const MOST_REQUESTS = 5000;
const MOST_MS = 10_000;
const MOST_WITNESSES = 100;

/** Looks for requests that two sets answer differently. Finding none proves nothing, and the result says so. */
export function diffPolicySets(before: DiffSide, after: DiffSide, options: DiffOptions): PolicyDiff {
  const changed = changedPolicies(before.policies, after.policies);
  const changes = summarizeChanges(changed);
  if (changed.length === 0) return { ...EMPTY, changes, ended: 'nothing_changed' };

  const search = createSearch({ before, after, changed, options });
  for (const request of options.tests ?? []) {
    if (search.isOver() !== undefined) break;
    search.tryRequest(request, sketchOfRequest(request));
  }
  const { catalogue = [], config, seed = 1 } = options;
  const actions = askableActions(readSchema());
  const input = { actions, changed, before: before.policies, after: after.policies, catalogue, config, seed };
  for (const sketch of diffCandidates(input)) {
    if (search.isOver() !== undefined) break;
    search.tryRequest(requestFromSketch(sketch), sketch);
  }
  const ended = search.isOver() ?? 'searched';
  const witnesses = search.found().map((witness) => search.shrink(witness));
  return { ...EMPTY, changes, witnesses: inOrder(witnesses), leftOut: search.leftOut(), tried: search.tried(), ended };
}

const EMPTY = { method: SEARCH_NOT_PROOF, witnesses: [], leftOut: 0, tried: 0 } as const;

interface SearchInput {
  readonly before: DiffSide;
  readonly after: DiffSide;
  readonly changed: readonly ChangedPolicy[];
  readonly options: DiffOptions;
}

interface Search {
  tryRequest(request: PolicyRequest, sketch: RequestSketch): void;
  isOver(): 'out_of_requests' | 'out_of_time' | undefined;
  found(): readonly Witness[];
  /** The same difference with fewer facts. */
  shrink(witness: Witness): Witness;
  leftOut(): number;
  tried(): number;
}

function createSearch({ before, after, changed, options }: SearchInput): Search {
  const { config, clock, mostRequests = MOST_REQUESTS, mostMs = MOST_MS } = options;
  const engines = [before.engine(config), after.engine(config)] as const;
  const changedIds = new Set(changed.map(({ id }) => id));
  const deadline = clock.now() + mostMs;
  const seen = new Set<string>();
  const best = new Map<string, Witness>();
  const others = new Set<string>();

  const compare = (request: PolicyRequest, { action, facts }: RequestSketch): Witness | undefined => {
    const difference = differenceOf(engines[0].decide(request), engines[1].decide(request));
    if (difference === undefined) return undefined;
    const ids = [...difference.before.policyIds, ...difference.after.policyIds].filter((id) => changedIds.has(id));
    return { ...difference, request, action, facts, changedPolicyIds: [...new Set(ids)].toSorted() };
  };
  return {
    tryRequest(request, sketch) {
      const key = keyOf(request);
      if (seen.has(key)) return;
      seen.add(key);
      const witness = compare(request, sketch);
      if (witness === undefined) return;
      const kind = kindOf(witness);
      const known = best.get(kind);
      if (known === undefined && best.size >= MOST_WITNESSES) others.add(kind);
      else if (known === undefined || sizeOf(witness) < sizeOf(known)) best.set(kind, witness);
    },
    isOver: () => (seen.size >= mostRequests ? 'out_of_requests' : clock.now() > deadline ? 'out_of_time' : undefined),
    found: () => [...best.values()],
    shrink(witness) {
      return shrink(witness, (sketch) => {
        // As long again as the search: a large witness is better than none.
        if (clock.now() > deadline + mostMs) return undefined;
        const request = requestFromSketch(sketch);
        seen.add(keyOf(request));
        return compare(request, sketch);
      });
    },
    leftOut: () => others.size,
    tried: () => seen.size,
  };
}

function keyOf(request: PolicyRequest): string {
  return canonicalJson(request as unknown as JsonValue);
}

const CHANGES = { allow: 'newly_allowed', ask: 'newly_asked', deny: 'newly_denied' } as const;

function differenceOf(before: Decision, after: Decision): Pick<Witness, 'change' | 'before' | 'after'> | undefined {
  if (before.kind !== after.kind) return { change: CHANGES[after.kind], before, after };
  const isSame = after.kind === 'deny' || sameValue(before.obligations, after.obligations);
  if (!isSame) return { change: 'obligations_changed', before, after };
  // Under the observe preset the enforced answers stay the same: what is recorded is what changes.
  const { observed: old } = before;
  const { observed: young } = after;
  return old === undefined || young === undefined ? undefined : differenceOf(old, young);
}

function sameValue(first: object, second: object): boolean {
  return canonicalJson(first as JsonValue) === canonicalJson(second as JsonValue);
}

/** Two witnesses of one kind tell the same story. */
function kindOf({ change, before, after, changedPolicyIds }: Witness): string {
  return [change, before.kind, after.kind, ...changedPolicyIds].join(' ');
}

function sizeOf({ facts }: Witness): number {
  return Object.values(facts).reduce<number>((size, value) => size + (Array.isArray(value) ? value.length : 1), 0);
}

/** Facts are left out one by one for as long as the difference stays. A test's own request is kept when it is smallest. */
function shrink(witness: Witness, compare: (sketch: RequestSketch) => Witness | undefined): Witness {
  const kind = kindOf(witness);
  let smallest = witness;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const facts of smallerFacts(smallest.facts)) {
      const candidate = compare({ action: witness.action, facts });
      if (candidate === undefined || kindOf(candidate) !== kind) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

function* smallerFacts(facts: SketchFacts): Generator<SketchFacts> {
  for (const [name, value] of Object.entries(facts)) {
    const { [name]: _, ...others } = facts;
    yield others;
    if (!Array.isArray(value) || value.length < 2) continue;
    for (const part of value) yield { ...others, [name]: value.filter((one) => one !== part) };
  }
}

const ORDER: readonly WitnessChange[] = ['newly_allowed', 'newly_asked', 'newly_denied', 'obligations_changed'];

function inOrder(witnesses: readonly Witness[]): readonly Witness[] {
  return witnesses.toSorted(
    (a, b) =>
      ORDER.indexOf(a.change) - ORDER.indexOf(b.change) || sizeOf(a) - sizeOf(b) || (kindOf(a) < kindOf(b) ? -1 : 1),
  );
}
