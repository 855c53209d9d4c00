// The real Codex under `palyra wrap`: what codex.test.ts does with the hook alone, with the wall around it. Its model and
// the hosts of its profile are names that lead to this machine's loopback.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ApprovalService, OutcomeKind, type PendingApproval } from '@palyra/api';
import { findHook } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PALYRA } from '../hooked-agent.ts';
import { type StandIn, standIn } from '../integration/network-house.ts';
import {
  type CodexHouse,
  type CodexSession,
  openCodexHouse,
  resultsOnRecord,
  runCodex,
  type StartCodex,
  writeCodexConfig,
} from './codex-session.ts';
import { patch, shell, tool } from './fake-model.ts';
import { leadingHere, MODEL, PALYRA_WORDS, wrapped } from './wrapped-codex.ts';

const PATIENT = 120_000;
const HOOKS = '/etc/codex/hooks.json';

/** A rule of the operator. */
const BLOCKED = `@id("no-pastebin")
@reason("Nothing goes to a pastebin.")
forbid (principal, action in Palyra::Action::"execute", resource)
when { context.enforced.hosts.contains("blocked.example:80") };
`;

let house: CodexHouse;
let web: StandIn;
let first: CodexSession;
let outside: ReturnType<CodexHouse['palyra']>;
let held: PendingApproval;

beforeAll(async () => {
  web = await standIn();
  house = await openCodexHouse({
    config: ({ port }) => leadingHere(['web.example', 'blocked.example'], [port, web.port]),
    prepare: ({ policies }) => writeFile(join(policies, 'hosts.cedar'), BLOCKED, { mode: 0o600 }),
  });
  writeCodexConfig(join(house.person, '.codex'));
  writeFileSync(join(house.person, '.codex/hooks.json'), '{}');
  writeFileSync(inWorkspace('.env'), 'TOKEN=1\n');
  writeFileSync(inWorkspace('kept.txt'), 'as it was\n');
  first = await wholeSession();
}, PATIENT);
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await web[Symbol.asyncDispose]();
});

const inWorkspace = (name: string) => join(house.workspace, name);
const isThere = (name: string) => existsSync(inWorkspace(name));

/** The only question that is open besides the one that is held; once there is one. */
async function question(): Promise<PendingApproval> {
  const approvals = house.palyrad.client(ApprovalService, 'operator');
  return vi.waitFor(
    async () => {
      const { approvals: all } = await approvals.listApprovals({});
      const open = all.filter(({ state, approvalId }) => state === 'pending' && approvalId !== held?.approvalId);
      const [asked] = open;
      if (asked === undefined || open.length > 1) throw new Error(`${open.length} questions are open.`);
      return asked;
    },
    { timeout: 30_000, interval: 50 },
  );
}

async function answer(about: string, verb: 'approve' | 'deny', ...more: readonly string[]): Promise<void> {
  const { approvalId, promptJson } = await question();
  expect(promptJson).toContain(about);
  expect(await house.palyra(verb, approvalId, ...more)).toMatchObject({ exit: 0 });
}

const ONCE = ['--yes', '--scope', 'once'];

/** Turns by what each is called below. */
const TURNS = {
  works: () => shell('echo "in $PWD"; ls -A ~; printenv PALYRA_LISTENER; touch made; exit 3'),
  edits: () => patch('*** Update File: kept.txt', '@@', '-as it was', '+by Codex'),
  connects: () => shell(`curl -sS http://web.example:${web.port}/page; curl -sS http://blocked.example/`),
  'reads a secret': () => tool('view_image', { path: inWorkspace('.env') }),
  'plants what runs later': () => patch('*** Add File: .github/workflows/ci.yml', '+on: push'),
  'has Palyra’s home read': () => tool('view_image', { path: join(house.palyrad.home.root, 'hook') }),
  'edits its hooks': () => patch(`*** Update File: ${HOOKS}`, '@@', '-{', '+{ "hooks": {},'),
  'edits its user’s hooks': () => patch(`*** Update File: ${house.person}/.codex/hooks.json`, '@@', '-{}', '+{ }'),
  'deletes, reads, approves': async () => {
    outside = house.palyra('exec', '--cwd', house.workspace, '--net', `web.example:${web.port}`, '--', 'true');
    held = await question();
    const { root, configFile } = house.palyrad.home;
    return shell(
      `exec 2>&1; rm -f ${findHook()} ${HOOKS}; cat ${root}/hook ${configFile} ${house.person}/.codex/config.toml; ` +
        `${PALYRA} approve ${held.approvalId} --yes; palyra approve ${held.approvalId} --yes`,
    );
  },
  'is held all the same': () => tool('view_image', { path: join(house.person, '.codex/auth.json') }),
};

