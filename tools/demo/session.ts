import assert from 'node:assert/strict';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Decider, VerifySignature } from '@palyra/approvals';
import { homeLayout, parseConfig, renderDefaultConfig } from '@palyra/config';
import { composeDaemon, type Daemon } from '@palyra/daemon';
import { type Caller, DEFAULT_TOOL_CALL_CONFIG, type Run, type ToolCallResult } from '@palyra/gateway';
import { type JournalSchema, openJournalKeys, parseActor, verifyHome } from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import { openForReading } from '@palyra/storage';
import { type DemoWeb, openDemoWeb } from '../../apps/cli/src/demo/demo-web.ts';
import { playConnections, type ScriptedAnswer } from './connections.ts';
import type { Stage } from './stage.ts';

const CALLS = 7;

const LOOK_AROUND = `
cat "$HOME/../operator/.ssh/id" 2>/dev/null || echo 'the key: not there'
(echo > /dev/tcp/127.0.0.1/22) 2>/dev/null || echo 'the network: not there'
touch /usr/planted 2>/dev/null || echo 'the system: read-only'`;

const OWN_RULE = `@id("no-search")
@reason("Searching is switched off in this house.")
forbid (principal, action, resource == Palyra::Tool::"palyra.fs.search");
`;

/** A scripted agent, an operator who answers, real sandboxes, and the record that is left of it. */
export async function showSession({ home: base, say }: Stage): Promise<void> {
  const root = join(base, 'session');
  const workspace = join(root, 'operator', 'project');
  await mkdir(join(root, 'operator', '.ssh'), { recursive: true });
  await writeFile(join(root, 'operator', '.ssh', 'id'), 'a private key\n');
  await mkdir(join(workspace, '.git', 'hooks'), { recursive: true });
  await writeFile(join(workspace, '.env'), 'PORT=8080\n');
  const home = homeLayout(join(root, 'home'));
  await mkdir(home.root, { mode: 0o700 });
  await mkdir(home.policies, { mode: 0o700 });
  await writeFile(join(home.policies, 'own.cedar'), OWN_RULE, { mode: 0o600 });
  const operator = createOperator();
  await using web = await openDemoWeb();
  const daemon = await composeDaemon({
    home,
    config: parseConfig(web.settings(renderDefaultConfig()), 'palyra.toml').config,
    operator: {
      path: '/usr/bin:/bin',
      home: join(root, 'operator'),
      palyraHome: home.root,
      environment: {},
    },
    verify: operator.verify,
    log: { level: 'error' },
    toolCalls: { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: CALLS },
  });
  try {
    const run = await daemon.gateway.startRun(AGENT, { workspace: { id: 'project', root: workspace } });
    await playSession({ daemon, run, operator: operator.decider, web, say });
    await run.end();
  } finally {
    await daemon.close();
  }
  say(`The journal: ${await verdictOf(home)}.`);
}

const AGENT: Caller = {
  principal: { type: 'Agent', id: 'coder' },
  actor: parseActor('agent:coder'),
  groups: [],
  credential: 'local-agent',
  coverage: 'direct',
  separation: 'personal',
};

interface Play {
  readonly daemon: Daemon;
  readonly run: Run;
  readonly operator: Decider;
  readonly web: DemoWeb;
  say(line: string): void;
}

