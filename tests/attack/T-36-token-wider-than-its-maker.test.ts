// T-36, T-39, T-41: a token that can do more than its maker, outlives it, is guessed, or lets in more devices than it should;
// in memory, and over the wire of the listener that lets devices in.
import { once } from 'node:events';
import { connect } from 'node:tls';
import {
  anonymousTlsOptions,
  createDeviceKey,
  createSigningRequest,
  createThrottle,
  ENROLMENT_PATH,
  type NewToken,
  openRegistry,
  openTokens,
  type Peer,
  type Tokens,
} from '@palyra/identity';
import { createIdSource, reveal } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInProcess } from '../e2e/cli-in-process.ts';
import { requestOnce } from './certificate-matrix.ts';
import { freshKey, type IdentityHouse, identityHouse } from './identity-house.ts';
import { listenIn } from './identity-listener.ts';
import { enrolmentListener, post, requestFor } from './matrix-listeners.ts';

let house: IdentityHouse;
let tokens: Tokens;
beforeAll(async () => {
  house = await identityHouse();
  tokens = openTokens(house);
});
afterAll(() => house[Symbol.asyncDispose]());

let count = 0;
async function maker(kind: 'operator' | 'agent', roles: readonly string[]): Promise<Peer> {
  count += 1;
  const { device } = await house.letIn(`maker-${count}`, kind, roles);
  return { ...(await house.registry.find(device)), device } as unknown as Peer;
}

const access = (by: Peer, more: Partial<NewToken> = {}): NewToken =>
  ({
    purpose: 'access',
    kind: 'agent',
    principal: 'agent:ci',
    name: 'ci',
    ttlMs: 60_000,
    actions: ['tool.execute'],
    by,
    ...more,
  }) as NewToken;
const fleet = (by: Peer, more: Partial<NewToken> = {}): NewToken =>
  ({
    purpose: 'enrolment',
    kind: 'agent',
    principal: 'agent:fleet',
    name: 'fleet',
    ttlMs: 60_000,
    uses: 2,
    roles: ['agent'],
    by,
    ...more,
  }) as NewToken;

const LOOPBACK = '127.0.0.1';

test('nobody makes a token for more than they may themselves', async () => {
  const operator = await maker('operator', ['operator']);
  const admin = await maker('operator', ['admin']);
  const agent = await maker('agent', ['agent']);
  const refused: readonly NewToken[] = [
    access(agent),
    fleet(agent),
    access(admin),
    fleet(operator),
    access(operator, { kind: 'operator', principal: admin.principal }),
    access(operator, { actions: [] }),
    ...[
      'approval.decide',
      'policy.apply',
      'device.pair',
      'vault.get',
      'journal.read',
      'grant.revoke',
      'no.such',
      '*',
    ].map((action) => access(operator, { actions: ['tool.execute', action] })),
    fleet(admin, { kind: 'operator' as 'agent', principal: 'user:eve' }),
  ];
  for (const each of refused)
    await expect(tokens.create(each)).rejects.toMatchObject({ code: 'identity.token_refused' });
  await expect(tokens.create(fleet(admin, { roles: ['approver'] }))).rejects.toMatchObject({
    code: 'identity.invalid_roles',
  });
  await expect(tokens.create(access(operator, { principal: 'user:ada' }))).rejects.toMatchObject({
    code: 'identity.invalid_name',
  });
  for (const ttlMs of [0, -1, 91 * 86_400_000, Number.NaN]) {
    await expect(tokens.create(access(operator, { ttlMs }))).rejects.toMatchObject({
      code: 'identity.invalid_lifetime',
    });
  }
});

test('a token does what it names and nothing else, and is no approver', async () => {
  const by = await maker('operator', ['admin', 'approver', 'operator']);
  const { text } = await tokens.create(
    access(by, { kind: 'operator', principal: by.principal, actions: ['run.read'] }),
  );
  const admit = (action: string) => tokens.admit({ text: reveal(text), address: LOOPBACK, action });
  expect(await admit('run.read')).toMatchObject({
    kind: 'admitted',
    peer: { principal: by.principal, roles: ['operator'], groups: ['operator'], actions: ['run.read'] },
  });
  for (const action of ['run.cancel', 'tool.execute', 'approval.decide', 'policy.apply', '']) {
    expect(await admit(action)).toMatchObject({ code: 'out_of_scope' });
  }
});

