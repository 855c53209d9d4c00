import type { AskableAction } from './askable-actions.ts';
import type { PolicyJson } from './cedar.ts';
import { applyEdits, type FactEdit } from './fact-edits.ts';
import type { ChangedPolicy } from './policy-changes.ts';
import { actionsCovered, readPolicy } from './policy-expressions.ts';
import type { PolicyRecord } from './policy-set.ts';
import type { Capability, PolicyEvaluationConfig } from './request.ts';
import type { RequestSketch, SketchFacts } from './request-sketch.ts';
import { type Way, waysToSatisfy } from './ways-to-satisfy.ts';

/** A tool as the catalogue knows it, given as data: policies do not know that tool calls exist. */
export interface CatalogueTool {
  readonly name: string;
  readonly capabilities: readonly Capability[];
  /** The MCP server it belongs to; absent for our own. */
  readonly upstream?: { readonly server: string; readonly definitionSha256: string };
}

export interface CandidateInput {
  readonly actions: readonly AskableAction[];
  readonly changed: readonly ChangedPolicy[];
  readonly before: readonly PolicyRecord[];
  readonly after: readonly PolicyRecord[];
  readonly catalogue: readonly CatalogueTool[];
  readonly config: PolicyEvaluationConfig;
  readonly seed: number;
}

/** Most promising first: requests that a changed policy is about, then together with other policies, then by chance. */
export function* diffCandidates(input: CandidateInput): Generator<RequestSketch> {
  const subjects = input.changed.flatMap(subjectsOf);
  const others = uniquePolicies([...input.after, ...input.before]).flatMap((policy) => subjectOf(policy) ?? []);
  const ordinary = ordinaryFacts(input.config);

  for (const subject of subjects) yield* alone(subject, input.actions, ordinary);
  for (const subject of subjects) yield* withTools(subject, input, ordinary);
  for (const subject of subjects) {
    for (const other of mostUseful(subject, others)) yield* together(subject, other, { ...input, ordinary });
  }
  for (const action of input.actions) yield* onAction(action, ANY_WAY, ordinary);
  yield* byChance([...subjects, ...others], input, ordinary);
}

interface Subject {
  readonly policy: PolicyJson;
  readonly ways: readonly Way[];
}

/** A policy whose text changed is looked at where the old one applies and the new one does not, and the other way. */
function subjectsOf({ before, after }: ChangedPolicy): readonly Subject[] {
  const old = before && readPolicy(before);
  const young = after && readPolicy(after);
  return [
    { policy: young, other: old },
    { policy: old, other: young },
  ].flatMap(({ policy, other }): readonly Subject[] => {
    if (policy === undefined) return [];
    const ways = waysToSatisfy(policy, 'applies');
    if (other === undefined) return [{ policy, ways }];
    const apart = waysToSatisfy(other, 'fails').flatMap((fails) =>
      ways.slice(0, MOST_PAIRED).flatMap((applies) => [
        [...fails, ...applies],
        [...applies, ...fails],
      ]),
    );
    return [{ policy, ways: [...ways, ...apart] }];
  });
}

const MOST_PAIRED = 4;
const ANY_WAY: readonly Way[] = [[]];

function subjectOf(policy: PolicyRecord): Subject | undefined {
  const json = readPolicy(policy);
  return json && { policy: json, ways: waysToSatisfy(json, 'applies') };
}

function uniquePolicies(policies: readonly PolicyRecord[]): readonly PolicyRecord[] {
  return [...new Map(policies.map((policy) => [policy.text, policy])).values()];
}

/** Where a list does not take everything, an ordinary request comes from what is on it. */
function ordinaryFacts(config: PolicyEvaluationConfig): SketchFacts {
  const first = (list: readonly string[]) => (list.includes('*') ? undefined : list[0]?.replace(/\*$/, 'example'));
  const tool = first(config.allowedTools);
  const principal = first(config.allowedPrincipals);
  return {
    ...(tool === undefined ? {} : { 'context.tool_name': tool }),
    ...(principal === undefined ? {} : { 'principal.id': principal }),
  };
}

