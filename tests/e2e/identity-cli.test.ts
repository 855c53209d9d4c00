import { execFileSync } from 'node:child_process';
import { type KeyObject, X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createDeviceKey,
  createSigningRequest,
  openAuthority,
  openCredential,
  openIdentityHome,
  openTokens,
} from '@palyra/identity';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeCertificate } from '../../packages/identity/src/x509/make-certificates.ts';
import { runInProcess } from './cli-in-process.ts';
import { withJournal } from './journal-home.ts';

let parent = '';
let home = '';
/** A home that `palyra init` made, for those who begin with one: a copy is quicker than another. */
let ready = '';

beforeAll(async () => {
  ready = mkdtempSync(join(tmpdir(), 'palyra-identity-ready-'));
  const variables = { PALYRA_HOME: join(ready, 'home') };
  await runInProcess({ args: ['init'], input: '', cwd: ready, variables });
});
afterAll(() => rmSync(ready, { recursive: true }));

/** With its modes: a key that others may read is refused. */
function copyReady(): void {
  execFileSync('cp', ['-a', join(ready, 'home'), home]);
}

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-identity-e2e-'));
  home = join(parent, 'home');
});

afterEach(() => rmSync(parent, { recursive: true }));

const palyra = (args: readonly string[], input = '') =>
  runInProcess({ args, input, cwd: parent, variables: { NO_COLOR: '1', PALYRA_HOME: home } });

async function json(...args: readonly string[]): Promise<unknown> {
  const { exit, out, err } = await palyra([...args, '--json']);
  return { exit, ...(JSON.parse(out === '' ? err : out) as object) };
}

interface Made {
  readonly credentials: readonly { readonly change: string; readonly device_id: string }[];
}

async function expectAdmitted(text: string): Promise<void> {
  const place = { location: { kind: 'sqlite', path: join(home, 'palyra.db') }, lockTimeoutMs: 5_000 } as const;
  const opened = await openIdentityHome(place, { logger: { error: () => undefined } });
  const tokens = openTokens({ registry: opened.registry, authority: openAuthority(join(home, 'identity')) });
  expect(await tokens.admit({ text, address: '127.0.0.1', action: 'tool.execute' })).toMatchObject({
    kind: 'admitted',
  });
  await opened.close();
}

test('a home is made once, and made whole again when something is missing', async () => {
  const made = await json('init', '--preset', 'locked');
  expect(made).toMatchObject({
    exit: 0,
    home,
    preset: 'locked',
    config: 'created',
    authority: 'created',
    credentials: [
      { name: 'operator', kind: 'operator', change: 'created' },
      { name: 'local-agent', kind: 'agent', change: 'created' },
    ],
  });
  expect(readFileSync(join(home, 'palyra.toml'), 'utf8')).toContain('preset = "locked"');
  const again = await json('init');
  expect(again).toMatchObject({ exit: 0, preset: 'locked', config: 'kept', authority: 'kept' });
  const changes = (answer: Made) => answer.credentials.map(({ change }) => change);
  expect(changes(again as Made)).toEqual(['kept', 'kept']);
  expect(await json('init', '--preset', 'coding')).toMatchObject({
    exit: 7,
    error: { code: 'cli.preset_differs', fix: expect.stringContaining('palyra config set') },
  });
  expect(await json('init', '--preset', 'yolo')).toMatchObject({ exit: 2, error: { code: 'cli.invalid_option' } });

  rmSync(join(home, 'identity', 'operator', 'device.crt'));
  expect(changes((await json('init')) as Made)).toEqual(['renewed', 'kept']);
  chmodSync(join(home, 'identity', 'ca'), 0o755);
  expect(await json('device', 'renew')).toMatchObject({
    exit: 7,
    error: { code: 'identity.key_unsafe', fix: expect.stringContaining('chmod 700') },
  });
});

