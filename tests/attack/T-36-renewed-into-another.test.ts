// T-36, T-35, T-40: palyrad renews the credentials of its home by itself. An agent's certificate in the operator's place, a
// certificate that nobody here signed, an edited row, a revoked device: none of them comes out with more than it had.
import { chmodSync, copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { initialiseIdentity, openAgentCredential, openAuthority, openCredential, renewHome } from '@palyra/identity';
import { statement } from '@palyra/storage';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeAuthorityCertificate, makeCertificate } from '../../packages/identity/src/x509/make-certificates.ts';
import { freshKey, type IdentityHouse, identityHouse } from './identity-house.ts';

const DAY_MS = 86_400_000;
const BY = 'daemon:palyrad';

let house: IdentityHouse;
const place = (name: string, file = '') => join(house.identity, name, file);
beforeAll(async () => {
  house = await identityHouse();
  await initialiseIdentity({ identityDirectory: house.identity, registry: house.registry, operator: 'user:ada' });
  cpSync(house.identity, join(house.path, 'kept'), { recursive: true });
});
afterAll(() => house[Symbol.asyncDispose]());
beforeEach(() => {
  house.clock.aheadMs = 6 * DAY_MS;
});
afterEach(() => {
  house.clock.aheadMs = 0;
  for (const name of ['operator', 'local-agent']) {
    rmSync(place(name), { recursive: true });
    cpSync(join(house.path, 'kept', name), place(name), { recursive: true });
    chmodSync(place(name), 0o700);
  }
});

const renew = async () =>
  (await renewHome({ identityDirectory: house.identity, ...house, by: BY })).map((each) =>
    each.kind === 'failed' ? `${each.name} ${(each.error as { code: string }).code}` : `${each.name} ${each.kind}`,
  );
const edit = async (device: string, values: Readonly<Record<string, unknown>>) => {
  const update = house.database.write.updateTable('identity_devices').set(values).where('id', '=', device);
  await house.database.commit({ steps: [statement(update, { rows: 1 })] });
};
const certificate = (name: string) => readFileSync(place(name, 'device.crt'), 'utf8');

test('the certificate of the agent in the place of the operator is not renewed there', async () => {
  for (const file of ['device.crt', 'device.key', 'authorities.crt']) {
    copyFileSync(place('local-agent', file), place('operator', file));
  }
  const planted = certificate('operator');
  expect(await renew()).toEqual(['operator identity.key_invalid', 'local-agent renewed']);
  expect(certificate('operator')).toBe(planted);
});

test('a certificate with the operator’s id and the agent’s key, which nobody here signed, gets no signature', async () => {
  const { device } = openCredential(place('operator'));
  const agent = openAgentCredential(house.identity);
  const { privateKey } = freshKey();
  const times = { notBefore: Date.now() - DAY_MS, notAfter: Date.now() + DAY_MS };
  const commonName = /^CN=(.*)$/m.exec(String(house.authority.trusted()[0]?.certificate.subject))?.[1] ?? '';
  const other = await makeAuthorityCertificate({ commonName, privateKey, ...times });
  const names = [`palyra://device/${device}`, 'palyra://kind/operator'].map(
    (value) => ({ type: 'url', value }) as const,
  );
  const draft = { commonName: device, publicKey: agent.key.publicKey, purpose: 'client', names, ...times } as const;
  const forged = await makeCertificate(draft, { certificate: other, privateKey });
  writeFileSync(place('operator', 'device.crt'), forged);
  expect((await renew())[0]).toBe('operator identity.key_invalid');
  expect(certificate('operator')).toBe(forged);
});

test('rows that were edited: another key, another kind', async () => {
  const [operator, agent] = [openCredential(place('operator')), openCredential(place('local-agent'))];
  const row = await house.registry.find(operator.device);
  const { spki } = freshKey();
  await edit(operator.device, { public_key: spki, key_digest: 'f'.repeat(64) });
  await edit(agent.device, { kind: 'operator', principal: 'user:edited' });
  expect(await renew()).toEqual(['operator identity.other_key', 'local-agent identity.corrupt']);
  expect([certificate('operator'), certificate('local-agent')]).toEqual([
    operator.tls.certificate,
    agent.tls.certificate,
  ]);
  await edit(operator.device, { public_key: row?.publicKey, key_digest: row?.keyDigest });
  await edit(agent.device, { kind: 'agent', principal: 'agent:local' });
  expect(await renew()).toEqual(['operator renewed', 'local-agent renewed']);
});

test('a directory that others may enter is left alone', async () => {
  chmodSync(place('operator'), 0o755);
  expect((await renew())[0]).toBe('operator identity.key_unsafe');
});

test('palyrad renews without the keys: it reads neither, and one that is not there is not missed', async () => {
  for (const name of ['operator', 'local-agent'])
    renameSync(place(name, 'device.key'), join(house.path, `${name}.key`));
  expect(await renew()).toEqual(['operator renewed', 'local-agent renewed']);
});

test('one that is revoked stays out, before and after its time', async () => {
  const { device } = openCredential(place('local-agent'));
  await house.registry.revoke({ device, reason: 'lost', by: 'user:ada' });
  expect((await renew())[1]).toBe('local-agent identity.device_revoked');
  house.clock.aheadMs = 20 * DAY_MS;
  const authority = openAuthority(house.identity, { clock: house.clock });
  const renewals = await renewHome({ identityDirectory: house.identity, ...house, authority, by: BY });
  expect(renewals.map(({ kind }) => kind)).toEqual(['renewed', 'failed']);
});
