import type { Effect } from '@palyra/approvals';
import type { AskedEffect } from '@palyra/policy';
import { expect, test } from 'vitest';
import type { ToolPlan } from '../catalog/tool.ts';
import { REACHES_NOTHING } from '../tools/built-in-plan.ts';
import { effectsOfRule, fitsRule, ruleEffectOf } from './rule-effect.ts';

const PLACE = {
  root: '/shop',
  registryHosts: ['npm.example:443', 'pypi.example:443'],
  clientHosts: ['model.example:443', 'login.example:443', 'other-model.example:443'],
};
const host = (name: string, secret: string | null = null): Effect => ({ kind: 'host', host: name, port: 443, secret });
const path = (at: string): Effect => ({ kind: 'path', path: at, mode: 'read' });
const DIGEST = 'ab'.repeat(32);
type Upstream = Extract<Effect, { kind: 'upstream' }>;

test.each<[string, readonly Effect[], AskedEffect]>([
  ['a host', [host('a.example')], { kind: 'host', host: 'a.example:443' }],
  [
    'registries',
    [host('npm.example'), host('pypi.example')],
    { kind: 'registries', hosts: ['npm.example:443', 'pypi.example:443'] },
  ],
  [
    'a host beside those of a wrapped agent',
    [host('a.example'), host('model.example'), host('login.example')],
    { kind: 'agent_host', host: 'a.example:443', clientHosts: ['model.example:443', 'login.example:443'] },
  ],
  [
    'a file of the workspace',
    [path('/shop/.env')],
    { kind: 'path', fact: 'secret_file', path: '/shop/.env', mode: 'read' },
  ],
  ['a path outside', [path('/shopping')], { kind: 'path', fact: 'outside_path', path: '/shopping', mode: 'read' }],
  [
    'a tool of another server',
    [{ kind: 'upstream', server: 's', tool: 't', definition: DIGEST as Upstream['definition'] }],
    { kind: 'upstream', server: 's', tool: 't', definitionSha256: DIGEST },
  ],
])('%s has a rule, which answers the question that it came from', (_name, effects, rule) => {
  expect(ruleEffectOf(effects, PLACE)).toEqual(rule);
  expect(effectsOfRule(rule)).toEqual(effects);
});

test.each<[string, readonly Effect[]]>([
  ['nothing', []],
  ['two hosts', [host('a.example'), host('b.example')]],
  ['a registry and another host', [host('npm.example'), host('b.example')]],
  ['two hosts beside those of an agent', [host('a.example'), host('b.example'), host('model.example')]],
  ['hosts of agents alone', [host('model.example'), host('login.example')]],
  ['a host of an agent with a secret, and another', [host('a.example'), host('model.example', 'token')]],
  ['a host with a secret', [host('a.example', 'token')]],
  ['a host and a path', [host('a.example'), path('/shop/.env')]],
  ['two files', [path('/shop/.env'), path('/shop/.npmrc')]],
  ['what is approved once', [{ kind: 'once', what: 'anything' }]],
  ['a command', [{ kind: 'argv', argv: ['ls'], cwd: '/shop' }]],
])('%s has none', (_name, effects) => {
  expect(ruleEffectOf(effects, PLACE)).toBe(undefined);
});

function planOf(enforced: Partial<ToolPlan['enforced']>, capabilities: ToolPlan['capabilities'] = []): ToolPlan {
  const shown = { kind: 'call', name: 't', arguments: '{}' } as const;
  return { enforced: { ...REACHES_NOTHING, ...enforced }, capabilities, shown, cwd: null } as unknown as ToolPlan;
}

function wrapped(asked: readonly string[]): ToolPlan {
  const clientHosts = ['model.example:443'];
  return planOf({ tier: 'C', hosts: [...asked, ...clientHosts], clientHosts }, ['process_exec']);
}

test.each<[string, ToolPlan, boolean]>([
  ['a host from Tier C', planOf({ tier: 'C', hosts: ['a.example:443'] }, ['process_exec']), true],
  ['a host from Tier B', planOf({ tier: 'B', hosts: ['a.example:443'] }, ['process_exec']), false],
  ['a host behind no proxy', planOf({ tier: 'C', egress: 'none', hosts: ['a.example:443'] }, ['process_exec']), false],
  ['a host with a secret', planOf({ tier: 'C', hosts: ['a.example:443'], secrets: ['token'] }), false],
  [
    'a secret-shaped file that is granted by name',
    planOf({ secretFiles: ['/shop/.env'], readRoots: ['/shop/.env'] }),
    true,
  ],
  ['one that is granted with the workspace', planOf({ secretFiles: ['/shop/.env'], readRoots: ['/shop'] }), false],
  ['one and a protected one', planOf({ secretFiles: ['/shop/.env'], protectedPaths: ['/shop/.git/config'] }), false],
  ["an agent's own host", planOf({ tier: 'C', hosts: ['a.example:443'], clientHosts: ['a.example:443'] }), false],
  ['a host beside those of a wrapped agent', wrapped(['a.example:443']), true],
  ['a host and one of another agent’s', wrapped(['a.example:443', 'other-model.example:443']), false],
  ['two hosts beside those of a wrapped agent', wrapped(['a.example:443', 'b.example:443']), false],
  [
    'a host and an agent’s, from a command',
    planOf({ tier: 'C', hosts: ['a.example:443', 'model.example:443'] }, ['process_exec']),
    false,
  ],
  ['a host from code without a box', planOf({ hosts: ['a.example:443'] }, ['process_exec']), false],
  [
    'a page that an agent fetches itself',
    planOf({ tier: 'client', egress: 'preflight', hosts: ['a.example:443'] }, ['network']),
    true,
  ],
  [
    'a secret-shaped file that an agent reads itself',
    planOf({ tier: 'client', secretFiles: ['/shop/.env'], readRoots: ['/shop/.env'] }),
    true,
  ],
  ['code that an agent runs itself', planOf({ tier: 'client', hosts: ['a.example:443'] }, ['process_exec']), false],
  [
    'a page that an agent fetches from wherever it likes',
    planOf({ tier: 'client', egress: 'none', hosts: ['a.example:443'] }, ['network']),
    false,
  ],
  ['nothing', planOf({}), false],
])('an answer for good to %s: %#', (_name, plan, fits) => {
  expect(fitsRule(plan, PLACE)).toBe(fits);
});
