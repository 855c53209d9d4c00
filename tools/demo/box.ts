import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSandbox, DEFAULT_LIMITS, type RunResult, type Sandbox, type SandboxProfile } from '@palyra/sandbox';
import type { Stage } from './stage.ts';

const SCRIPT = `
echo 'built' > result.txt
cat "$OPERATOR/.ssh/id" 2>/dev/null || echo 'the key: not there'
(echo > /dev/tcp/127.0.0.1/22) 2>/dev/null || echo 'the network: not there'
touch /usr/planted 2>/dev/null || echo 'the system: read-only'
`;

/** One real command in a real box, and what was measured of it before its first instruction. */
export async function showBox({ home, say }: Stage): Promise<void> {
  const operator = join(home, 'operator');
  const root = join(operator, 'project');
  await mkdir(join(operator, '.ssh'), { recursive: true });
  await mkdir(root);
  await writeFile(join(operator, '.ssh/id'), 'a private key\n');
  const sandbox = await createSandbox({
    operator: { path: '/usr/bin:/bin', home: operator, palyraHome: join(operator, '.palyra'), environment: {} },
    logger: { error: (fields, message) => say(`${message} ${JSON.stringify(fields)}`) },
  });
  try {
    await showWall(sandbox, { root, operator, say });
    await showLimit(sandbox, { root, say });
  } finally {
    await sandbox.close();
  }
}

interface Place {
  readonly root: string;
  say(line: string): void;
}

async function showWall(
  sandbox: Sandbox,
  { root, operator, say }: Place & { readonly operator: string },
): Promise<void> {
  const command = { argv: ['bash', '-c', SCRIPT], environment: { OPERATOR: operator } };
  const result = await sandbox.run(command, profileFor(root));
  if (result.kind !== 'completed') throw new Error(`the box did not run: ${JSON.stringify(result)}`);
  const said = textOf(result);
  assert.equal(said, 'the key: not there\nthe network: not there\nthe system: read-only\n');
  assert.equal(await readFile(join(root, 'result.txt'), 'utf8'), 'built\n');
  say('bash in Tier C wrote its result into the workspace. It also looked around:');
  for (const line of said.trim().split('\n')) say(`  ${line}`);
  const [tool] = result.facts?.processes ?? [];
  assert.ok(tool !== undefined && tool.uid !== 0 && tool.seccomp === 2);
  say(`Measured before its first instruction: uid ${tool.uid} on the host, seccomp filter on,`);
  say(`capabilities ${tool.capabilities}, ${tool.namespaces.length} namespaces of its own, no route.`);
}

async function showLimit(sandbox: Sandbox, { root, say }: Place): Promise<void> {
  const profile = profileFor(root);
  const flooding = { ...profile, limits: { ...profile.limits, outputBytes: 64 * 1024 } };
  const result = await sandbox.run({ argv: ['yes'] }, flooding);
  assert.equal(result.kind === 'quota_exceeded' && result.quota, 'output');
  say('A command that floods its output was ended at 64 KiB, and the result says which limit it was.');
}

function profileFor(root: string): SandboxProfile {
  return {
    tier: 'C',
    workspace: { root, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: 'strict', hosts: [] },
    toolchains: 'operator',
    unixSockets: 'refused',
    limits: DEFAULT_LIMITS,
    mustHold: [],
    environment: ['OPERATOR'],
    startedFor: 'agent',
  };
}

function textOf(result: Extract<RunResult, { kind: 'completed' }>): string {
  return Buffer.from(result.output.stdout).toString('utf8');
}
