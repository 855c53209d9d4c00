import { systemClock } from '@palyra/primitives';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AskedEffect, alwaysHereRule } from './always-here.ts';
import { type CompiledPolicies, compilePolicies, type LoadedPolicies, loadPolicies } from './compiled-policies.ts';
import { leavingsOf } from './leavings.ts';
import type { Offer } from './obligations.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import type { PresetName } from './policy-set.ts';
import { requirePassed, runPolicyTests } from './policy-test.ts';
import { previewRule } from './preview-rule.ts';
import type { CallFacts, PolicyRequest } from './request.ts';
import { requestFromSketch, type SketchFacts } from './request-sketch.ts';
import { EVERYTHING_LISTED } from './test-request.ts';

const WORKSPACE = 'shop';
const DIGEST = 'ab'.repeat(32);

const EFFECTS: readonly AskedEffect[] = [
  { kind: 'host', host: 'api.example:443' },
  { kind: 'registries', hosts: ['npm.example:443', 'pypi.example:443'] },
  { kind: 'path', fact: 'secret_file', path: '/shop/.env', mode: 'read' },
  { kind: 'path', fact: 'outside_path', path: '/srv/data', mode: 'write' },
  { kind: 'upstream', tool: 'mcp.mail.send', server: 'mail', definitionSha256: DIGEST },
  { kind: 'agent_host', host: 'api.example:443', clientHosts: ['model.example:443', 'login.example:443'] },
];

/** The facts of the call that asked for each. */
const ASKED: readonly SketchFacts[] = [
  { 'context.enforced.hosts': ['api.example:443'] },
  { 'context.enforced.registry_hosts': ['npm.example:443'] },
  { 'context.enforced.secret_files': ['/shop/.env'], 'context.enforced.read_roots': ['/shop/.env'] },
  { 'context.enforced.outside_paths': ['/srv/data'], 'context.enforced.write_roots': ['/srv/data'] },
  {
    'resource.id': 'mcp.mail.send',
    'context.enforced.upstream.server': 'mail',
    'context.enforced.upstream.definition_sha256': DIGEST,
  },
  {
    'context.coverage': 'wrapped',
    'context.enforced.hosts': ['api.example:443', 'model.example:443', 'login.example:443'],
    'context.enforced.client_hosts': ['model.example:443', 'login.example:443'],
  },
];

function ruleFor(effect: AskedEffect) {
  return alwaysHereRule({ workspace: WORKSPACE, effect, offer: 'always' });
}

function compileWith(effects: readonly AskedEffect[], preset: PresetName = 'coding'): CompiledPolicies {
  const text = effects.map((effect) => ruleFor(effect).policyText).join('\n');
  const origin = { kind: 'workspace', workspace: WORKSPACE } as const;
  const files = [{ name: `policies/workspaces/${WORKSPACE}.cedar`, text, origin }];
  return compilePolicies({ preset, files: effects.length === 0 ? [] : files });
}

test('a host becomes one readable rule', () => {
  const rule = ruleFor({ kind: 'host', host: 'api.example:443' });
  expect(rule.policyText).toBe(`@id("${rule.id}")
@reason("Allowed in this workspace for good: connections to api.example:443.")
permit (principal, action in Palyra::Action::"execute", resource)
when {
  context has workspace && context.workspace == Palyra::Workspace::"shop" &&
  ["A", "C", "built_in", "client"].contains(context.enforced.tier) &&
  (context.enforced.egress == "strict" || (context.enforced.tier == "client" && context.enforced.egress == "preflight")) &&
  context.enforced.leaves == ["host"] &&
  ["api.example:443"].containsAll(context.enforced.hosts)
};`);
  expect(rule.id).toMatch(/^always-[0-9a-f]{32}$/);
});

test('the id follows from workspace and effect, in whatever order registries are named', () => {
  const ids = EFFECTS.map((effect) => ruleFor(effect).id);
  expect(new Set(ids).size).toBe(EFFECTS.length);
  expect(EFFECTS.map((effect) => ruleFor(effect).id)).toEqual(ids);
  const turned = ruleFor({ kind: 'registries', hosts: ['pypi.example:443', 'npm.example:443', 'npm.example:443'] });
  expect(turned.id).toBe(ids[1]);
  const [effect] = EFFECTS as [AskedEffect];
  expect(alwaysHereRule({ workspace: 'other', effect, offer: 'always' }).id).not.toBe(ids[0]);
});

