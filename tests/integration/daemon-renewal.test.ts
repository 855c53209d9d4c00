import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConnectError } from '@connectrpc/connect';
import { DeviceService } from '@palyra/api';
import { connect } from '@palyra/client';
import type { HomeLayout } from '@palyra/config';
import {
  type Credential,
  credentialDirectory,
  LOCAL_CREDENTIALS,
  openAuthority,
  openCredential,
  renewDevice,
  storeCertificate,
} from '@palyra/identity';
import { systemClock } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { runInProcess } from '../e2e/cli-in-process.ts';
import { openIdentity, type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

// Nobody renews anything by hand here: palyrad does it for its own home, and the SDK on a device that joined.

const DAY_MS = 86_400_000;
const [DUE, RUN_OUT] = [
  { certificateMs: 60_000, agoMs: 0 },
  { certificateMs: 7 * DAY_MS, agoMs: 10 * DAY_MS },
];

/** The certificate that the device would have, had it been given one of that life so long ago. */
async function giveOld(home: HomeLayout, directory: string, { certificateMs, agoMs }: typeof DUE): Promise<Credential> {
  const clock = { ...systemClock, now: () => Date.now() - agoMs };
  const authority = openAuthority(home.identity, { clock, lifetimes: { certificateMs } });
  const { registry, close } = await openIdentity(home);
  const { device, key } = openCredential(directory);
  const { publicKey } = key;
  storeCertificate(directory, await renewDevice({ device, publicKey, by: 'user:ada' }, { authority, registry }));
  await close();
  return openCredential(directory);
}

let palyrad: PalyradProcess;
const before: Record<string, Credential> = {};
const keyOf = (home: HomeLayout, name: (typeof LOCAL_CREDENTIALS)[number]) =>
  join(credentialDirectory(home.identity, name), 'device.key');

beforeAll(async () => {
  palyrad = await startPalyrad({
    async prepare(home) {
      for (const name of LOCAL_CREDENTIALS) {
        const old = name === 'operator' ? RUN_OUT : DUE;
        before[name] = await giveOld(home, credentialDirectory(home.identity, name), old);
        // palyrad has no use for the keys: neither the operator's, which it must not hold, nor the agent's.
        renameSync(keyOf(home, name), join(home.root, `${name}.key`));
      }
    },
  });
  declareLongLived(palyrad.child.pid ?? 0);
  for (const name of LOCAL_CREDENTIALS) renameSync(join(palyrad.home.root, `${name}.key`), keyOf(palyrad.home, name));
});
afterAll(() => palyrad[Symbol.asyncDispose]());

test('both credentials of the home are good as soon as palyrad listens, and no key was opened for it', async () => {
  for (const name of LOCAL_CREDENTIALS) {
    const now = openCredential(credentialDirectory(palyrad.home.identity, name));
    expect(now.device).toBe(before[name]?.device);
    expect(now.notAfter).toBeGreaterThan(Date.now() + 6 * DAY_MS);
    expect(await palyrad.client(DeviceService, name).whoAmI({})).toMatchObject({ deviceId: now.device });
  }
  // With overlap: what was due and has not run out stays good until it does.
  const old = before['local-agent'] as Credential;
  expect(await palyrad.client(DeviceService, old).whoAmI({})).toMatchObject({ deviceId: old.device });
  await expect(palyrad.client(DeviceService, before['operator'] as Credential).whoAmI({})).rejects.toBeInstanceOf(
    ConnectError,
  );
});

const whoAmI = async (directory: string) => {
  using client = await connect({ address: palyrad.address, device: directory });
  return await client.devices.whoAmI();
};
const directoryOf = (name: string) => join(palyrad.home.root, '..', `device-${name}`);
const certificateOf = (name: string) => readFileSync(join(directoryOf(name), 'device.crt'), 'utf8');

test('a device that joined renews when it connects and is due, once, and keeps its key', async () => {
  await palyrad.letIn('laptop', 'operator', ['approver']);
  const old = await giveOld(palyrad.home, directoryOf('laptop'), DUE);
  expect(await whoAmI(directoryOf('laptop'))).toMatchObject({ device_id: old.device });
  const now = openCredential(directoryOf('laptop'));
  expect([now.device, now.tls.key]).toEqual([old.device, old.tls.key]);
  expect(now.notAfter).toBeGreaterThan(Date.now() + 6 * DAY_MS);
  await whoAmI(directoryOf('laptop'));
  expect(certificateOf('laptop')).toBe(now.tls.certificate);
  expect(await palyrad.client(DeviceService, old).whoAmI({})).toMatchObject({ deviceId: old.device });
});

test('a device that stays connected renews when it becomes due, and not after it has left', async () => {
  await palyrad.letIn('server', 'agent', ['agent']);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    {
      using client = await connect({ address: palyrad.address, device: directoryOf('server') });
      await client.devices.whoAmI();
      const old = await giveOld(palyrad.home, directoryOf('server'), DUE);
      vi.advanceTimersByTime(10 * 60_000);
      await vi.waitFor(() => expect(certificateOf('server')).not.toBe(old.tls.certificate), { timeout: 10_000 });
      expect(openCredential(directoryOf('server')).notAfter).toBeGreaterThan(Date.now() + 6 * DAY_MS);
    }
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a device that was off for weeks comes back as the page says, and by itself it does not', async () => {
  await palyrad.letIn('drawer', 'agent', ['agent']);
  const { device, tls } = await giveOld(palyrad.home, directoryOf('drawer'), RUN_OUT);
  const directory = directoryOf('drawer');
  await expect(whoAmI(directory)).rejects.toMatchObject({ code: 'client.credential_refused' });
  expect(certificateOf('drawer')).toBe(tls.certificate);
  execFileSync('openssl', ['req', '-new', '-key', 'device.key', '-subj', '/CN=palyra', '-out', 'device.csr'], {
    cwd: directory,
  });
  const { exit, out } = await runInProcess({
    args: ['device', 'renew', device, '--csr', join(directory, 'device.csr'), '--json'],
    input: '',
    cwd: palyrad.root,
    variables: { PALYRA_HOME: palyrad.home.root },
  });
  expect(exit).toBe(0);
  const { certificate, authorities } = JSON.parse(out) as { certificate: string; authorities: string };
  writeFileSync(join(directory, 'device.crt'), certificate);
  writeFileSync(join(directory, 'authorities.crt'), authorities);
  expect(await whoAmI(directory)).toMatchObject({ device_id: device, principal: 'agent:drawer', roles: ['agent'] });
});

test('one that was revoked, or has another key than it says, gets nothing', async () => {
  const lost = await palyrad.letIn('lost', 'operator', ['admin']);
  const old = await giveOld(palyrad.home, directoryOf('lost'), DUE);
  await palyrad.revoke(lost);
  await expect(whoAmI(directoryOf('lost'))).rejects.toMatchObject({
    code: expect.stringMatching(/^(?:client|identity)\./),
  });
  expect(certificateOf('lost')).toBe(old.tls.certificate);
  expect(existsSync(join(directoryOf('lost'), 'device.key'))).toBe(true);
});