test('a token falls with its maker, its time, its revocation, and is not one of the other kind', async () => {
  const by = await maker('operator', ['admin', 'operator']);
  const made = await Promise.all([1, 2, 3].map(() => tokens.create(access(by))));
  const [first, second, third] = made.map(({ text, token }) => ({ text: reveal(text), token }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('Not made.');
  const admit = (text: string) => openTokens(house).admit({ text, address: LOOPBACK, action: 'tool.execute' });
  expect(await admit(first.text)).toMatchObject({ kind: 'admitted' });

  const enrolment = await tokens.create(fleet(by));
  expect(await admit(reveal(enrolment.text))).toMatchObject({ code: 'bad_token' });
  expect(await admit(reveal(enrolment.text).replace('_et_', '_at_'))).toMatchObject({ code: 'bad_token' });
  const csrDer = await createSigningRequest(createDeviceKey());
  expect(await openTokens(house).enrol({ text: first.text, address: LOOPBACK, csrDer, name: 'x' })).toMatchObject({
    code: 'bad_token',
  });

  await tokens.revoke({ token: first.token.id, by: 'user:ada' });
  expect(await admit(first.text)).toMatchObject({ code: 'bad_token' });
  house.clock.aheadMs = 60_001;
  expect(await admit(second.text)).toMatchObject({ code: 'bad_token' });
  house.clock.aheadMs = 0;
  expect(await admit(second.text)).toMatchObject({ kind: 'admitted' });
  await house.registry.setRoles({ device: by.device, roles: ['approver'], by: 'user:ada' });
  expect(await admit(second.text)).toMatchObject({ code: 'bad_token' });
  await house.registry.setRoles({ device: by.device, roles: ['operator'], by: 'user:ada' });
  expect(await admit(third.text)).toMatchObject({ kind: 'admitted' });
  await house.registry.revoke({ device: by.device, reason: 'lost', by: 'user:ada' });
  expect(await admit(third.text)).toMatchObject({ code: 'bad_token' });
});

test('the database holds nothing that can be presented', async () => {
  const by = await maker('operator', ['operator']);
  const { text, token } = await tokens.create(access(by));
  const row = await house.database.read
    .selectFrom('identity_tokens')
    .selectAll()
    .where('id', '=', token.id)
    .executeTakeFirstOrThrow();
  const secret = reveal(text).slice(-43);
  expect(JSON.stringify(row)).not.toContain(secret);
  const forged = reveal(text).replace(secret, Buffer.from(row.digest, 'hex').toString('base64url'));
  expect(await tokens.admit({ text: forged, address: LOOPBACK, action: 'tool.execute' })).toMatchObject({
    code: 'bad_token',
  });
});

test('guesses are slowed down, from loopback too, and shut nobody else out', async () => {
  const by = await maker('operator', ['operator']);
  const good = reveal((await tokens.create(access(by))).text);
  const other = reveal((await tokens.create(access(by))).text);
  const throttled = openTokens({ ...house, throttle: createThrottle(house.clock) });
  const admit = (text: string, address: string | undefined = LOOPBACK) =>
    throttled.admit({ text, address, action: 'tool.execute' });
  expect(await admit(good)).toMatchObject({ kind: 'admitted' });

  const guess = (at: number) => `${good.slice(0, -2)}${at.toString(36).padStart(2, '0')}`;
  const answers: string[] = [];
  for (let at = 0; at < 40; at += 1) {
    const answer = await admit(at % 2 === 0 ? guess(at) : `nonsense ${at}`);
    answers.push(answer.kind === 'refused' ? answer.code : answer.kind);
  }
  expect(answers.slice(-16)).toEqual(Array.from({ length: 16 }, () => 'throttled'));
  // One that was never seen from here waits; from elsewhere it does not.
  expect(await admit(other)).toMatchObject({ code: 'throttled' });
  expect(await admit(other, '192.0.2.7')).toMatchObject({ kind: 'admitted' });
  house.clock.aheadMs = 50_000;
  expect(await admit(good)).toMatchObject({ kind: 'admitted' });
  house.clock.aheadMs = 0;
});

test('guesses that come at once are counted before any of them is looked up', async () => {
  const by = await maker('operator', ['operator']);
  const good = reveal((await tokens.create(access(by))).text);
  const throttled = openTokens({ ...house, throttle: createThrottle({ now: () => 0 }) });
  const admit = async (text: string) => {
    const answer = await throttled.admit({ text, address: LOOPBACK, action: 'tool.execute' });
    return answer.kind === 'refused' ? answer.code : answer.kind;
  };
  // Of one that is right, as many as there are: those that are not yet known do not count against it.
  expect(await admit(good)).toBe('admitted');
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => admit(good))))).toEqual(new Set(['admitted']));

  const ids = createIdSource();
  const guesses = Array.from(
    { length: 200 },
    (_guess, at) => `palyra_at_${ids.newId('token')}_${`${at}`.padEnd(43, 'A')}`,
  );
  const answers = await Promise.all(guesses.map(admit));
  expect(answers.filter((answer) => answer === 'bad_token')).toHaveLength(10);
  expect(answers.filter((answer) => answer === 'throttled')).toHaveLength(190);
});