function* alone(
  { policy, ways }: Subject,
  actions: readonly AskableAction[],
  ordinary: SketchFacts,
): Generator<RequestSketch> {
  for (const action of actionsCovered(policy, actions)) yield* onAction(action, ways, ordinary);
}

function* onAction(action: AskableAction, ways: readonly Way[], ordinary: SketchFacts): Generator<RequestSketch> {
  for (const way of ways) {
    for (const principal of action.principals.toSorted()) {
      const facts = { ...ordinary, ...(principal === 'Agent' ? {} : { 'principal.type': principal }) };
      const sketch = applyEdits({ action: action.name, facts }, way);
      if (isPossible(sketch, action)) yield sketch;
    }
  }
}

/** A request outside the schema is refused on both sides, which says nothing. */
function isPossible({ facts }: RequestSketch, { principals, resources }: AskableAction): boolean {
  const principal = facts['principal.type'];
  const resource = facts['resource.type'];
  return (
    (principal === undefined || principals.some((type) => type === principal)) &&
    (resource === undefined || resources.some((type) => type === resource))
  );
}

function* withTools(subject: Subject, input: CandidateInput, ordinary: SketchFacts): Generator<RequestSketch> {
  const actions = actionsCovered(subject.policy, input.actions).filter(({ name }) => name === 'tool.execute');
  for (const action of actions) {
    for (const tool of input.catalogue) {
      const ways = subject.ways.slice(0, MOST_PAIRED).flatMap((way) => [
        [...way, ...toolEdits(tool)],
        [...toolEdits(tool), ...way],
      ]);
      yield* onAction(action, ways, ordinary);
    }
  }
}

function toolEdits({ name, capabilities, upstream }: CatalogueTool): Way {
  const server: readonly FactEdit[] =
    upstream === undefined
      ? []
      : [
          { kind: 'be', fact: 'context.enforced.upstream.server', value: upstream.server },
          { kind: 'be', fact: 'context.enforced.upstream.definition_sha256', value: upstream.definitionSha256 },
        ];
  return [
    { kind: 'be', fact: 'resource.id', value: name },
    { kind: 'be', fact: 'context.tool_name', value: name },
    { kind: 'be', fact: 'context.capabilities', value: capabilities },
    ...server,
  ];
}

/** A forbid shows only where something else permits, so permits come first for it. */
function mostUseful({ policy }: Subject, others: readonly Subject[]): readonly Subject[] {
  const permits = others.filter((other) => other.policy.effect === 'permit');
  return policy.effect === 'forbid' ? permits : others.filter((other) => other.policy !== policy);
}

interface PairInput extends CandidateInput {
  readonly ordinary: SketchFacts;
}

function* together(subject: Subject, other: Subject, { actions, ordinary }: PairInput): Generator<RequestSketch> {
  const shared = actionsCovered(other.policy, actionsCovered(subject.policy, actions));
  const ways = subject.ways.slice(0, MOST_PAIRED).flatMap((way) =>
    other.ways.slice(0, MOST_PAIRED).flatMap((also) => [
      [...also, ...way],
      [...way, ...also],
    ]),
  );
  for (const action of shared) yield* onAction(action, ways, ordinary);
}

const BY_CHANCE = 500;

function* byChance(
  subjects: readonly Subject[],
  input: CandidateInput,
  ordinary: SketchFacts,
): Generator<RequestSketch> {
  const next = createChance(input.seed);
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(next() * items.length)];
  const tools = input.catalogue.map(toolEdits);
  for (let round = 0; round < BY_CHANCE; round++) {
    const subject = pick(subjects);
    const action = subject && pick(actionsCovered(subject.policy, input.actions));
    if (subject === undefined || action === undefined) continue;
    const count = 1 + Math.floor(next() * 3);
    const more = Array.from({ length: count }, () => pick(pick(subjects)?.ways ?? []) ?? []);
    const tool = next() < 0.5 ? (pick(tools) ?? []) : [];
    yield* onAction(action, [[...(pick(subject.ways) ?? []), ...tool, ...more.flat()]], ordinary);
  }
}

/** mulberry32: repeatable chance, no more. */
function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
