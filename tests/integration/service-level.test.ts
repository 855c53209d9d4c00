import { chmodSync, chownSync, copyFileSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeOrdinaryUser } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';
import { type ServicePlace, startServicePlace } from '../service/service-place.ts';
import { guest, KEEPER } from '../wasm-guests/guests.ts';
import { type StandIn, standIn } from './network-house.ts';

const IS_ROOT = process.geteuid?.() === 0;
const SOMEBODY_ELSE = 64_322;

afterAll(removeOrdinaryUser);

interface Called {
  readonly decision: { readonly kind: string };
  readonly outcome: { readonly kind: string; readonly code?: string; readonly stdout?: string };
  readonly attestation: unknown;
}

describe.runIf(IS_ROOT)('palyrad with a user of its own, for somebody else’s workspace [needs: root]', () => {
  let place: ServicePlace;
  let web: StandIn;
  beforeAll(async () => {
    web = await standIn();
    const toml = `[egress]\nhosts = "web.example=127.0.0.1"\nprivate_ranges = "127.0.0.1:${web.port}"`;
    place = await startServicePlace({ toml });
    // So that the worker that reads, the proxy and the host of a module are there before the first test, and stay: what a test starts, it ends.
    await call('fs.list', { path: '.' });
    await call('process.run', { argv: ['true'] });
    const base64 = Buffer.from(await guest(KEEPER)).toString('base64');
    await place.tell({ act: 'install', name: 'keeper', base64, grants: { kv: true, emit: true } });
    await call('wasm.run', { module: 'keeper', input: { n: 1 } });
  });
  afterAll(async () => {
    await place.close();
    await web[Symbol.asyncDispose]();
  });

  const call = (tool: string, input: object) => place.tell<Called>({ act: 'call', tool: `palyra.${tool}`, input });
  const text = (path: string) => readFileSync(join(place.workspace, path), 'utf8');
  const ownerOf = (path: string) => lstatSync(join(place.workspace, path)).uid;

  test('the level is measured as service, and palyrad sees nothing of the workspace by itself', async () => {
    expect(place.separation).toEqual({ level: 'service', missing: [] });
    place.put('seen.txt', 'seen\n');
    expect(await place.tell({ act: 'read', path: join(place.workspace, 'seen.txt') })).toEqual({ thrown: 'EACCES' });
  });

  test('a command runs as the owner', async () => {
    const { outcome } = await call('process.run', { argv: ['sh', '-c', 'cat seen.txt && touch made'] });
    expect(outcome).toMatchObject({ kind: 'completed', stdout: 'seen\n' });
    expect(ownerOf('made')).toBe(place.ownerUid);
  });

  test('and reaches a host that was allowed while it waited, through the proxy', async () => {
    const { outcome } = await call('process.run', { argv: ['curl', '-sS', `http://web.example:${web.port}/`] });
    expect(outcome).toMatchObject({ kind: 'completed', stdout: `hello from web.example:${web.port}` });
  });

  test('files are read, listed, searched, written and patched, and all of it is undone', async () => {
    place.put('notes.txt', 'one\n');
    const patch = '--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n';
    const results = [
      await call('fs.read', { path: 'notes.txt' }),
      await call('fs.list', { path: '.' }),
      await call('fs.search', { pattern: 'one' }),
      await call('fs.write', { path: 'new/file.txt', content: 'new\n' }),
      await call('fs.apply_patch', { patch }),
    ];
    expect(results.map(({ outcome }) => outcome.code ?? outcome.kind)).toEqual(results.map(() => 'completed'));
    expect([text('notes.txt'), text('new/file.txt')]).toEqual(['two\n', 'new\n']);
    expect([ownerOf('notes.txt'), ownerOf('new/file.txt')]).toEqual([place.ownerUid, place.ownerUid]);
    expect(await place.tell({ act: 'undo' })).toMatchObject({ kind: 'undone', calls: { length: 2 } });
    expect(text('notes.txt')).toBe('one\n');
  });

  test('a module runs in Tier A, in a box of the owner’s, and keeps what it was told', async () => {
    const { outcome, attestation } = await call('wasm.run', { module: 'keeper', input: { n: 2 } });
    expect(outcome).toMatchObject({ kind: 'completed', output: { output: { n: 1 }, host_calls: 5 } });
    expect(attestation).toMatchObject({ executor: 'sandbox_tier_a_wasm', sandbox_enforcement: 'strict' });
  });

  test('a protected file that needs a human is written once approved', async () => {
    place.put('CLAUDE.md', 'mine\n');
    const { outcome } = await call('fs.write', { path: 'CLAUDE.md', content: 'theirs\n' });
    expect(outcome).toMatchObject({ kind: 'completed' });
    expect(text('CLAUDE.md')).toBe('theirs\n');
  });

  test('Tier B runs as the owner too, and what it wrote to a protected path is put back and kept', async () => {
    place.put('AGENTS.md', 'mine\n');
    const profile = sandboxProfile(place.workspace, { tier: 'B' });
    const command = { argv: ['sh', '-c', 'id -u; echo theirs > AGENTS.md'] };
    const result = await place.tell({ act: 'run', command, profile, isBound: false });
    expect(result).toMatchObject({
      kind: 'completed',
      output: { stdout: `${place.ownerUid}\n` },
      protectedChanged: [{ what: 'changed', restored: true }],
    });
    expect(text('AGENTS.md')).toBe('mine\n');
    expect(lstatSync(join(place.state, 'kept')).uid).toBe(place.ownerUid);
  });

  test('a command has a way out, through a gate that is neither palyrad’s nor the owner’s nor root’s', async () => {
    const gate = join(place.base, 'label-gate.mjs');
    copyFileSync(fileURLToPath(new URL('../attack/programs/label-gate.mjs', import.meta.url)), gate);
    const profile = sandboxProfile(place.workspace, { egress: { mode: 'strict', hosts: ['example.test:80'] } });
    const command = { argv: ['curl', '-sS', 'http://example.test/'] };
    const answer = await place.tell<{ said: string }>({ act: 'way_out', gate, command, profile });
    expect(answer).toMatchObject({ kind: 'completed', stdout: 'service', listener: 'passed' });
    const uid = Number(/ready \d+ (\d+)/.exec(answer.said)?.[1]);
    expect([0, place.ownerUid, place.daemonUid]).not.toContain(uid);
  });

  test('a script of the workspace is bound to its bytes', async () => {
    place.put('say.sh', 'echo bound\n');
    const profile = sandboxProfile(place.workspace);
    const result = await place.tell({ act: 'run', command: { argv: ['sh', 'say.sh'] }, profile, isBound: true });
    expect(result).toMatchObject({
      kind: 'completed',
      output: { stdout: 'bound\n' },
      facts: { processes: [{ uid: place.ownerUid, groups: [] }, { uid: place.ownerUid }] },
      bound: { files: [{ role: 'program' }, { path: join(place.workspace, 'say.sh'), how: 'copied' }] },
    });
  });

  test('a workspace of somebody else is refused, with what to do', async () => {
    const theirs = join(place.base, 'theirs');
    mkdirSync(theirs);
    chownSync(theirs, SOMEBODY_ELSE, SOMEBODY_ELSE);
    const run = (root: string) =>
      place.tell({ act: 'run', command: { argv: ['true'] }, profile: sandboxProfile(root), isBound: false });
    expect(await run(theirs)).toMatchObject({
      kind: 'refused',
      code: 'sandbox.unsafe_identity',
      fix: expect.any(String),
    });
    chmodSync(theirs, 0o700);
    expect(await run(join(theirs, 'below'))).toMatchObject({ kind: 'refused', code: 'sandbox.unsafe_workspace' });
  });
});

describe.runIf(IS_ROOT)('what a unit takes from it [needs: root]', () => {
  test('with no new privileges, the unit’s capabilities only and a system that is read-only, it still works', async () => {
    const kept = 'setuid,setgid,chown,sys_admin,sys_ptrace,kill,sys_resource';
    const bounds = ['-all', ...kept.split(',').map((name) => `+${name}`)].join(',');
    const readOnly = ['/usr', '/etc', '/boot'].map(
      (at) => `mount --bind ${at} ${at} && mount -o remount,bind,ro ${at}`,
    );
    const script = `${readOnly.join(' && ')} && exec "$@"`;
    const inNamespace = ['unshare', '--mount', '--propagation=slave', 'sh', '-c', script, 'sh'];
    const place = await startServicePlace({
      through: [...inNamespace, 'setpriv', '--no-new-privs', `--bounding-set=${bounds}`],
    });
    const { outcome } = await place.tell<Called>({
      act: 'call',
      tool: 'palyra.process.run',
      input: { argv: ['echo', 'ran'] },
    });
    const closed = place.close();
    expect([place.separation.level, outcome.stdout]).toEqual(['service', 'ran\n']);
    await closed;
  });
});
