import { expect, test } from 'vitest';
import { policyToJson, readSchema } from './cedar.ts';
import { necessaryTests } from './necessary-tests.ts';
import { schemaActions } from './schema-actions.ts';

const SCHEMA = `
type C = { a: String, b?: String, f: Bool, n: Long, s: Set<String>, r: { x: String, o?: String }, e: U, ip: ipaddr };
entity U { id: String };
action go appliesTo { principal: U, resource: U, context: C };`;

function testsOf(clauses: string) {
  const schema = readSchema(SCHEMA);
  const policy = policyToJson(`permit(principal, action, resource) ${clauses};`);
  if (schema.kind !== 'parsed' || policy.kind !== 'parsed') throw new Error('the example does not parse');
  const [action] = [...schemaActions(schema.json).values()];
  if (action?.context === undefined) throw new Error('the example has no context');
  return necessaryTests(policy.json.conditions, action.context)?.map(
    ({ kind, path, value }) => `${path.join('.')} ${kind} ${value}`,
  );
}

test.each([
  ['when { context.a == "x" }', ['a equals x']],
  ['when { "x" == context.r.x }', ['r.x equals x']],
  ['when { context["r"]["x"] == "x" }', ['r.x equals x']],
  ['when { context.s.contains("x") }', ['s holds x']],
  ['when { context.s.containsAny(["x", "y"]) }', ['s holds x', 's holds y']],
  ['when { context.s.containsAll(["x", "y"]) }', ['s holds x']],
  ['when { ["x", "y"].contains(context.a) }', ['a equals x', 'a equals y']],
  ['when { context.f }', ['f flag true']],
  ['when { !context.f }', ['f flag false']],
  ['when { context.f == false }', ['f flag false']],
  ['unless { context.f }', ['f flag false']],
  ['when { context.f && context.a == "x" }', ['a equals x']],
  ['when { context.a == "x" || context.r.x == "y" }', ['a equals x', 'r.x equals y']],
  ['when { context has b && context.b == "x" }', ['b equals x']],
  ['when { context.r has o && context.r.o == "x" }', ['r.o equals x']],
  ['when { context has r.o && context.r.o == "x" }', ['r.o equals x']],
  ['when { principal in U::"g" && context.a == "x" }', ['a equals x']],
  ['when { context.n < 5 && context.a == "x" }', ['a equals x']],
  ['when { context.a like "x*" } when { context.r.x == "y" }', ['r.x equals y']],
  ['when { context.a == "x" && principal.id == "y" }', ['a equals x']],
  ['when { context.e == U::"x" }', ['e equals U"x']],
  ['when { U::"x" == context.e && principal.id == "y" }', ['e equals U"x']],
])('%s can be looked up', (clauses, expected) => {
  expect(testsOf(clauses)).toEqual(expected);
});

test.each([
  ['an entity of the context, not a record', 'when { context.e.id == "x" }'],
  ['an attribute that may be missing', 'when { context.b == "x" }'],
  ['an attribute asked for only on one side', 'when { (context has b || context.f) && context.b == "x" }'],
  ['an error further left: a missing entity', 'when { principal.id == "y" && context.a == "x" }'],
  ['an error further left: arithmetic', 'when { context.n + 1 > 5 && context.a == "x" }'],
  ['an error further left: an extension', 'when { context.ip.isIpv4() && context.a == "x" }'],
  ['an error further left: a tag', 'when { principal.hasTag("t") && context.a == "x" }'],
  ['an error in an earlier clause', 'unless { principal.id == "y" } when { context.a == "x" }'],
  ['an alternative that is not looked up', 'when { context.a == "x" || principal.id == "y" }'],
  ['a choice', 'when { if context.f then context.a == "x" else false }'],
  ['a negation', 'when { !(context.a == "x") }'],
  ['another type', 'when { context.n == 5 }'],
  ['no condition', ''],
])('not behind %s', (_why, clauses) => {
  expect(testsOf(clauses)).toBeUndefined();
});
