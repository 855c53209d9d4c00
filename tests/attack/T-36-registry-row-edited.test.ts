// T-36, T-06, T-46: whoever can write the database makes an operator of an agent, signs for a person, or shuts others out.
import { createHash } from 'node:crypto';
import {
  createDeviceKey,
  createSignatureVerifier,
  createSigningRequest,
  type IdentitySchema,
  openTokens,
} from '@palyra/identity';
import { statement } from '@palyra/storage';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestOnce } from './certificate-matrix.ts';
import { type IdentityHouse, identityHouse } from './identity-house.ts';
import { listenIn } from './identity-listener.ts';

let house: IdentityHouse;
beforeAll(async () => {
  house = await identityHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

type Row = IdentitySchema['identity_devices'];

async function edit(device: string, values: Partial<Row>): Promise<void> {
  const update = house.database.write.updateTable('identity_devices').set(values).where('id', '=', device);
  await house.database.commit({ steps: [statement(update, { rows: 1 })] });
}

const message = new TextEncoder().encode('palyra/approval-statement/v1\n{}');

test('an agent that a row calls an operator signs for nobody, nor does a key put in the place of a person’s', async () => {
  const verify = createSignatureVerifier(house);
  const ada = await house.letIn('ada', 'operator', ['approver']);
  const eve = await house.letIn('eve', 'agent', ['agent']);
  const byEve = { credential: eve.device, message, signature: eve.key.sign(message) };
  expect(await verify(byEve)).toMatchObject({ kind: 'agent', person: 'agent:eve' });
  await edit(eve.device, { kind: 'operator', principal: 'user:ada', roles: '["approver"]' });
  expect(await verify(byEve)).toBeUndefined();

  const byAda = { credential: ada.device, message, signature: ada.key.sign(message) };
  expect(await verify(byAda)).toMatchObject({ kind: 'human', person: 'user:ada' });
  const own = createDeviceKey();
  await edit(ada.device, {
    public_key: own.publicKey,
    key_digest: createHash('sha256').update(own.publicKey).digest('hex'),
  });
  expect(await verify({ ...byAda, signature: own.sign(message) })).toBeUndefined();
  expect(await verify(byAda)).toBeUndefined();
});

test('an agent whose row has the name of a person is not served under it', async () => {
  await using listener = await listenIn(house);
  const eve = await house.letIn('renamed', 'agent', ['agent']);
  const ask = () => requestOnce(listener.port, { identity: eve.tls, authorities: '' });
  expect(await ask()).toBe('served');
  await edit(eve.device, { principal: 'user:ada' });
  expect(await ask()).toBe('refused');
});

test('a row that cannot be read shuts out nobody else', async () => {
  const [bad, good] = [await house.letIn('bad', 'agent'), await house.letIn('good', 'agent')];
  await edit(bad.device, { roles: '{' });
  const [first, second] = await Promise.allSettled([house.registry.find(bad.device), house.registry.find(good.device)]);
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'identity.corrupt' } });
  expect(second).toMatchObject({ status: 'fulfilled', value: { principal: 'agent:good' } });
  await edit(bad.device, { roles: '[]' });
});

test('a token that nobody here can have made is none, though its row is there', async () => {
  const tokens = openTokens(house);
  const admin = await house.letIn('admin', 'operator', ['admin', 'operator']);
  const secret = Buffer.alloc(32, 5).toString('base64url');
  const plant = async (values: Partial<IdentitySchema['identity_tokens']>): Promise<string> => {
    const id = house.registry.context.ids.newId('token');
    const row = {
      id,
      purpose: 'access',
      name: 'planted',
      digest: createHash('sha256').update(`palyra/token/v1\n${secret}`).digest('hex'),
      principal: 'user:admin',
      kind: 'operator',
      actions: '["approval.decide","run.read"]',
      roles: '["admin","approver","operator"]',
      uses_left: 9,
      created_by: admin.device,
      created_at: Date.now(),
      expires_at: Date.now() + 60_000,
      revoked_at: null,
      revoked_by: null,
      ...values,
    };
    const insert = house.database.write.insertInto('identity_tokens').values(row);
    await house.database.commit({ steps: [statement(insert, { rows: 1 })] });
    return `palyra_${row.purpose === 'access' ? 'at' : 'et'}_${id}_${secret}`;
  };
  const address = '192.0.2.1';
  const enrol = async (text: string) =>
    tokens.enrol({ text, address, csrDer: await createSigningRequest(createDeviceKey()), name: 'planted' });

  expect(await enrol(await plant({ purpose: 'enrolment' }))).toMatchObject({ code: 'bad_token' });
  expect(await enrol(await plant({ purpose: 'enrolment', kind: 'agent' }))).toMatchObject({ code: 'bad_token' });
  const human = await plant({});
  expect(await tokens.admit({ text: human, address, action: 'approval.decide' })).toMatchObject({
    code: 'out_of_scope',
  });
  const others = [{ principal: 'user:ada' }, { kind: 'agent' }, { kind: 'service', principal: 'service:ci' }];
  for (const values of others) {
    const text = await plant(values);
    expect(await tokens.admit({ text, address, action: 'run.read' })).toMatchObject({ code: 'bad_token' });
  }
});
