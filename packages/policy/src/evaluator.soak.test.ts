import fc from 'fast-check';
import { afterEach, beforeAll, expect, test } from 'vitest';
import {
  authorize,
  type EvaluationRequest,
  type NamedPolicy,
  preparePolicies,
  prepareSchema,
  validatePolicies,
} from './cedar.ts';
import { combineAnswers } from './combine-answers.ts';
import { createEvaluator, type Evaluator } from './evaluator.ts';

/*
 * SECURITY: T-09 — the partitioned evaluator against Cedar with the whole set in one slot: same decision, same
 * reasons, same errors with the same messages, and a failure exactly where Cedar fails.
 */
const SCHEMA = `
entity Group in [Group];
entity Person in [Group] { name: String, age: Long, boss?: Person, type: String, id: String } tags String;
entity Robot in [Group];
entity Doc in [Folder] { owner: Person, size: Long, ip?: ipaddr };
entity Folder in [Folder];
type Inner = { s: String, flag: Bool, set: Set<String>, opt?: String };
type Wide = { kind: String, on: Bool, tags: Set<String>, n: Long, inner: Inner, maybe?: Inner, note?: String, who: Person, from: ipaddr, longs: Set<Long> };
action all; action reads in [all]; action writes in [all];
action read, peek in [reads] appliesTo { principal: [Person, Robot], resource: [Doc, Folder], context: Wide };
action write in [writes] appliesTo { principal: [Person], resource: [Doc], context: { kind: String, on: Bool, n: Long, inner?: Inner } };
action odd appliesTo { principal: [Person, Robot], resource: [Doc], context: { kind: Long, inner: String } };
`;

const text = fc.constantFrom('a', 'b', 'c');
const long = fc.constantFrom('0', '1', '5', '9223372036854775807', '-9223372036854775808');
const person = fc.constantFrom('Person::"p1"', 'Person::"p2"', 'Person::"ghost"');

