import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import {
  clientTlsOptions,
  createDeviceKey,
  createSigningRequest,
  openRegistry,
  openTokens,
  type RegistryChange,
  renewDevice,
} from '@palyra/identity';
import { reveal } from '@palyra/primitives';
import type { DatabaseOptions } from '@palyra/storage';
import { sharedPostgres } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type IdentityHouse, identityHouse } from '../attack/identity-house.ts';
import { listenIn, openIdentityDatabase } from '../attack/identity-listener.ts';

/** What the registry owes, whatever database lies behind it; `far` is another node. */
function describeIdentityContract(
  name: string,
  makeLocation: () => Promise<{ location?: DatabaseOptions['location']; remove(): Promise<void> }>,
): void {
  describe(`identity contract: ${name}`, () => {
    let house: IdentityHouse;
    let far: Awaited<ReturnType<typeof openIdentityDatabase>>;
    let remove: () => Promise<void>;
    beforeAll(async () => {
      const place = await makeLocation();
      remove = place.remove;
      house = await identityHouse(place.location === undefined ? {} : { location: place.location });
      far = await openIdentityDatabase(house.location);
    });
    afterAll(async () => {
      await far.close();
      await house[Symbol.asyncDispose]();
      await remove();
    });

    test('what one node changes another reads with its next question, and is told', async () => {
      const registry = openRegistry({ database: far });
      const told: RegistryChange[] = [];
      const watching = await registry.watch((change) => void told.push(change));
      const { device } = await house.letIn('laptop', 'operator', ['approver']);
      expect(await registry.find(device)).toEqual(await house.registry.find(device));
      expect(await registry.find(device)).toMatchObject({ kind: 'operator', roles: ['approver'], revoked: null });

      await house.registry.setRoles({ device, roles: ['auditor'], by: 'user:ada' });
      expect((await registry.find(device))?.roles).toEqual(['auditor']);
      const revoked = await house.registry.revoke({ device, reason: 'lost', by: 'user:ada' });
      expect((await registry.find(device))?.revoked).toMatchObject({ reason: 'lost', by: 'user:ada' });
      expect(await registry.revoke({ device, reason: 'retired', by: 'user:bob' })).toEqual(revoked);
      await expect(registry.setRoles({ device, roles: [], by: 'user:ada' })).rejects.toMatchObject({
        code: 'identity.device_revoked',
      });
      await vi.waitFor(() => expect(told).toContainEqual({ kind: 'changed', device }), { timeout: 10_000 });
      expect((await registry.list()).map(({ id }) => id)).toContain(device);
      watching.close();
    });

    test('two nodes that change one device at once do not undo one another', async () => {
      const { device, key } = await house.letIn('busy', 'agent');
      const csrDer = await createSigningRequest(key);
      const deps = { authority: house.authority, registry: openRegistry({ database: far }) };
      const outcomes = await Promise.allSettled([
        renewDevice({ device, csrDer, by: 'agent:busy' }, house),
        renewDevice({ device, csrDer, by: 'agent:busy' }, deps),
        house.registry.revoke({ device, reason: 'lost', by: 'user:ada' }),
      ]);
      // Nobody brings a device back that was revoked, and nobody keeps it from being revoked.
      expect(outcomes[2].status).toBe('fulfilled');
      expect((await house.registry.find(device))?.revoked).toMatchObject({ reason: 'lost' });
    });

    test('uses of a token are counted across nodes', async () => {
      const { device } = await house.letIn('admin', 'operator', ['admin']);
      const by = { principal: 'user:admin', kind: 'operator', device, roles: ['admin'] } as const;
      const near = openTokens(house);
      const { text } = await near.create({
        purpose: 'enrolment',
        kind: 'node',
        principal: 'service:fleet',
        name: 'fleet',
        ttlMs: 60_000,
        uses: 2,
        by,
      });
      const other = openTokens({ authority: house.authority, registry: openRegistry({ database: far }) });
      const requests = await Promise.all([1, 2, 3, 4].map(() => createSigningRequest(createDeviceKey())));
      const outcomes = await Promise.all(
        requests.map((csrDer, at) =>
          (at % 2 === 0 ? near : other).enrol({ text: reveal(text), address: undefined, csrDer, name: `node ${at}` }),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === 'enrolled')).toHaveLength(2);
      expect((await near.list()).find(({ purpose }) => purpose === 'enrolment')?.usesLeft).toBe(0);
    });

    test('a revocation on one node ends what is open on another', async () => {
      await using listener = await listenIn({ ...house, registry: openRegistry({ database: far }) });
      const { device, tls } = await house.letIn('streaming', 'operator');
      const sent = request({
        host: '127.0.0.1',
        port: listener.port,
        path: '/stream',
        agent: false,
        ...clientTlsOptions(tls),
      }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.on('error', () => undefined).resume();
      const ended = new Promise((resolve) => void response.once('close', resolve));
      await house.registry.revoke({ device, reason: 'lost', by: 'user:ada' });
      await ended;
      expect(listener.ended).toEqual(['revoked']);
    });
  });
}

describeIdentityContract('sqlite', async () => ({ remove: async () => undefined }));

describeIdentityContract('postgres', async () => {
  const { url, drop } = await sharedPostgres().createDatabase();
  return { location: { kind: 'postgres', url, poolSize: 4 }, remove: drop };
});