test.each(['coding', 'locked', 'observe'] as const)('every rule passes its own test under %s', async (preset) => {
  const text = EFFECTS.map((effect) => ruleFor(effect).testText).join('\n\n');
  const tests = parsePolicyTests([{ name: 't', text, origin: { kind: 'workspace', workspace: WORKSPACE } }]);
  const results = await runPolicyTests(compileWith(EFFECTS, preset), tests);
  requirePassed(results);
  expect(results.length).toBe(EFFECTS.length);
});

describe('refused', () => {
  const [host] = EFFECTS as [AskedEffect];
  const refusal = expect.objectContaining({ code: 'policy.invalid_request' });

  test.each<Offer | undefined>(['once', 'session', undefined])('what was offered as %s', (offer) => {
    expect(() => alwaysHereRule({ workspace: WORKSPACE, effect: host, offer })).toThrow(refusal);
  });

  test.each([
    { kind: 'path', fact: 'protected_file', path: '/shop/.git/hooks/x', mode: 'write' },
    { kind: 'open_network' },
    { kind: 'host', host: '*:443' },
    { kind: 'host', host: 'API.example:443' },
    { kind: 'host', host: 'api.example' },
    { kind: 'registries', hosts: [] },
    { kind: 'agent_host', host: 'api.example:443', clientHosts: [] },
    { kind: 'agent_host', host: 'api.example:443', clientHosts: ['*:443'] },
    { kind: 'path', fact: 'secret_file', path: '/shop/../etc', mode: 'read' },
    { kind: 'path', fact: 'secret_file', path: '/shop/.env', mode: 'both' },
    { kind: 'path', fact: 'constructor', path: '/shop/.env', mode: 'read' },
    { kind: 'upstream', tool: 'a b', server: 'mail', definitionSha256: DIGEST },
    { kind: 'upstream', tool: 'a', server: 'mail', definitionSha256: 'latest' },
  ])('$kind as %j', (effect) => {
    expect(() => ruleFor(effect as AskedEffect)).toThrow(refusal);
  });

  test('a workspace whose name is not canonical', () => {
    expect(() => alwaysHereRule({ workspace: 'a"b', effect: host, offer: 'always' })).toThrow(refusal);
  });
});

test('before it is written, a rule shows exactly what it newly allows', async () => {
  const compiled = compileWith([]);
  const loaded = await loadPolicies(compiled);
  const rule = ruleFor({ kind: 'host', host: 'api.example:443' });
  const options = { config: EVERYTHING_LISTED, clock: systemClock, mostRequests: 60 };
  const { witnesses, changes } = await previewRule({ rule, compiled, loaded }, options);
  loaded.close();
  expect(changes.added).toEqual([rule.id]);
  expect(witnesses.map(({ change, facts }) => [change, facts])).toEqual([
    ['newly_allowed', { 'context.workspace': WORKSPACE, 'context.enforced.hosts': ['api.example:443'] }],
  ]);
});

