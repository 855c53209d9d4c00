import { systemClock } from '@palyra/primitives';
import { createFakeClock } from '@palyra/testkit';
import { afterAll, expect, test } from 'vitest';
import { compilePolicies, loadPolicies } from './compiled-policies.ts';
import { type DiffOptions, type DiffSide, diffPolicySets, type PolicyDiff } from './diff.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import type { PresetName } from './policy-set.ts';
import { EVERYTHING_LISTED } from './test-request.ts';

const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
});

const sides = new Map<string, Promise<DiffSide>>();

/** Compiling takes longer than searching, and most tests share a side. */
function side(text: string, preset: PresetName): Promise<DiffSide> {
  const key = `${preset} ${text}`;
  const known = sides.get(key) ?? makeSide(text, preset);
  sides.set(key, known);
  return known;
}

async function makeSide(text: string, preset: PresetName): Promise<DiffSide> {
  const files = text === '' ? [] : [{ name: 'policies/own.cedar', text, origin: { kind: 'operator' } as const }];
  const compiled = compilePolicies({ preset, files });
  const loaded = await loadPolicies(compiled);
  closers.push(() => loaded.close());
  return { policies: compiled.set.policies, engine: loaded.engine };
}

const OPTIONS: DiffOptions = { config: EVERYTHING_LISTED, clock: systemClock, mostRequests: 60 };

interface Sets {
  readonly before?: string;
  readonly after?: string;
  readonly presets?: readonly [PresetName, PresetName];
}

async function diff(
  { before = '', after = '', presets = ['coding', 'coding'] }: Sets,
  options: Partial<DiffOptions> = {},
): Promise<PolicyDiff> {
  return diffPolicySets(await side(before, presets[0]), await side(after, presets[1]), { ...OPTIONS, ...options });
}

/** `change: action name=value …` for every witness. */
function told({ witnesses }: PolicyDiff): readonly string[] {
  return witnesses.map(({ change, action, facts }) => {
    const all = Object.entries(facts).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    return [`${change}: ${action}`, ...all].join(' ');
  });
}

const NO_CURL = `@id("no-curl")
forbid (principal, action == Palyra::Action::"tool.execute", resource)
when { context.declared.command_line like "*curl*" };`;

test('a removed forbid shows what it held back', async () => {
  const found = await diff({ before: NO_CURL });
  expect(told(found)).toEqual([
    'newly_allowed: tool.execute context.declared.executable="curl"',
    'newly_asked: tool.execute context.enforced.outside_paths=["/outside"] context.declared.executable="curl"',
  ]);
  expect(found).toMatchObject({
    method: 'search, not proof',
    changes: { added: [], removed: ['no-curl'], edited: [] },
  });
});

test('an added forbid shows what it takes away', async () => {
  expect(told(await diff({ after: NO_CURL }))[0]).toBe('newly_denied: tool.execute context.declared.executable="curl"');
});

test('a permit for one tool is shown with that tool', async () => {
  const after = `@id("deploy-host")
permit (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"mcp.ci.deploy")
when { context.enforced.leaves == ["host"] && ["ci.example:443"].containsAll(context.enforced.hosts) };`;
  expect(told(await diff({ after }))).toEqual([
    'newly_allowed: tool.execute resource.id="mcp.ci.deploy" context.enforced.hosts=["ci.example:443"]',
  ]);
});

test('a changed literal is shown from both sides', async () => {
  const rule = (host: string) => `@id("our-host")
permit (principal, action in Palyra::Action::"execute", resource)
when { context.enforced.leaves == ["host"] && ["${host}"].containsAll(context.enforced.hosts) };`;
  const found = await diff({ before: rule('old.example:443'), after: rule('new.example:443') });
  expect(told(found)).toEqual([
    'newly_allowed: tool.execute context.enforced.hosts=["new.example:443"]',
    'newly_asked: tool.execute context.enforced.hosts=["old.example:443"]',
  ]);
  expect(found.changes).toEqual({ added: [], removed: [], edited: ['our-host'] });
});

test('a condition that became narrower is shown where it no longer holds', async () => {
  const rule = (more: string) => `@id("our-host")
permit (principal, action in Palyra::Action::"execute", resource)
when { context.enforced.leaves == ["host"] && context.enforced.hosts.contains("a.example:443")${more} };`;
  const found = await diff({ before: rule(''), after: rule(' && context.coverage == "wrapped"') });
  expect(told(found)).toEqual(['newly_asked: tool.execute context.enforced.hosts=["a.example:443"]']);
});