const recordText = fc.constantFrom(
  'context.kind',
  'context.inner.s',
  'context.note',
  'context.inner.opt',
  'context.maybe.s',
);
/** `id` and `type` are attributes of the entity, not the parts of its JSON. */
const entityText = fc.constantFrom('context.who.id', 'context.who.type', 'principal.name', 'principal.boss.name');
const stringOf: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: recordText },
  { weight: 3, arbitrary: entityText },
  { weight: 1, arbitrary: fc.constantFrom('resource.owner.name', 'context["inner"]["s"]') },
  { weight: 1, arbitrary: text.map((value) => `"${value}"`) },
);
const setOf = fc.oneof(
  fc.constantFrom('context.tags', 'context.inner.set', 'context.maybe.set'),
  fc.array(text, { minLength: 1, maxLength: 3 }).map((values) => `[${values.map((value) => `"${value}"`).join()}]`),
);
const longOf = fc.oneof(
  fc.constantFrom('context.n', 'principal.age', 'resource.size'),
  long,
  fc
    .tuple(fc.constantFrom('context.n', 'principal.age'), fc.constantFrom('+', '-', '*'), long)
    .map((parts) => parts.join(' ')),
);
const entityTest = fc.oneof(
  fc.constantFrom('principal is Person', 'resource is Doc', 'principal is Robot', 'resource in Folder::"f1"'),
  fc.constantFrom('principal in Group::"g2"', 'action in [Action::"reads"]', 'action == Action::"read"'),
  person.map((one) => `principal == ${one}`),
  person.map((one) => `context.who == ${one}`),
  fc.constantFrom('resource.owner == principal', 'principal.hasTag("t")', 'principal.getTag("t") == "a"'),
);
const flagOf = fc.constantFrom(
  'context.on',
  'context.inner.flag',
  'context.maybe.flag',
  '!context.on',
  '!context.inner.flag',
  'true',
);
const presenceOf = fc.constantFrom(
  'context has note',
  'context has maybe',
  'context has maybe.opt',
  'context.inner has opt',
  'context has inner',
  'context has inner.opt',
  'principal has boss',
  'resource has ip',
  'context has nothing',
);
const extensionOf = fc.constantFrom(
  'context.from.isLoopback()',
  'resource.ip.isIpv4()',
  'ip("10.0.0.1").isInRange(ip("10.0.0.0/8"))',
  'decimal("1.5").lessThan(decimal("2.5"))',
);
const atom = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(stringOf, text).map(([path, value]) => `${path} == "${value}"`) },
  { weight: 1, arbitrary: fc.tuple(text, stringOf).map(([value, path]) => `"${value}" == ${path}`) },
  { weight: 1, arbitrary: fc.tuple(stringOf, text).map(([path, value]) => `${path} != "${value}"`) },
  { weight: 3, arbitrary: fc.tuple(setOf, stringOf).map(([set, value]) => `${set}.contains(${value})`) },
  { weight: 1, arbitrary: fc.tuple(setOf, setOf).map(([set, other]) => `${set}.containsAny(${other})`) },
  { weight: 1, arbitrary: fc.tuple(setOf, setOf).map(([set, other]) => `${set}.containsAll(${other})`) },
  { weight: 2, arbitrary: flagOf },
  { weight: 3, arbitrary: presenceOf },
  { weight: 2, arbitrary: entityTest },
  { weight: 2, arbitrary: fc.tuple(longOf, fc.constantFrom('<', '==', '>='), longOf).map((parts) => parts.join(' ')) },
  { weight: 1, arbitrary: extensionOf },
  { weight: 1, arbitrary: stringOf.map((path) => `${path} like "a*"`) },
  { weight: 1, arbitrary: fc.constantFrom('context.on == false', 'true == context.on', 'context.kind == 1') },
);
const risky = fc.oneof(
  fc.tuple(entityText, text).map(([path, value]) => `${path} ${value === 'c' ? '!=' : '=='} "${value}"`),
  fc.constantFrom('context.n + 9223372036854775807 > 3', 'context.n * 5 > 3', 'principal.age < 3', 'resource.size < 3'),
);
const sought = fc.oneof(
  fc.tuple(recordText, text).map(([path, value]) => `${path} == "${value}"`),
  text.map((value) => `context.tags.contains("${value}")`),
  fc.tuple(text, text).map(([one, other]) => `context.tags.containsAny(["${one}", "${other}"])`),
  fc.constantFrom('context.on', '!context.on', 'context.inner.flag', '!context.inner.flag'),
);
/** What may fail before what can be looked up, and the other way round. */
const conjunction = fc.oneof(
  fc.array(atom, { minLength: 1, maxLength: 4 }).map((atoms) => atoms.join(' && ')),
  sought,
  fc.tuple(risky, sought).map((atoms) => atoms.join(' && ')),
  fc.tuple(sought, risky).map((atoms) => atoms.join(' && ')),
  fc.tuple(sought, risky).map((atoms) => `(${atoms.join(' || ')})`),
);
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc.tuple(tie('expression'), tie('expression')).map(([left, right]) => `(${left} && ${right})`),
    fc.tuple(tie('expression'), tie('expression')).map(([left, right]) => `${left} && ${right}`),
    fc.tuple(tie('expression'), tie('expression')).map(([left, right]) => `(${left} || ${right})`),
    tie('expression').map((inner) => `!(${inner})`),
    fc.tuple(atom, atom, atom).map(([when, then, otherwise]) => `(if ${when} then ${then} else ${otherwise})`),
  ),
}));

/** Mostly what strict validation lets pass, or too few policies are left to compare. */
const PRINCIPAL_SCOPES = `
principal
principal is Person
principal is Person
principal is Person
principal == Person::"p1"
principal == Person::"ghost"
principal in Group::"g1"
principal is Person in Group::"g2"
principal is Robot in Group::"g1"`;
const ACTION_SCOPES = `
action
action == Action::"read"
action in Action::"all"
action in Action::"reads"
action in [Action::"reads"]
action in [Action::"read", Action::"peek"]
action in [Action::"write", Action::"peek"]
action == Action::"odd"`;
const RESOURCE_SCOPES = `
resource
resource is Doc
resource is Doc
resource == Doc::"d1"
resource in Folder::"f1"
resource is Folder
resource in Doc::"d1"
resource is Doc in Folder::"f2"`;
const oneLineOf = (lines: string) => fc.constantFrom(...lines.trim().split('\n'));
const clause = fc
  .tuple(fc.constantFrom('when', 'when', 'when', 'unless'), fc.oneof(expression, conjunction))
  .map(([kind, body]) => `${kind} { ${body} }`);