describe('a rule never allows more than its effect, in its workspace, in the box', () => {
  const sets: LoadedPolicies[] = [];
  beforeAll(async () => {
    for (const effects of [[], ...EFFECTS.map((effect) => [effect])])
      sets.push(await loadPolicies(compileWith(effects)));
  });
  afterAll(() => {
    for (const loaded of sets) loaded.close();
  });

  const some = (...values: readonly string[]) => fc.subarray([...values]);
  const hosts = [
    'api.example:443',
    'npm.example:443',
    'pypi.example:443',
    'api.example:80',
    'evil.example:443',
    'model.example:443',
  ];
  const others = fc.record({
    'context.workspace': fc.constantFrom(WORKSPACE, 'other'),
    'context.enforced.tier': fc.constantFrom('A', 'B', 'built_in', 'client', 'none'),
    'context.enforced.egress': fc.constantFrom('preflight', 'none'),
    'context.capabilities': some('process_exec', 'network', 'filesystem_write'),
    'context.enforced.hosts': some(...hosts),
    'context.coverage': fc.constantFrom('hooked', 'mcp_only', 'direct'),
    'context.enforced.client_hosts': some('model.example:443', 'evil.example:443', 'login.example:443'),
    'context.enforced.registry_hosts': some('npm.example:443', 'pypi.example:443', 'evil.example:443'),
    'context.enforced.secrets': fc.constant(['token']),
    'context.enforced.secret_files': some('/shop/.env', '/shop/.env.local'),
    'context.enforced.outside_paths': some('/srv/data', '/srv'),
    'context.enforced.read_roots': some('/shop/.env', '/srv/data', '/shop'),
    'context.enforced.write_roots': some('/shop/.env', '/srv/data', '/shop'),
    'context.enforced.protected_paths': fc.constant(['/shop/.git/config']),
    'resource.id': fc.constantFrom('mcp.mail.read', 'mcp.other.send'),
    'context.enforced.upstream.server': fc.constantFrom('mail', 'other'),
    'context.enforced.upstream.definition_sha256': fc.constantFrom(DIGEST, 'cd'.repeat(32)),
  });
  /** The request that the rule is for, with up to two facts of it changed: near misses find more than chance. */
  const requestsNear = (index: number) =>
    fc.tuple(others, fc.subarray(Object.keys(ANY_OTHER), { maxLength: 2 })).map(([all, kept]): PolicyRequest => {
      const changed = Object.entries(all).filter(([name]) => kept.includes(name));
      const facts = { 'context.workspace': WORKSPACE, ...ASKED[index], ...Object.fromEntries(changed) };
      return requestFromSketch({ action: 'tool.execute', facts });
    });
  const [ANY_OTHER = {}] = fc.sample(others, 1);

  test.each(EFFECTS.map((effect, index) => [index, effect] as const))('%i %j', (index, effect) => {
    let allowed = 0;
    fc.assert(
      fc.property(requestsNear(index), (request) => {
        const without = sets[0]?.engine(EVERYTHING_LISTED).decide(request);
        const withRule = sets[index + 1]?.engine(EVERYTHING_LISTED).decide(request);
        if (withRule?.kind === without?.kind) return;
        expect(withRule).toMatchObject({ kind: 'allow', policyIds: [ruleFor(effect).id] });
        expect(request.context.workspace).toBe(WORKSPACE);
        const { enforced } = request.context.facts as CallFacts;
        // An agent's own tool keeps to what it was told, as far as its program does; all others are held.
        const held = enforced.tier === 'client' ? ['strict', 'preflight'] : ['strict'];
        expect(['A', 'C', 'built_in', 'client']).toContain(enforced.tier);
        expect(held).toContain(enforced.egress);
        const [seen, asked] = seenAndAsked(effect, request);
        expect(seen).toEqual(asked);
        allowed += 1;
      }),
      { numRuns: 40, seed: 7 },
    );
    expect(allowed).toBeGreaterThan(0);
  });
});

test('a host for a wrapped agent is for that profile’s hosts: where one of them is not the profile’s, it is asked about', async () => {
  const loaded = await loadPolicies(compileWith(EFFECTS));
  const kindFor = (clientHosts: readonly string[]) => {
    const facts = { 'context.workspace': WORKSPACE, ...ASKED[5], 'context.enforced.client_hosts': clientHosts };
    return loaded.engine(EVERYTHING_LISTED).decide(requestFromSketch({ action: 'tool.execute', facts })).kind;
  };
  expect(kindFor(['model.example:443', 'login.example:443'])).toBe('allow');
  expect(kindFor(['model.example:443'])).toBe('ask');
  loaded.close();
});

/** What the allowed call does, and what was asked for, in the same form. */
function seenAndAsked(effect: AskedEffect, request: PolicyRequest): readonly [unknown, unknown] {
  const { enforced, capabilities } = request.context.facts as CallFacts;
  const leavings = leavingsOf(enforced, capabilities);
  switch (effect.kind) {
    case 'host':
      return [
        [leavings, enforced.hosts],
        [['host'], [effect.host]],
      ];
    case 'agent_host':
      return [
        [
          leavings,
          request.context.coverage,
          enforced.tier,
          enforced.hosts.filter((host) => !effect.clientHosts.includes(host)),
          enforced.clientHosts.toSorted(),
        ],
        [['host', 'client_host'], 'wrapped', 'C', [effect.host], effect.clientHosts.toSorted()],
      ];
    case 'registries':
      return [
        [leavings, enforced.hosts.filter((host) => !effect.hosts.includes(host))],
        [['registry'], []],
      ];
    case 'path': {
      const paths = effect.fact === 'secret_file' ? enforced.secretFiles : enforced.outsidePaths;
      const isWritten = enforced.writeRoots.includes(effect.path);
      return [
        [leavings, paths, isWritten],
        [[effect.fact], [effect.path], effect.mode === 'write'],
      ];
    }
    case 'upstream': {
      const { tool, server, definitionSha256 } = effect;
      return [
        [leavings, request.resource.id, enforced.upstream],
        [['upstream'], tool, { server, definitionSha256 }],
      ];
    }
  }
}