async function playSession({ daemon, run, operator, web, say }: Play): Promise<void> {
  const began = performance.now();
  const call = (tool: string, input: object) =>
    run.call({ tool: `palyra.${tool}`, input: JSON.stringify(input), agentSays: 'I need it for the task.' });
  const tell = (title: string, result: ToolCallResult) => {
    const at = `${((performance.now() - began) / 1000).toFixed(2)} s`.padStart(7);
    const { decision, outcome, approval, attestation } = result;
    const human = approval === undefined ? '' : `, ${approval.outcome} by ${approval.decided_by}`;
    say(`${at}  ${title}`);
    say(`         ${decision.kind} (${decision.policy_ids.join(', ') || decision.reason_code})${human}`);
    say(
      `         ${outcome.kind}${outcome.code === undefined ? '' : ` ${outcome.code}`}, receipt ${attestation.journal_seq}`,
    );
  };
  const answered = async (pending: Promise<ToolCallResult>, answer: ScriptedAnswer) => {
    const card = await Promise.race([firstCard(daemon), pending.then(notAsked)]);
    say(`         asks: ${card.prompt.what.sentence}`);
    await daemon.approvals.decide(card.approvalId, { ...answer, shown: card.shown, by: operator });
    return pending;
  };

  const built = await call('process.run', { argv: ['bash', '-c', 'echo built > result.txt && cat result.txt'] });
  assert.equal(built.outcome.stdout, 'built\n');
  tell('bash builds in the workspace', built);

  const written = await call('fs.write', { path: 'notes.md', content: '# Notes\n' });
  assert.equal(written.outcome.kind, 'completed');
  tell('a file is written', written);

  const around = await call('process.run', { argv: ['bash', '-c', LOOK_AROUND] });
  assert.equal(around.outcome.stdout, 'the key: not there\nthe network: not there\nthe system: read-only\n');
  tell('bash looks around in its box, and finds nothing', around);

  const settings = call('fs.read', { path: '.env' });
  const approved = await answered(settings, { decision: 'approve', scope: 'once' });
  assert.equal(approved.outcome.kind, 'completed');
  tell('a file that may hold secrets', approved);

  const hook = call('fs.write', { path: '.git/hooks/pre-commit', content: '#!/bin/sh\ncurl evil\n' });
  const refused = await answered(hook, { decision: 'deny', reason: 'Hooks are mine.' });
  assert.equal(refused.outcome.code, 'gateway.approval_denied');
  tell('a git hook', refused);

  await playConnections({
    web,
    curl: (...words) => call('process.run', { argv: ['curl', '-sS', ...words] }),
    answered,
    tell,
  });

  const never = await call('fs.search', { pattern: 'password' });
  assert.deepEqual(never.decision.policy_ids, ['no-search']);
  tell('a search, which a rule of the operator forbids', never);

  const last = await call('fs.read', { path: 'notes.md' });
  assert.equal(last.outcome.kind, 'completed');
  tell('a file is read', last);

  const over = await call('fs.read', { path: 'notes.md' });
  assert.equal(over.outcome.code, 'gateway.budget_exhausted');
  tell(`one call more than the ${CALLS} that the run may make`, over);
}

function notAsked(result: ToolCallResult): never {
  throw new Error(`Nobody was asked: ${JSON.stringify(result)}`);
}

async function firstCard({ approvals }: Daemon) {
  for (;;) {
    const [card] = await approvals.pending({ limit: 1 });
    if (card !== undefined) return card;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A key of the operator's, until devices have certificates. */
function createOperator(): { readonly decider: Decider; readonly verify: VerifySignature } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const who = { person: 'user:ada', device: createIdSource().newId('device'), assurance: 'same_host_key' } as const;
  return {
    decider: { credential: 'ada-laptop', ...who, sign: (message) => new Uint8Array(sign(null, message, privateKey)) },
    async verify({ credential, message, signature }) {
      const isHers = credential === 'ada-laptop' && verify(null, message, publicKey, signature);
      return isHers ? { kind: 'human', ...who } : undefined;
    },
  };
}

async function verdictOf(home: ReturnType<typeof homeLayout>): Promise<string> {
  const database = await openForReading<JournalSchema>({
    location: { kind: 'sqlite', path: home.database },
    lockTimeoutMs: 5000,
  });
  try {
    const { publicKey } = openJournalKeys(home.identity).root();
    const pins = { rootKey: publicKey, witnesses: [], checkpoints: [] };
    const report = await verifyHome({ database, bodyDirectory: home.bodies, pins });
    assert.equal(report.kind, 'sound');
    const [log] = report.kind === 'sound' ? report.logs : [];
    return `${log?.size} entries, sound, signed by the pinned key`;
  } finally {
    await database.close();
  }
}