/** What the model was told of a turn of the first session. */
const told = (name: keyof typeof TURNS) => first.outputOf(Object.keys(TURNS).indexOf(name)) ?? '';

/** One wrap, in which a human answers three questions. */
async function wholeSession(): Promise<CodexSession> {
  const session = runCodex(house, Object.values(TURNS), { start: wrapped });
  await answer(MODEL, 'approve', '--yes', '--scope', 'always');
  await answer('web.example', 'approve', ...ONCE);
  await answer('.env', 'deny', '--reason', 'Not on Fridays.');
  return session;
}

/** What is on record of all calls, oldest first. */
async function attested() {
  return (await resultsOnRecord(house)).map((result) => ({
    tool: result?.tool,
    outcome: OutcomeKind[result?.outcome?.kind ?? 0],
    enforcement: result?.attestation?.sandboxEnforcement,
    coverage: result?.attestation?.coverage,
  }));
}

const BY_CODEX = { tool: 'agent.write', enforcement: 'box', coverage: 'wrapped' };
const IN_ITS_OWN_BOX = {
  tool: 'palyra.process.run',
  outcome: 'COMPLETED',
  enforcement: 'strict',
  coverage: 'wrapped',
};
const refused = (name: string) => ({
  tool: name,
  outcome: 'REFUSED',
  enforcement: 'not_executed',
  coverage: 'wrapped',
});