const policyText = fc
  .tuple(
    fc.constantFrom('permit', 'forbid'),
    oneLineOf(PRINCIPAL_SCOPES),
    oneLineOf(ACTION_SCOPES),
    oneLineOf(RESOURCE_SCOPES),
    fc.array(clause, { maxLength: 3 }),
  )
  .map(([effect, principal, action, resource, clauses]) => {
    return `${effect}(${principal}, ${action}, ${resource}) ${clauses.join(' ')};`;
  });

const inner = fc.record(
  { s: text, flag: fc.boolean(), set: fc.uniqueArray(text), opt: text },
  { requiredKeys: ['s', 'flag', 'set'], noNullPrototype: true },
);
const number = fc.constantFrom<number | bigint>(0, 1, 5, 9223372036854775807n, -9223372036854775808n);
/** Both spellings that Cedar takes where the schema says that an entity must come. */
const who = fc.constantFrom('p1', 'p2', 'ghost', 'a').chain((id) => {
  const uid = { type: 'Person', id };
  return fc.constantFrom<object>(uid, { __entity: uid });
});
const wide = fc.record(
  {
    kind: text,
    on: fc.boolean(),
    tags: fc.uniqueArray(text),
    n: number,
    inner,
    maybe: inner,
    note: text,
    who,
    from: fc.constant({ __extn: { fn: 'ip', arg: '127.0.0.1' } }),
    longs: fc.constant([1]),
  },
  { requiredKeys: ['kind', 'on', 'tags', 'n', 'inner', 'who', 'from', 'longs'], noNullPrototype: true },
);
const contextFor: Readonly<Record<string, fc.Arbitrary<Record<string, unknown>>>> = {
  read: wide,
  peek: wide,
  write: fc.record(
    { kind: text, on: fc.boolean(), n: number, inner },
    { requiredKeys: ['kind', 'on', 'n'], noNullPrototype: true },
  ),
  odd: fc.record({ kind: number, inner: text }, { noNullPrototype: true }),
  unknown: fc.constant({}),
};
const uid = (type: string) => (id: string) => ({ type, id });
const principal = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('p1', 'p2', 'ghost').map(uid('Person')) },
  { weight: 1, arbitrary: fc.constant(uid('Robot')('r1')) },
);
const resource = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('d1', 'd2').map(uid('Doc')) },
  { weight: 1, arbitrary: fc.constant(uid('Folder')('f1')) },
);
const age = fc.constantFrom<number | bigint>(0, 7, 9223372036854775807n);
const personEntity = (id: string) =>
  fc.record({
    uid: fc.constant({ type: 'Person', id }),
    attrs: fc.record(
      { name: text, age, boss: who, type: text, id: text },
      { requiredKeys: ['name', 'age', 'type', 'id'], noNullPrototype: true },
    ),
    parents: fc.subarray([
      { type: 'Group', id: 'g1' },
      { type: 'Group', id: 'g3' },
    ]),
    tags: fc.record({ t: text }, { requiredKeys: [], noNullPrototype: true }),
  });
const docEntity = fc.record({
  uid: fc.constantFrom('d1', 'd2').map(uid('Doc')),
  attrs: fc.record(
    { owner: who, size: age, ip: fc.constant({ __extn: { fn: 'ip', arg: '::1' } }) },
    { requiredKeys: ['owner', 'size'], noNullPrototype: true },
  ),
  parents: fc.subarray([
    { type: 'Folder', id: 'f1' },
    { type: 'Folder', id: 'f0' },
  ]),
});
const groups = [
  { uid: { type: 'Group', id: 'g1' }, attrs: {}, parents: [{ type: 'Group', id: 'g2' }] },
  { uid: { type: 'Group', id: 'g3' }, attrs: {}, parents: [] },
  { uid: { type: 'Folder', id: 'f0' }, attrs: {}, parents: [{ type: 'Folder', id: 'f2' }] },
  { uid: { type: 'Robot', id: 'r1' }, attrs: {}, parents: [{ type: 'Group', id: 'g1' }] },
];
const entities = fc
  .tuple(fc.subarray(groups), fc.option(personEntity('p1')), fc.option(personEntity('p2')), fc.option(docEntity))
  .map(([some, one, two, doc]) => [...some, ...[one, two, doc].filter((entity) => entity !== null)]);
