// T-36, T-39, T-41: a token that can do more than its maker, outlives it, is guessed, or lets in more devices than it should.
import {
  createDeviceKey,
  createSigningRequest,
  createThrottle,
  type NewToken,
  openTokens,
  type Peer,
  type Tokens,
} from '@palyra/identity';
import { reveal } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IdentityHouse, identityHouse } from './identity-house.ts';

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
