// T-35: a stream of palyrad's API that is open when its device is revoked; whoever has no certificate, one of another
// authority, or one that was revoked before.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ConnectError } from '@connectrpc/connect';
import { DeviceService, ToolService } from '@palyra/api';
import { type Credential, openCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import { identityHouse } from './identity-house.ts';

let palyrad: PalyradProcess;
beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
});
afterAll(() => palyrad[Symbol.asyncDispose]());

async function openStream(as: Credential): Promise<{ readonly ended: Promise<unknown> }> {
  const events = palyrad.client(DeviceService, as).pairDevice({ kind: 'agent', name: 'never' })[Symbol.asyncIterator]();
  expect((await events.next()).value?.event.case).toBe('invitation');
  return { ended: events.next().catch((error: unknown) => error) };
}

test('the stream ends with the device, and no call is served any more, to nobody else’s loss', async () => {
  const [lost, kept] = [
    await palyrad.letIn('lost', 'operator', ['admin']),
    await palyrad.letIn('kept', 'operator', ['admin']),
  ];
  const [ending, staying] = [await openStream(lost), await openStream(kept)];
  await palyrad.revoke(lost);
  expect(await ending.ended).toBeInstanceOf(ConnectError);
  await expect(palyrad.client(ToolService, lost).listTools({})).rejects.toBeInstanceOf(ConnectError);
  expect(await Promise.race([staying.ended, palyrad.client(ToolService, kept).listTools({})])).toHaveProperty('tools');
  expect(palyrad.log()).toContain('"reason":"revoked"');
});

test('without a certificate, or with one of another authority, nobody gets as far as a request', async () => {
  await using other = await identityHouse();
  const stranger = await other.letIn('stranger', 'operator', ['admin']);
  const { tls } = openCredential(`${palyrad.home.identity}/operator`);
  const posing = { ...stranger, tls: { ...stranger.tls, authorities: tls.authorities } };
  await expect(palyrad.curl('ToolService/ListTools', {}, posing)).rejects.toMatchObject({ code: expect.any(Number) });
  const plain = promisify(execFile)('curl', ['--silent', '--insecure', `https://${palyrad.address}/healthz`]);
  await expect(plain).rejects.toMatchObject({ code: expect.any(Number) });
  const unencrypted = promisify(execFile)('curl', ['--silent', '--fail', `http://${palyrad.address}/healthz`]);
  await expect(unencrypted).rejects.toMatchObject({ code: expect.any(Number) });
});
