import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addModule, parseConfig } from '@palyra/config';
import { sha256Hex } from '@palyra/primitives';
import { sharedPostgres } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { assemble, ECHO, guest, KEEPER, SPIN } from '../wasm-guests/guests.ts';
import { type DaemonHouse, openDaemonHouse } from './daemon-house.ts';

/** Emits its input twice, and answers with it. */
const NOISY = {
  imports: '(import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))',
  call: `(drop (call $emit (local.get $h) (local.get $p) (local.get $n)))
    (drop (call $emit (local.get $h) (local.get $p) (local.get $n)))
    (call $packed (local.get $p) (local.get $n))`,
};

type Added = Partial<Pick<Parameters<typeof addModule>[1], 'grants' | 'limits'>>;

function install({ home }: DaemonHouse, name: string, [bytes, { grants = {}, limits = {} }]: [Uint8Array, Added]) {
  return addModule(home.modules, { name, bytes, grants, limits }, { replace: true });
}

type Heard = (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;

function callsOf(house: DaemonHouse) {
  return async (input: object, onOutput?: Heard) => {
    const run = await house.daemon.gateway.startRun(house.agent, { workspace: house.workspace });
    const proposed = { tool: 'palyra.wasm.run', input: JSON.stringify(input) };
    const result = await run.call(onOutput === undefined ? proposed : { ...proposed, onOutput });
    await run.end();
    const page = await house.daemon.gateway.callOf(house.operator, result.call_id);
    return { ...result, attested: page.attestation?.statement };
  };
}

const REFUSED = [
  ['a module that is not there', { module: 'nothing' }, 'wasm.invalid_module'],
  ['a name that leads elsewhere', { module: '../identity' }, 'wasm.invalid_module'],
  ['another digest than the one named', { module: 'echo', sha256: '0'.repeat(64) }, 'wasm.invalid_module'],
  ['bytes that are not those of the manifest', { module: 'swapped' }, 'wasm.invalid_module'],
  ['hosts that are no hosts', { module: 'caller' }, 'wasm.capability_denied'],
  ['secrets that nobody keeps', { module: 'secretive' }, 'wasm.capability_denied'],
  ['an input that is not known', { module: 'echo', fule: 1 }, 'gateway.invalid_input'],
] as const;

test('a module is called through the pipeline: decided, run in Tier A, attested', async () => {
  const house = await openDaemonHouse();
  await using _ = { [Symbol.asyncDispose]: () => house.close() };
  mkdirSync(house.home.modules, { mode: 0o700 });
  const [echo, spin] = [await assemble(ECHO), await assemble(SPIN)];
  await install(house, 'echo', [echo, {}]);
  await install(house, 'spin', [spin, { limits: { fuel: 5_000_000 } }]);
  await install(house, 'keeper', [await guest(KEEPER), { grants: { kv: true, emit: true } }]);
  await install(house, 'noisy', [await guest(NOISY), { grants: { emit: true }, limits: { output_bytes: 12 } }]);
  await install(house, 'caller', [echo, { grants: { http: ['*.com:443'] } }]);
  await install(house, 'secretive', [echo, { grants: { secrets: ['token'] } }]);
  await install(house, 'swapped', [echo, {}]);
  writeFileSync(join(house.home.modules, 'swapped', 'module.wasm'), spin);
  const call = callsOf(house);

  const first = await call({ module: 'echo', sha256: sha256Hex(echo), input: { say: ['hé', 1, null] } });
  expect(first.outcome).toMatchObject({
    kind: 'completed',
    output: { output: { say: ['hé', 1, null] }, host_calls: 0 },
  });
  expect(first).toMatchObject({
    decision: { kind: 'allow' },
    attestation: { executor: 'sandbox_tier_a_wasm', sandbox_enforcement: 'strict' },
  });
  expect(first.attested).toMatchObject({
    sandbox: { module: 'echo', module_sha256: sha256Hex(echo), network: 'isolated', measured: true },
    resources: { host_calls: 0, fuel_used: expect.any(Number) },
  });

  // The same call uses the same fuel, on an instance that was used before, too.
  const again = await call({ module: 'echo', input: { say: ['hé', 1, null] } });
  expect(again.attested).toMatchObject({
    sandbox: { instance_reused: true },
    resources: { fuel_used: first.attested?.resources?.['fuel_used'] },
  });

  const spun = await call({ module: 'spin' });
  expect(spun.outcome).toMatchObject({ kind: 'quota_exceeded', code: 'wasm.fuel_exhausted' });
  expect(spun.attested).toMatchObject({ resources: { fuel_used: 5_000_000 }, limits: { fuel: 5_000_000 } });

  const heard: string[] = [];
  const hear: Heard = (stream, bytes) => void heard.push(`${stream}: ${Buffer.from(bytes).toString()}`);
  expect((await call({ module: 'keeper', input: { n: 1 } }, hear)).outcome.output).toMatchObject({ output: null });
  const kept = await call({ module: 'keeper', input: { n: 2 } }, hear);
  expect(kept.outcome.output).toMatchObject({ output: { n: 1 }, host_calls: 5 });
  expect(kept.attested).toMatchObject({
    sandbox: { asked: ['emit=0', 'kv_get=0', 'kv_put=0'] },
    resources: { host_calls: 5, events: 1 },
  });
  // The stream is gone; the output, to which the attestation commits, says what was on it.
  expect(kept.outcome.output).toMatchObject({ events: { count: 1, sha256: sha256Hex(Buffer.from('{"n":2}\n')) } });
  expect(heard.join('')).toMatch(/stdout: \{"n":2\}\n.*stderr: info \{"n":2\}/s);

  // T-26: what is emitted counts as output; what is beyond is refused, and heard by nobody.
  heard.length = 0;
  const noisy = await call({ module: 'noisy', input: { n: 3 } }, hear);
  expect(noisy.attested).toMatchObject({
    sandbox: { asked: ['emit=0', 'emit=-2'] },
    resources: { host_calls: 2, events: 1 },
  });
  expect(heard).toEqual(['stdout: {"n":3}\n']);

  for (const [why, input, code] of REFUSED) {
    const refused = await call(input);
    expect([why, refused.outcome.kind, refused.outcome.code]).toEqual([why, 'refused', code]);
    expect(refused.attestation.executor).toBe('none');
  }
  expect(await house.verdict()).toBe('sound');
});

test('with PostgreSQL, too, a module keeps what it was told, and is attested', async () => {
  const { url, giveBack } = await sharedPostgres().createDatabase();
  const toml = `[egress]\nunlisted = "deny"\n[storage]\nurl = ${JSON.stringify(url)}`;
  const house = await openDaemonHouse({ config: parseConfig(toml, 'palyra.toml').config });
  await using _ = {
    async [Symbol.asyncDispose]() {
      await house.close();
      await giveBack();
    },
  };
  mkdirSync(house.home.modules, { mode: 0o700 });
  await install(house, 'keeper', [await guest(KEEPER), { grants: { kv: true, emit: true } }]);
  const call = callsOf(house);
  expect((await call({ module: 'keeper', input: { n: 1 } })).outcome.output).toMatchObject({ output: null });
  const kept = await call({ module: 'keeper', input: { n: 2 } });
  expect(kept.outcome.output).toMatchObject({ output: { n: 1 }, host_calls: 5 });
  expect(kept.attested).toMatchObject({
    sandbox: { asked: ['emit=0', 'kv_get=0', 'kv_put=0'], instance_reused: true },
    resources: { events: 1 },
  });
});

const ASKED_ABOUT = `@id("modules-are-asked-about")
@reason("Somebody looks at every call of a module.")
forbid (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"palyra.wasm.run")
unless { context.approved };
`;

test('a human who is asked sees the module, is bound to its digest, and a module that changed meanwhile does not run as it', async () => {
  const first = await openDaemonHouse();
  mkdirSync(first.home.policies, { recursive: true, mode: 0o700 });
  writeFileSync(join(first.home.policies, 'own.cedar'), ASKED_ABOUT, { mode: 0o600 });
  const house = await first.restart();
  await using _ = { [Symbol.asyncDispose]: () => house.close() };
  mkdirSync(house.home.modules, { mode: 0o700 });
  const echo = await assemble(ECHO);
  await install(house, 'echo', [echo, {}]);
  const call = callsOf(house);
  const calling = call({ module: 'echo', input: 'approved' });
  const card = await house.asked();
  // The operator puts another module there while the question is open: what was shown is what runs.
  await install(house, 'echo', [await assemble(SPIN), {}]);
  await house.daemon.approvals.decide(card.approvalId, {
    decision: 'approve',
    scope: 'once',
    shown: card.shown,
    by: house.ada,
  });
  const result = await calling;
  expect(result.outcome).toMatchObject({ kind: 'completed', output: { output: 'approved' } });
  expect(result.attested).toMatchObject({ sandbox: { module_sha256: sha256Hex(echo) } });
  expect(JSON.stringify(card)).toContain(sha256Hex(echo));
});