test('T-32: where the journal cannot say it, no token is made and none is revoked', async () => {
  const by = await maker('operator', ['operator']);
  const { token } = await tokens.create(access(by, { name: 'kept' }));
  const commit = () => Promise.reject(new Error('The journal does not answer.'));
  const mute = openTokens({ ...house, registry: openRegistry({ database: house.database, commit }) });
  await expect(mute.create(access(by, { name: 'unrecorded' }))).rejects.toThrow('does not answer');
  await expect(mute.revoke({ token: token.id, by: 'user:ada' })).rejects.toThrow('does not answer');
  const found = (await tokens.list()).filter(({ name }) => ['kept', 'unrecorded'].includes(name));
  expect(found.map(({ name, revokedAt }) => [name, revokedAt])).toEqual([['kept', null]]);
});

test('an enrolment token lets in as many devices as it says, also when they come at once, under its own principal', async () => {
  const by = await maker('operator', ['admin']);
  const { text } = await tokens.create(fleet(by, { uses: 3 }));
  const requests = await Promise.all(Array.from({ length: 8 }, () => createSigningRequest(createDeviceKey())));
  const outcomes = await Promise.all(
    requests.map((csrDer, at) =>
      tokens.enrol({ text: reveal(text), address: LOOPBACK, csrDer, name: `user:root ${at}` }),
    ),
  );
  const enrolled = outcomes.flatMap((outcome) => (outcome.kind === 'enrolled' ? [outcome.device] : []));
  expect(enrolled).toHaveLength(3);
  expect(
    outcomes
      .filter(({ kind }) => kind === 'refused')
      .every((each) => each.kind === 'refused' && each.code === 'used_up'),
  ).toBe(true);
  for (const device of enrolled) {
    expect(await house.registry.find(device as never)).toMatchObject({
      principal: 'agent:fleet',
      kind: 'agent',
      roles: ['agent'],
    });
  }
});

interface Printed {
  readonly text: string;
  readonly token: { readonly token_id: string };
}

async function palyra(...args: readonly string[]): Promise<Printed> {
  const variables = { PALYRA_HOME: house.path };
  const { out } = await runInProcess({ args: [...args, '--json'], input: '', cwd: house.path, variables });
  return JSON.parse(out);
}

/** One request of a device that knows the authority, and has a token and no certificate. */
async function enrolAt(port: number, token: string, body?: string) {
  const authorities = house.authority.bundle();
  const asked = { identity: undefined, authorities, path: ENROLMENT_PATH, token };
  const { status, text } = await post(port, { ...asked, body: body ?? (await requestFor()) });
  return { status, code: (JSON.parse(text === '' ? '{}' : text) as { error?: { code?: string } }).error?.code };
}

test('over the wire a fleet token of the command line lets in as many as it says, and each has a certificate that works', async () => {
  await palyra('init');
  const { text, token } = await palyra('token', 'create', '--kind', 'agent', '--uses', '2', '--ttl', '1h');
  await using enrolment = await enrolmentListener(house);
  await using daemon = await listenIn(house, { kinds: ['agent'] });
  const authorities = house.authority.bundle();

  const { pem } = freshKey();
  const asked = { identity: undefined, authorities, path: ENROLMENT_PATH, token: text };
  const answer = await post(enrolment.port, { ...asked, body: await requestFor(pem, 'ci-1') });
  expect(answer.status).toBe(200);
  const { certificate, device } = JSON.parse(answer.text);
  const identity = { key: pem, certificate, authorities };
  expect(await requestOnce(daemon.port, { identity, authorities })).toBe('served');
  expect(await house.registry.find(device)).toMatchObject({ kind: 'agent', name: 'ci-1', principal: 'agent:local' });

  // The same key again is no second device, and costs no use.
  expect(await enrolAt(enrolment.port, text, await requestFor(pem))).toEqual({
    status: 409,
    code: 'identity.key_known',
  });
  const twice = await requestFor();
  const outcomes = await Promise.all([enrolAt(enrolment.port, text, twice), enrolAt(enrolment.port, text)]);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 403]));
  expect(await enrolAt(enrolment.port, text)).toEqual({ status: 403, code: 'identity.used_up' });
  await palyra('token', 'revoke', token.token_id);
  expect(await enrolAt(enrolment.port, text)).toEqual({ status: 403, code: 'identity.bad_token' });
});

