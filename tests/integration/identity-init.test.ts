import { X509Certificate } from 'node:crypto';
import { linkSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  initialiseIdentity,
  openAuthority,
  openCredential,
  openOperatorCredential,
  openRegistry,
  rollOver,
} from '@palyra/identity';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { openIdentityDatabase } from '../attack/identity-listener.ts';

async function emptyHome() {
  const home = await createTemporaryHome();
  const identityDirectory = join(home.path, 'identity');
  const database = await openIdentityDatabase({ kind: 'sqlite', path: join(home.path, 'palyra.db') });
  const registry = openRegistry({ database });
  return {
    identityDirectory,
    registry,
    init: () => initialiseIdentity({ identityDirectory, registry, operator: 'user:ada' }),
    isTrusted(name: string): boolean {
      const { certificate } = openCredential(join(identityDirectory, name)).tls;
      const trusted = openAuthority(identityDirectory).trusted();
      return trusted.some((each) => new X509Certificate(certificate).verify(each.certificate.publicKey));
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

test('several at once make one home: one authority, and two credentials that it vouches for', async () => {
  await using home = await emptyHome();
  const made = await Promise.all([home.init(), home.init(), home.init(), home.init()]);
  expect(made.filter(({ authority }) => authority === 'created')).toHaveLength(1);
  expect(new Set(made.flatMap(({ credentials }) => credentials.map(({ device }) => device))).size).toBe(2);
  expect(await home.registry.list()).toHaveLength(2);
  expect(readdirSync(join(home.identityDirectory, 'ca')).filter((name) => name.endsWith('.key'))).toHaveLength(1);
  expect(['operator', 'local-agent'].map((name) => home.isTrusted(name))).toEqual([true, true]);
});

test('a credential of an authority that counts no more is renewed, though its time is not over', async () => {
  await using home = await emptyHome();
  await home.init();
  await rollOver(home.identityDirectory, { isUrgent: true });
  expect(home.isTrusted('operator')).toBe(false);
  const { credentials } = await home.init();
  expect(credentials.map(({ change }) => change)).toEqual(['renewed', 'renewed']);
  expect(['operator', 'local-agent'].map((name) => home.isTrusted(name))).toEqual([true, true]);
});

test('a key whose writer was killed between its two names is used, and one with a second name is not', async () => {
  await using home = await emptyHome();
  await home.init();
  const key = join(home.identityDirectory, 'operator', 'device.key');
  linkSync(key, `${key}.0123456789ab.draft`);
  expect(openOperatorCredential(home.identityDirectory).kind).toBe('operator');
  expect(readdirSync(join(home.identityDirectory, 'operator')).some((name) => name.endsWith('.draft'))).toBe(false);
  linkSync(key, join(home.identityDirectory, 'copy'));
  expect(() => openOperatorCredential(home.identityDirectory)).toThrow(
    expect.objectContaining({ code: 'identity.key_unsafe' }),
  );
});