test('devices and tokens, in a home whose journal records what is done to them', async () => {
  mkdirSync(home, { mode: 0o700 });
  await withJournal(home, async () => undefined);
  const { credentials } = (await json('init')) as { credentials: { device_id: string }[] };
  const [operator = '', agent = ''] = credentials.map(({ device_id }) => device_id);
  expect(await json('device', 'list')).toMatchObject({
    devices: [
      { device_id: operator, roles: ['admin', 'approver', 'operator'], place: 'same_host' },
      { device_id: agent, roles: ['agent'] },
    ],
  });
  expect(await json('device', 'roles', operator.slice(-8), '--role', 'admin', '--role', 'operator')).toMatchObject({
    device: { roles: ['admin', 'operator'] },
  });
  const fleet = await json('token', 'create', '--kind', 'agent', '--uses', '50', '--ttl', '1h');
  const { text, token } = fleet as { text: string; token: { token_id: string } };
  expect(text).toMatch(/^palyra_et_[0-9A-Z]{26}_[\w-]{43}$/);
  expect(await json('token', 'create', '--action', 'approval.decide')).toMatchObject({
    exit: 3,
    error: { code: 'identity.token_refused' },
  });
  const plain = await palyra(['token', 'create', '--action', 'tool.execute', '--ttl', '1d']);
  expect(plain.out).toMatch(/^palyra_at_\S+\n$/);
  expect(plain.err).toContain('shown once');
  await expectAdmitted(plain.out.trim());
  expect(await json('token', 'revoke', token.token_id.slice(-6))).toMatchObject({
    token: { revoked_at: expect.any(String) },
  });
  expect((await palyra(['token', 'list'])).out).toContain('revoked');
  expect(await json('ca', 'roll')).toMatchObject({ step: 'prepared' });
  const rolled = await palyra(['journal', 'show', '--kind', 'authority.changed', '--json']);
  expect(rolled.out).toMatch(/"authority":"[0-9a-f]{64}".*"change":"prepared"/);
  expect(await json('device', 'revoke', agent, '--yes', '--reason', 'lost')).toMatchObject({
    exit: 0,
    device: { revoked: { reason: 'lost' } },
  });
  const log = await palyra(['journal', 'show', '--kind', 'device.changed', '--json']);
  expect(log.out.match(/"change":"(?:roles_changed|revoked)"/g)).toEqual([
    '"change":"roles_changed"',
    '"change":"revoked"',
  ]);
  const tokenEntries = await palyra(['journal', 'show', '--kind', 'token.changed', '--json']);
  expect(
    tokenEntries.out
      .match(/"change":"\w+"|"purpose":"\w+"/g)
      ?.join(' ')
      .replaceAll(/"(?:\w+":")?/g, ''),
  ).toBe('created enrolment created access revoked enrolment');
  expect(tokenEntries.out).not.toContain(text.slice(-43));
  expect(await json('verify')).toMatchObject({ exit: 0 });
  expect(await json('init')).toMatchObject({ credentials: [{ change: 'kept' }, { change: 'created' }] });
  const whole = await palyra(['journal', 'show', '--kind', 'device.changed', '--json']);
  expect(whole.out.match(/"change":"paired"/g)).toHaveLength(3);
});

test('a device that was off for weeks gets its certificate for the key it has; without the role nobody gives one', async () => {
  copyReady();
  const directory = join(home, 'identity', 'local-agent');
  const before = openCredential(directory);
  const csr = Buffer.from(await createSigningRequest(before.key)).toString('base64');
  const answer = await palyra(['device', 'renew', before.device, '--csr', '-', '--json'], csr);
  const { certificate, authorities } = JSON.parse(answer.out) as { certificate: string; authorities: string };
  expect(certificate).not.toBe(before.tls.certificate);
  expect(authorities).toBe(before.tls.authorities);
  expect(await json('device', 'renew', before.device)).toMatchObject({ exit: 2, error: { code: 'cli.invalid_usage' } });
  expect(await json('device', 'renew')).toMatchObject({ renewed: [{ name: 'operator' }, { name: 'local-agent' }] });

  const { devices } = (await json('device', 'list')) as { devices: { device_id: string; kind: string }[] };
  const operator = devices.find(({ kind }) => kind === 'operator')?.device_id ?? '';
  await palyra(['device', 'roles', operator, '--role', 'auditor']);
  expect(await json('device', 'revoke', before.device, '--yes')).toMatchObject({
    exit: 3,
    error: { code: 'identity.not_permitted' },
  });
});

test('the authority changes in steps that are told, or at once; without the role nobody changes it', async () => {
  copyReady();
  const directory = join(home, 'identity', 'operator');
  const [{ id: first } = { id: '' }] = openAuthority(join(home, 'identity')).trusted();
  expect(await json('ca', 'status')).toMatchObject({
    exit: 0,
    roll_over: { state: 'steady', next: 'prepare' },
    authorities: [{ sha256: first, state: 'current' }],
  });
  expect(await json('ca', 'roll')).toMatchObject({
    step: 'prepared',
    roll_over: { state: 'prepared', next: 'activate' },
    authorities: [{ sha256: first, state: 'current' }, { state: 'next' }],
    renewed: [{ name: 'operator' }, { name: 'local-agent' }],
  });
  expect(openCredential(directory).tls.authorities.match(/BEGIN/g)).toHaveLength(2);
  expect(await json('ca', 'roll')).toMatchObject({
    step: 'nothing_due',
    roll_over: { state: 'prepared' },
    renewed: [],
  });
  expect((await palyra(['ca', 'status'])).out).toContain('The next authority is made');

  expect(await json('ca', 'roll', '--urgent')).toMatchObject({ exit: 9, error: { code: 'cli.not_confirmed' } });
  expect(await json('ca', 'roll', '--urgent', '--yes')).toMatchObject({
    exit: 0,
    step: 'activated',
    roll_over: { state: 'steady' },
  });
  const [current] = openAuthority(join(home, 'identity')).trusted();
  expect(current?.id).not.toBe(first);
  const { certificate } = openCredential(directory).tls;
  expect(new X509Certificate(certificate).verify(current?.certificate.publicKey as KeyObject)).toBe(true);

  const { devices } = (await json('device', 'list')) as { devices: { device_id: string; kind: string }[] };
  await palyra(['device', 'roles', devices[0]?.device_id ?? '', '--role', 'operator']);
  expect(await json('ca', 'roll')).toMatchObject({ exit: 3, error: { code: 'identity.not_permitted' } });
});

test('a key that is not the operator’s any more does nothing for them, whatever its certificate says', async () => {
  await palyra(['init']);
  const directory = join(home, 'identity', 'operator');
  const { device, key: own, tls } = openCredential(directory);
  const key = createDeviceKey();
  const names = [`palyra://device/${device}`, 'palyra://kind/operator'].map(
    (value) => ({ type: 'url', value }) as const,
  );
  const times = { notBefore: Date.now() - 1_000, notAfter: Date.now() + 60_000 };
  const draft = { commonName: device, publicKey: key.publicKey, purpose: 'client', names, ...times } as const;
  const forged = await makeCertificate(draft, { certificate: tls.certificate, privateKey: own.privateKey });
  writeFileSync(join(directory, 'device.key'), key.exportPrivate());
  writeFileSync(join(directory, 'device.crt'), forged);
  expect(await json('token', 'create')).toMatchObject({ exit: 3, error: { code: 'identity.not_permitted' } });
});

test('a device witnesses the log of another home with its own key, and not the one of its own', async () => {
  const [here, there] = [home, join(parent, 'there')];
  mkdirSync(there, { mode: 0o700 });
  await withJournal(there, async () => undefined);
  copyReady();
  const request = await palyra(['journal', 'checkpoint', '--request', '--home', there, '--json']);
  const answer = await palyra(['journal', 'cosign', '-', '--device', '--store', 'seen', '--json'], request.out);
  const { device } = openCredential(join(here, 'identity', 'operator'));
  expect(JSON.parse(answer.out)).toMatchObject({ witness: expect.stringMatching(`^palyra-device/${device}\\+`) });
  const recorded = await palyra(['journal', 'cosigned', '-', '--home', there, '--json'], answer.out);
  expect(recorded).toMatchObject({ exit: 0, out: expect.stringContaining(`palyra-device/${device}`) });
});

test('without a home there is a way to one', async () => {
  expect(await json('device', 'list')).toMatchObject({
    exit: 8,
    error: { code: 'identity.not_initialised', fix: expect.stringContaining('palyra init') },
  });
  expect(await json('token', 'create')).toMatchObject({
    exit: 8,
    error: { fix: expect.stringContaining('palyra init') },
  });
});