describe('Codex in its box', () => {
  test('works: its command beside it, its edit by itself, and the model hears of both', () => {
    expect(first.exit).toBe(0);
    // Without its login, its state and its way to palyrad.
    expect(told('works')).toMatch(new RegExp(`code 3\\n.*\\nOutput:\\nin ${house.workspace}\\n$`));
    expect([isThere('made'), readFileSync(inWorkspace('kept.txt'), 'utf8')]).toEqual([true, 'by Codex\n']);
    expect(told('edits')).toContain('M kept.txt');
  });

  test('connects where a human says yes, and not where a policy says no', () => {
    expect(told('connects')).toContain(`hello from web.example:${web.port}`);
    expect(told('connects')).toContain('"code":"policy.forbidden","host":"blocked.example"');
    expect(web.seen).toEqual([`GET web.example:${web.port}/page`]);
  });

  test('hears a human’s no with the reason, and the box’s own without anybody being asked', () => {
    expect(told('reads a secret')).toMatch(/blocked by PreToolUse hook: .* A human refused\. Not on Fridays\./);
    expect(told('plants what runs later')).toContain('gateway.protected_in_box');
    expect(isThere('.github')).toBe(false);
  });

  test('neither reads Palyra’s home, nor loses its hook, nor changes its settings, nor answers a question', async () => {
    const { root, configFile } = house.palyrad.home;
    for (const name of ['has Palyra’s home read', 'edits its user’s hooks', 'is held all the same'] as const) {
      expect(told(name)).toMatch(/blocked by PreToolUse hook: Palyra refused this \(policy\.forbidden\)/);
    }
    // SECURITY: T-58 — it was let try: that the file is read-only is what holds.
    expect(told('edits its hooks')).toContain(`Failed to write file ${HOOKS}`);
    const gone = [`${root}/hook`, configFile, `${house.person}/.codex/config.toml`];
    expect(told('deletes, reads, approves').split('Output:\n')[1]).toBe(
      [
        ...gone.map((path) => `cat: ${path}: No such file or directory`),
        `/bin/bash: line 1: ${PALYRA}: No such file or directory`,
        '/bin/bash: line 1: palyra: command not found',
        '',
      ].join('\n'),
    );
    expect(existsSync(findHook() ?? '')).toBe(true);
    expect(readFileSync(join(house.person, '.codex/hooks.json'), 'utf8')).toBe('{}');
    const { approvalId } = held;
    const { approvals } = await house.palyrad.client(ApprovalService, 'operator').listApprovals({});
    expect(approvals.find((each) => each.approvalId === approvalId)).toMatchObject({ state: 'pending', votes: 0 });
    await house.palyra('deny', approvalId);
    expect(await outside).toMatchObject({ exit: expect.any(Number), out: '' });
  });

  test('leaves a record of all of it, verified already, and what it overwrote can be undone', async () => {
    expect((await attested()).filter(({ coverage }) => coverage === 'wrapped')).toEqual([
      { ...IN_ITS_OWN_BOX, tool: 'palyra.agent.run' },
      IN_ITS_OWN_BOX,
      { ...BY_CODEX, outcome: 'COMPLETED' },
      IN_ITS_OWN_BOX,
      refused('agent.read'),
      refused('agent.write'),
      refused('agent.read'),
      // Codex has no event for an edit that failed.
      { ...BY_CODEX, outcome: 'UNKNOWN_OUTCOME' },
      refused('agent.write'),
      IN_ITS_OWN_BOX,
      refused('agent.read'),
    ]);
    expect(first.said).toMatch(/\n {2}journal {4}verified, \d+ entries\n/);
    const [, run = ''] = /palyra undo (\S+)/.exec(first.said) ?? [];
    expect((await house.palyra('undo', run)).out).toMatch(/kept\.txt/);
    expect(readFileSync(inWorkspace('kept.txt'), 'utf8')).toBe('as it was\n');
  });

  test(
    'asks about its model no more, ends with palyrad when that is killed in mid-call, and the record holds',
    async () => {
      const before = (await attested()).length;
      const killed = async () => {
        await vi.waitFor(() => expect(isThere('begun')).toBe(true), { timeout: 30_000, interval: 20 });
        house.palyrad.child.kill('SIGKILL');
        await house.palyrad.ended();
        // Or its terminal waits a minute for it.
        await house.restart();
      };
      const turns = [shell('touch begun; while :; do date +%N > beat; done'), shell('touch after')];
      const [session] = await Promise.all([runCodex(house, turns, { start: wrapped }), killed()]);
      const beat = readFileSync(inWorkspace('beat'), 'utf8');
      expect(session.said).toMatch(/error\[gateway\.interrupted\].*1 call, 0 questions, .*journal {4}verified/s);
      expect([session.requests.length, isThere('after')]).toEqual([1, false]);
      // Once a palyrad just started hung up on whoever read: it does so when it cannot look whether they still count.
      const onRecord = await vi.waitFor(attested, { timeout: 10_000, interval: 100 });
      expect(onRecord.slice(before)).toMatchObject([
        { tool: 'palyra.agent.run', outcome: 'UNKNOWN_OUTCOME', coverage: 'wrapped' },
        { tool: 'palyra.process.run', outcome: 'UNKNOWN_OUTCOME', coverage: 'wrapped' },
      ]);
      expect(await house.palyra('verify', dirname(house.palyrad.home.database))).toMatchObject({ exit: 0 });
      // What it ran went with it.
      expect(readFileSync(inWorkspace('beat'), 'utf8')).toBe(beat);
    },
    PATIENT,
  );
});

test('Codex looks for no server of its own, which it would speak with by sockets that the box has not', {
  timeout: PATIENT,
}, async () => {
  const listing: StartCodex = ([node, codex = ''], { palyrad: { home } }) => {
    const command = ['--home', home.root, '--', codex, 'features', 'list'];
    return [node, ...PALYRA_WORDS, 'wrap', ...command];
  };
  const { exit, said } = await runCodex(house, [], { start: listing });
  expect({ exit, said }).toMatchObject({ exit: 0, said: expect.stringMatching(/daemon_auto_start +stable +false/) });
});