test('the enrolment listener answers whatever comes, is slow to those who guess, and goes on', async () => {
  const by = await maker('operator', ['admin']);
  const [good, other] = [reveal((await tokens.create(fleet(by))).text), reveal((await tokens.create(fleet(by))).text)];
  await using listener = await enrolmentListener(house, { throttle: createThrottle({ now: () => 0 }) });
  const { port } = listener;
  expect(await enrolAt(port, good)).toMatchObject({ status: 200 });

  for (const body of ['', '[]', '{"csr":1,"name":"x"}', '{"csr":"AAAA"}', 'x'.repeat(1_000_000)]) {
    expect(await enrolAt(port, good, body)).toMatchObject({ status: 400 });
  }
  expect(await enrolAt(port, good, '{"csr":"AAAA","name":"x"}')).toEqual({
    status: 409,
    code: 'identity.invalid_request',
  });
  // Whoever hangs up in the middle of a body takes nobody along.
  const authorities = house.authority.bundle();
  const rude = connect({ host: LOOPBACK, port, ...anonymousTlsOptions(authorities) }).on('error', () => undefined);
  await once(rude, 'secureConnect');
  rude.write(`POST ${ENROLMENT_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"csr":`, () => rude.destroy());
  await new Promise((resolve) => void rude.once('close', resolve));
  const old = { ...anonymousTlsOptions(authorities), minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
  const modest = connect({ host: LOOPBACK, port, ...old });
  expect(
    await new Promise((resolve) => void modest.once('error', ({ code }: { code?: string }) => resolve(code))),
  ).toMatch(/ALERT/);

  const guess = `${other.slice(0, -4)}AAAA`;
  const answers = [];
  for (let at = 0; at < 12; at += 1) answers.push((await enrolAt(port, at % 2 === 0 ? guess : 'nonsense')).status);
  expect(answers).toEqual([...Array<number>(10).fill(403), 429, 429]);
  // One that was never seen from here waits, and one that was does not.
  expect(await enrolAt(port, other)).toEqual({ status: 429, code: 'identity.throttled' });
  expect(await enrolAt(port, good)).toMatchObject({ status: 200 });
});

test('a device that knows the authority sends its token to nobody else', async () => {
  await using stranger = await identityHouse({ beside: house });
  await using listener = await enrolmentListener(stranger);
  const by = await maker('operator', ['admin']);
  expect(await enrolAt(listener.port, reveal((await tokens.create(fleet(by))).text))).toEqual({ status: 0 });
});

test.each(['revoked', 'run out'])(
  'a token that is %s while a certificate is being made lets nobody in',
  async (how) => {
    const by = await maker('operator', ['admin']);
    const { text, token } = await tokens.create(fleet(by));
    const before = (await house.registry.list()).length;
    const authority = {
      ...house.authority,
      async issueDevice(draft: Parameters<typeof house.authority.issueDevice>[0]) {
        if (how === 'revoked') await tokens.revoke({ token: token.id, by: 'user:ada' });
        else await expire(token.id);
        return house.authority.issueDevice(draft);
      },
    };
    const csrDer = await createSigningRequest(createDeviceKey());
    const late = openTokens({ registry: house.registry, authority });
    expect(await late.enrol({ text: reveal(text), address: LOOPBACK, csrDer, name: 'late' })).toMatchObject({
      code: 'used_up',
    });
    expect(await house.registry.list()).toHaveLength(before);
  },
);

async function expire(token: string): Promise<void> {
  const update = house.database.write
    .updateTable('identity_tokens')
    .set({ expires_at: Date.now() - 60_000 })
    .where('id', '=', token);
  await house.database.commit({ steps: [statement(update, { rows: 1 })] });
}
