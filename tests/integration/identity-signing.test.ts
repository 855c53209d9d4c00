import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VerifySignature as ApprovalsVerify, Decider } from '@palyra/approvals';
import {
  checkpointCosigner,
  createCosignerFinder,
  createDeviceKey,
  createSignatureVerifier,
  createSigningRequest,
  deviceDecider,
  issueDeviceCertificate,
  TOKEN_ACTIONS,
} from '@palyra/identity';
import {
  createFileWitnessStore,
  createWitness,
  makeCosignRequest,
  nodeSha256,
  openHomeForReading,
  parseVkey,
} from '@palyra/journal';
import { systemClock } from '@palyra/primitives';
import {
  createFakeCredentials,
  decideAsShown,
  keyDirectoryOf,
  openApprovalsHome,
  openJournalHome,
  SAMPLE_ACTOR,
  sampleQuestion,
} from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askableActions } from '../../packages/policy/src/askable-actions.ts';
import { type IdentityHouse, identityHouse } from '../attack/identity-house.ts';

let house: IdentityHouse;
beforeAll(async () => {
  house = await identityHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

async function enter(
  name: string,
  {
    kind = 'operator',
    place = 'same_host',
  }: { kind?: 'operator' | 'agent'; place?: 'same_host' | 'separate_device' } = {},
) {
  const key = createDeviceKey(name === 'p256' ? 'p256' : 'ed25519');
  const principal = `${kind === 'operator' ? 'user' : 'agent'}:${name}`;
  const issue = issueDeviceCertificate(house, { by: 'user:ada', principalFor: () => principal, place });
  const { device } = await issue({ csrDer: await createSigningRequest(key), kind, name });
  const known = await house.registry.find(device as never);
  if (known === undefined) throw new Error('Not entered.');
  return { device: known.id, key, known };
}

test('a device answers a question: its statement is verified by today’s registry, with the assurance of its place', async () => {
  const verify: ApprovalsVerify = createSignatureVerifier(house);
  const home = await openApprovalsHome(
    { kind: 'sqlite', path: join(house.path, 'approvals.db') },
    { credentials: { ...createFakeCredentials(), verify } },
  );
  for (const [name, place, assurance] of [
    ['laptop', 'same_host', 'same_host_key'],
    ['phone', 'separate_device', 'separate_device'],
    ['p256', 'separate_device', 'separate_device'],
  ] as const) {
    const { device, key, known } = await enter(name, { place });
    const by: Decider = deviceDecider({ device, key }, { principal: known.principal, assurance });
    const asked = await home.approvals.ask(sampleQuestion({ argv: [name] }));
    if (asked.kind === 'refused') throw new Error(asked.reason);
    // One that claims more than its place does not verify, and decides nothing.
    const boast = { ...by, assurance: 'user_verified' } as const;
    expect(
      await decideAsShown(home.approvals, asked.approvalId, { decision: 'approve', scope: 'once', by: boast }),
    ).toMatchObject({ kind: 'refused' });
    expect(
      await decideAsShown(home.approvals, asked.approvalId, { decision: 'approve', scope: 'once', by }),
    ).toMatchObject({ kind: 'decided' });
    expect(await home.approvals.verifyForRun(sampleQuestion({ argv: [name] }), asked.approvalId)).toMatchObject({
      kind: 'permitted',
    });
    // And a yes does not outlive the device that gave it.
    await house.registry.revoke({ device, reason: 'lost', by: 'user:ada' });
    expect(await home.approvals.verifyForRun(sampleQuestion({ argv: [name] }), asked.approvalId)).toMatchObject({
      kind: 'refused',
    });
  }
  await home[Symbol.asyncDispose]();
});

test('what counts of a signature', async () => {
  const verify = createSignatureVerifier(house);
  const message = new TextEncoder().encode('palyra/approval-statement/v1\n{}');
  const operator = await enter('signer');
  const agent = await enter('robot', { kind: 'agent' });
  const signed = { credential: operator.device, message, signature: operator.key.sign(message) };
  expect(await verify(signed)).toEqual({
    kind: 'human',
    person: 'user:signer',
    device: operator.device,
    assurance: 'same_host_key',
  });
  expect(await verify({ credential: agent.device, message, signature: agent.key.sign(message) })).toMatchObject({
    kind: 'agent',
  });
  expect(await verify({ ...signed, signature: agent.key.sign(message) })).toBeUndefined();
  expect(await verify({ ...signed, message: new Uint8Array([1]) })).toBeUndefined();
  expect(await verify({ ...signed, credential: 'nobody' })).toBeUndefined();
  const later = createSignatureVerifier({
    ...house,
    clock: { ...systemClock, now: () => Date.now() + 8 * 86_400_000 },
  });
  expect(await later(signed)).toBeUndefined();
});

test('a device cosigns what continues the log it saw, with its own key, and is found by it', async () => {
  const place = {
    location: { kind: 'sqlite', path: join(house.path, 'journal.db') },
    directory: join(house.path, 'log'),
  } as const;
  const home = await openJournalHome(place);
  const { device, key } = await enter('witness', { place: 'separate_device' });
  const cosigner = checkpointCosigner(device, key);
  const witness = createWitness({
    ...cosigner,
    clock: systemClock,
    store: createFileWitnessStore(join(house.path, 'seen')),
  });
  const requestFrom = async (size: number) => {
    const reader = await openHomeForReading({
      location: place.location,
      lockTimeoutMs: 5_000,
      keyDirectory: keyDirectoryOf(place),
      bodyDirectory: undefined,
    });
    const request = await makeCosignRequest(
      { read: reader.database.read, log: reader.log, proofs: reader.proofs },
      size,
    );
    await reader.close();
    return request;
  };
  const append = () =>
    home.journal.append(SAMPLE_ACTOR, [
      { kind: 'device.changed', data: { device_id: device, change: 'paired', kind: 'operator' } },
    ]);

  await append();
  const first = await witness.cosign(await requestFrom(0));
  if (first.kind !== 'cosigned') throw new Error('Not cosigned.');
  await append();
  // Without a proof from where it stopped it signs nothing.
  expect(await witness.cosign(await requestFrom(0))).toEqual({ kind: 'needs proof', from: first.size });
  expect(await witness.cosign(await requestFrom(first.size))).toMatchObject({ kind: 'cosigned', size: first.size + 1 });

  const vkey = parseVkey(first.answer.witness, nodeSha256);
  const find = createCosignerFinder(house.registry);
  expect(await find(vkey)).toEqual({ device, principal: 'user:witness', isRevoked: false });
  expect(await find({ ...vkey, publicKey: new Uint8Array(32) })).toBeUndefined();
  expect(await find({ ...vkey, name: 'somebody' })).toBeUndefined();
  expect(() => checkpointCosigner(device, createDeviceKey('p256'))).toThrow(
    expect.objectContaining({ code: 'identity.key_invalid' }),
  );
  await home[Symbol.asyncDispose]();
});

test('a token can be for every action of the schema that is not for people or administrators, and for no other', () => {
  const schema = readFileSync(new URL('../../packages/policy/policies/palyra.cedarschema', import.meta.url), 'utf8');
  const forTokens = askableActions(schema).filter(
    ({ groups }) => !groups.includes('human_only') && !groups.includes('admin'),
  );
  expect([...TOKEN_ACTIONS].toSorted()).toEqual(forTokens.map(({ name }) => name).toSorted());
});