test('a permit for a group is shown with the group', async () => {
  const after = `@id("ops-apply")
permit (principal in Palyra::Group::"ops", action == Palyra::Action::"policy.apply", resource);`;
  expect(told(await diff({ after }))).toEqual(['newly_allowed: policy.apply principal.type="User" groups=["ops"]']);
});

test('a rule of one workspace is shown in that workspace', async () => {
  const after = `@id("here")
permit (principal, action in Palyra::Action::"execute", resource)
when { context has workspace && context.workspace == Palyra::Workspace::"shop" && context.enforced.leaves == ["secret"] };`;
  expect(told(await diff({ after }))).toEqual([
    'newly_allowed: tool.execute context.workspace="shop" context.enforced.secrets=["example"]',
  ]);
});

test('an obligation that changed is shown where the answer stays the same', async () => {
  const rule = (offer: string) => `@id("asks")
@offer("${offer}")
permit (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"x.y")
when { context.approved && context.enforced.leaves == ["host"] };`;
  const found = await diff({ before: rule('always'), after: rule('session') });
  expect(found.witnesses.map(({ change, before, after }) => [change, before.obligations, after.obligations])).toEqual([
    ['obligations_changed', { offer: 'always' }, { offer: 'session' }],
  ]);
});

test('a forbid on hours, and one on a channel, are found', async () => {
  const hours = `@id("hours")
forbid (principal, action in Palyra::Action::"execute", resource)
when { context.now.toTime() > duration("20h") };`;
  expect(told(await diff({ after: hours }))[0]).toMatch(/^newly_denied: tool.execute context.now=\d+$/);
  const channel = `@id("channel")
forbid (principal, action in Palyra::Action::"execute", resource)
when { context has channel && context.channel in [Palyra::Channel::"mail"] };`;
  expect(told(await diff({ after: channel }))[0]).toBe('newly_denied: tool.execute context.channel="mail"');
});

test('another preset is shown, also that observing enforces nothing', async () => {
  const found = await diff({ presets: ['coding', 'observe'] });
  expect(told(found)).toContain('newly_allowed: tool.execute context.enforced.hosts=["host.example:443"]');
});

test('the tools of the catalogue and the requests of tests are tried', async () => {
  const after = `@id("no-net")
forbid (principal, action == Palyra::Action::"tool.execute", resource)
when { context.tool_name like "mcp.*" && context.capabilities.containsAll(["network", "secrets_read"]) };`;
  const catalogue = [{ name: 'mcp.mail.send', capabilities: ['network', 'secrets_read'] as const }];
  const text =
    '[[test]]\nname = "t"\nresource = "tool:mcp.odd.one"\ncapabilities = ["network", "secrets_read"]\nexpect = "deny"';
  const [asked] = parsePolicyTests([{ name: 't', text, origin: { kind: 'operator' } }]);
  const found = await diff(
    { after },
    { catalogue, tests: asked === undefined ? [] : [asked.request], mostRequests: 1 },
  );
  expect(found.tried).toBeGreaterThanOrEqual(1);
  expect(told(found)).toEqual([
    'newly_denied: tool.execute context.tool_name="mcp.odd.one" context.capabilities=["network","secrets_read"]',
  ]);
});

test('the same sets, and the same policies in another order, have no difference and nothing is tried', async () => {
  const [a, b] = [NO_CURL, NO_CURL.replaceAll('curl', 'wget')];
  const found = await diff({ before: `${a}\n${b}`, after: `${b}\n${a}` });
  expect(found).toMatchObject({ witnesses: [], tried: 0, ended: 'nothing_changed' });
});

test('the search is bounded by count and by time, and says what ended it', async () => {
  const after = NO_CURL.replace('"*curl*"', '"*x*" && context.declared.command_line like "*y*" && false');
  const few = await diff({ after }, { mostRequests: 10 });
  expect([few.tried, few.ended, few.witnesses]).toEqual([10, 'out_of_requests', []]);
  const start = createFakeClock();
  let calls = 0;
  const clock = { ...start, now: () => (calls++ === 0 ? 0 : 60_000) };
  expect(await diff({ after }, { clock })).toMatchObject({ tried: 0, ended: 'out_of_time' });
});

test('two searches of the same sets find the same', async () => {
  const first = await diff({ before: NO_CURL });
  expect(await diff({ before: NO_CURL })).toEqual(first);
});