const request: fc.Arbitrary<EvaluationRequest> = fc
  .constantFrom('read', 'read', 'read', 'peek', 'peek', 'write', 'write', 'odd', 'unknown')
  .chain((action) =>
    fc.record({
      principal,
      resource,
      entities,
      action: fc.constant({ type: 'Action', id: action }),
      context: fc.oneof({ weight: 9, arbitrary: contextFor[action] ?? wide }, { weight: 1, arbitrary: wide }),
    }),
  );

const open: Evaluator[] = [];
beforeAll(() => {
  prepareSchema('property-schema', SCHEMA);
});
afterEach(() => {
  for (const evaluator of open.splice(0)) evaluator.close();
});

function named(texts: readonly string[]): readonly NamedPolicy[] {
  return texts.map((policy, index) => ({ id: `policy${index}`, text: policy }));
}

/** Only those that pass strict validation, as activation demands. */
function validOnes(policies: readonly NamedPolicy[]): readonly NamedPolicy[] {
  const answer = validatePolicies(SCHEMA, policies);
  if (answer.kind === 'failed') throw new Error(answer.problems[0]?.message);
  const bad = new Set(answer.findings.filter(({ severity }) => severity === 'error').map(({ policyId }) => policyId));
  return policies.filter(({ id }) => !bad.has(id));
}

/** Cedar with all policies in one slot. */
function prepareWhole(policies: readonly NamedPolicy[]): void {
  expect(preparePolicies('property-policies', policies).kind).toBe('prepared');
}

function whole(asked: EvaluationRequest, validateRequest: boolean) {
  const slots = { schemaSlot: 'property-schema', policySlot: 'property-policies', validateRequest };
  return combineAnswers([authorize(asked, slots)]);
}

/** More of them in `npm run soak`: each prepares a policy set of its own, twice. */
const RUNS = process.env['PALYRA_SOAK'] === '1' ? 1000 : 15;
const seen = { allow: 0, deny: 0, errors: 0, failed: 0, policies: 0, left: 0 };

test('a strictly valid set is evaluated as Cedar evaluates the whole', { timeout: 1_800_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(policyText, { minLength: 20, maxLength: 60 }),
      fc.array(request, { minLength: 10, maxLength: 20 }),
      fc.constantFrom(1, 3, 100),
      async (texts, requests, mostPolicies) => {
        const policies = validOnes(named(texts));
        seen.policies += texts.length;
        seen.left += policies.length;
        const chunk = { mostPolicies, mostCharacters: 40_000 };
        const evaluator = await createEvaluator({ schema: SCHEMA, policies, strictlyValid: true, chunk });
        open.push(evaluator);
        prepareWhole(policies);
        for (const asked of requests) {
          const expected = whole(asked, true);
          count(expected);
          expect(evaluator.evaluate(asked)).toEqual(expected);
          expect(evaluator.evaluate(asked, { validateRequest: false })).toEqual(whole(asked, false));
        }
        evaluator.close();
      },
    ),
    { numRuns: RUNS },
  );
  // The generators must reach every kind of answer, or the comparison proves nothing.
  expect(seen.left).toBeGreaterThan(seen.policies / 5);
  for (const kind of ['allow', 'deny', 'errors', 'failed'] as const) expect(seen[kind]).toBeGreaterThan(RUNS / 10);
});

test('a set that is not valid, and requests that are not validated, too', { timeout: 1_800_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(policyText, { minLength: 5, maxLength: 40 }),
      fc.array(request, { minLength: 5, maxLength: 10 }),
      fc.boolean(),
      async (texts, requests, validateRequest) => {
        const policies = named(texts);
        const evaluator = await createEvaluator({ schema: SCHEMA, policies, strictlyValid: false });
        open.push(evaluator);
        prepareWhole(policies);
        for (const asked of requests) {
          expect(evaluator.evaluate(asked, { validateRequest })).toEqual(whole(asked, validateRequest));
        }
        evaluator.close();
      },
    ),
    { numRuns: Math.ceil(RUNS / 3) },
  );
});

function count(result: ReturnType<typeof whole>): void {
  if (result.kind === 'failed') seen.failed += 1;
  else {
    seen[result.decision] += 1;
    if (result.errors.length > 0) seen.errors += 1;
  }
}
