// T-40: another user, or what an agent starts, gets at the operator's key; a key file that others could have changed is used.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  agentCertificateReader,
  initialiseIdentity,
  openAgentCredential,
  openAuthority,
  openOperatorCredential,
} from '@palyra/identity';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { type HouseListener, listenIn } from './identity-listener.ts';

let house: IdentityHouse;
let listener: HouseListener;
beforeAll(async () => {
  house = await identityHouse();
  await initialiseIdentity({ identityDirectory: house.identity, registry: house.registry, operator: 'user:ada' });
  listener = await listenIn(house, { kinds: ['agent'] });
});
afterAll(async () => {
  await listener[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

const keyFile = () => join(house.identity, 'operator', 'device.key');
const kept = () => `${keyFile()}.kept`;
beforeEach(() => copyFileSync(keyFile(), kept()));
afterEach(() => {
  rmSync(keyFile(), { force: true, recursive: true });
  renameSync(kept(), keyFile());
});

const unsafe = expect.objectContaining({ code: 'identity.key_unsafe' });

test.each(['640', '604', '620', '666'])('a key of mode %s is not used', (mode) => {
  chmodSync(keyFile(), Number.parseInt(mode, 8));
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
});

test('nor one behind a link, nor one with another name, nor something that is no file', () => {
  rmSync(keyFile());
  symlinkSync(kept(), keyFile());
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
  rmSync(keyFile());
  linkSync(kept(), keyFile());
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
  rmSync(keyFile());
  mkdirSync(keyFile(), { mode: 0o700 });
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
});

test('nor one in a directory that others may enter', () => {
  const directory = join(house.identity, 'operator');
  chmodSync(directory, 0o750);
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
  chmodSync(directory, 0o700);
  expect(openOperatorCredential(house.identity).kind).toBe('operator');
});

test('nor anything of a home whose identity directory others may write', () => {
  chmodSync(house.identity, 0o770);
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
  expect(() => openAuthority(house.identity).trusted()).toThrow(unsafe);
  chmodSync(house.identity, 0o700);
  expect(openAuthority(house.identity).trusted()).toHaveLength(1);
});

test('nor the authority, when others may read what it lists or where its key is', async () => {
  const directory = join(house.identity, 'ca');
  const { key } = openOperatorCredential(house.identity);
  const issue = () => openAuthority(house.identity).issueServer({ publicKey: key.publicKey, hosts: [] });
  for (const [path, mode] of [
    [directory, 0o755],
    [join(directory, 'authorities.json'), 0o644],
    [join(directory, `${house.authority.trusted()[0]?.id.slice(0, 16)}.key`), 0o640],
  ] as const) {
    chmodSync(path, mode);
    await expect(issue()).rejects.toMatchObject({ code: 'identity.key_unsafe' });
    chmodSync(path, path === directory ? 0o700 : 0o600);
  }
  await expect(issue()).resolves.toMatchObject({ pem: expect.stringContaining('BEGIN') });
});

const isRoot = process.geteuid?.() === 0;

test.skipIf(!isRoot)('nor a key of another user [needs: root]', () => {
  chownSync(keyFile(), 12_345, 12_345);
  expect(() => openOperatorCredential(house.identity)).toThrow(unsafe);
});

/** What an agent starts, under Node's own guard: reading anything but the sources and its own credential is an error there. */
async function asAgent(): Promise<{ readonly code: number | null; readonly out: string }> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const program = fileURLToPath(new URL('programs/identity-agent.ts', import.meta.url));
  const own = join(house.identity, 'local-agent');
  const permissions = ['--permission', `--allow-fs-read=${root}`, `--allow-fs-read=${own}`];
  const args = [
    ...permissions,
    '--no-warnings',
    '--conditions=palyra-source',
    program,
    house.identity,
    String(listener.port),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out };
}

test('an agent’s process does its work without ever opening the operator’s credential', async () => {
  expect(await asAgent()).toMatchObject({ code: 0, out: expect.stringContaining('"kind":"agent"') });
});

test('and takes no operator’s credential that somebody put in the place of its own', () => {
  const [own, aside] = [join(house.identity, 'local-agent'), join(house.identity, 'aside')];
  // As palyrad does for each hook: it has seen the agent's own before.
  const read = agentCertificateReader(house.identity);
  const before = read();
  expect(before).toMatchObject({ kind: 'agent' });
  renameSync(own, aside);
  mkdirSync(own, { mode: 0o700 });
  for (const name of ['device.key', 'device.crt', 'authorities.crt']) {
    copyFileSync(join(house.identity, 'operator', name), join(own, name));
  }
  for (const open of [() => openAgentCredential(house.identity), read]) {
    expect(open).toThrow(expect.objectContaining({ code: 'identity.key_invalid' }));
  }
  rmSync(own, { recursive: true });
  expect(read).toThrow(expect.objectContaining({ code: 'identity.key_missing' }));
  renameSync(aside, own);
  expect(read()).toEqual(before);
});
