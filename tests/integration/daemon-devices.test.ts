import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { join as joinPath } from 'node:path';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { DeviceService, ToolService } from '@palyra/api';
import {
  anonymousTlsOptions,
  clientTlsOptions,
  credentialDirectory,
  DEADLINES,
  joinDevice,
  makeRequest,
  openCredential,
  parseJoinTarget,
} from '@palyra/identity';
import { Secret, secureRandomBytes, systemClock } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
beforeAll(async () => {
  palyrad = await startPalyrad({ config: '[daemon]\ntoken_listen = "127.0.0.1:0"\n' });
  declareLongLived(palyrad.child.pid ?? 0);
});
afterAll(() => palyrad[Symbol.asyncDispose]());

test('everybody learns who they are, by their credential', async () => {
  const agent = palyrad.client(DeviceService, 'local-agent');
  expect(await agent.whoAmI({})).toMatchObject({ principal: 'agent:local', roles: ['agent'] });
  await expect(agent.listDevices({})).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test('a device is revoked by the end of its id, and what it has open ends', async () => {
  const lost = await palyrad.letIn('lost', 'agent', ['agent']);
  const session = connect(`https://${palyrad.address}`, clientTlsOptions(lost.tls));
  session.on('error', () => undefined);
  await once(session, 'connect');
  const ended = once(session, 'close');
  const operator = palyrad.client(DeviceService, 'operator');
  const { device } = await operator.revokeDevice({ deviceId: lost.device.slice(-10), reason: 'lost' });
  expect(device).toMatchObject({ deviceId: lost.device, principal: 'agent:lost', revokedReason: 'lost' });
  await ended;
  const { devices } = await operator.listDevices({});
  expect(devices.map(({ name }) => name)).toEqual(['operator', 'local-agent']);
  expect((await operator.listDevices({ includeRevoked: true })).devices).toHaveLength(3);
  await expect(operator.revokeDevice({ deviceId: 'ZZZZZZ' })).rejects.toMatchObject({ code: Code.NotFound });
});

function withToken(token: string) {
  const { tokens } = JSON.parse(readFileSync(joinPath(palyrad.home.root, 'palyrad.json'), 'utf8')) as {
    tokens: string;
  };
  const { tls } = openCredential(credentialDirectory(palyrad.home.identity, 'operator'));
  const transport = createGrpcTransport({
    baseUrl: `https://${tokens}`,
    nodeOptions: anonymousTlsOptions(tls.authorities),
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return { tools: createClient(ToolService, transport), devices: createClient(DeviceService, transport) };
}

test('a token is for its actions, until it is revoked', async () => {
  const operator = palyrad.client(DeviceService, 'operator');
  const made = await operator.createToken({
    kind: 'agent',
    principal: 'agent:ci',
    actions: ['tool.list'],
    ttlMs: 60_000n,
  });
  const { tools, devices } = withToken(made.token);
  expect((await tools.listTools({})).tools.length).toBeGreaterThan(0);
  await expect(devices.whoAmI({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  await operator.revokeToken({ tokenId: made.tokenId });
  await expect(tools.listTools({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  const { tokens } = await operator.listTokens({});
  expect(tokens).toMatchObject([{ tokenId: made.tokenId, principal: 'agent:ci', active: false }]);
  await expect(withToken('nonsense').tools.listTools({})).rejects.toMatchObject({ code: Code.Unauthenticated });
});

test('nobody makes a token that is wider than they are', async () => {
  const wider = { kind: 'operator', principal: 'user:eve', actions: ['tool.list'], ttlMs: 60_000n };
  await expect(palyrad.client(DeviceService, 'operator').createToken(wider)).rejects.toMatchObject({
    code: Code.PermissionDenied,
  });
  const agent = palyrad.client(DeviceService, 'local-agent');
  await expect(agent.createToken({ ...wider, kind: 'agent', principal: 'agent:eve' })).rejects.toMatchObject({
    code: Code.PermissionDenied,
  });
});

/** As a device does that was given the PIN. */
function join(address: string, pin: string): ReturnType<typeof joinDevice> {
  const { address: target } = parseJoinTarget(address);
  return joinDevice(
    target,
    { means: 'pin', secret: new Secret(pin), name: 'build-03' },
    {
      clock: systemClock,
      randomBytes: secureRandomBytes,
      deadlines: DEADLINES,
      makeRequest,
      onProgress: () => undefined,
    },
  );
}

test('a device is invited, confirmed by whoever invited it and by nobody else, and joins', async () => {
  const operator = palyrad.client(DeviceService, 'operator');
  const other = palyrad.client(DeviceService, await palyrad.letIn('other', 'operator', ['admin']));
  const told: (string | undefined)[] = [];
  const seen: Record<string, unknown> = {};
  let joining: ReturnType<typeof joinDevice> | undefined;
  let invitationId = '';
  for await (const { event } of operator.pairDevice({ kind: 'agent', name: 'build-03' })) {
    told.push(event.case);
    if (event.case !== undefined) seen[event.case] = event.value;
    if (event.case === 'invitation') {
      ({ invitationId } = event.value);
      joining = join(event.value.address, event.value.pin);
      joining.catch(() => undefined);
    }
    if (event.case === 'candidate') {
      const answer = { invitationId, accept: true };
      seen['other'] = await other.confirmPairing(answer).catch(ConnectError.from);
      await operator.confirmPairing(answer);
    }
  }
  expect([told[0], told.at(-1)]).toEqual(['invitation', 'joined']);
  expect(seen).toMatchObject({
    candidate: { name: 'build-03', kind: 'agent', address: '127.0.0.1' },
    other: { code: Code.NotFound },
    joined: { principal: 'agent:build-03', roles: [] },
  });
  expect(await joining).toMatchObject({ kind: 'agent', name: 'build-03' });
});

test('a device that is not confirmed does not join, and nothing stays open behind an invitation', async () => {
  const operator = palyrad.client(DeviceService, 'operator');
  let address = '';
  const pairing = async () => {
    let invitationId = '';
    for await (const { event } of operator.pairDevice({ kind: 'agent', name: 'eve' })) {
      if (event.case === 'invitation') {
        ({ invitationId, address } = event.value);
        join(address, event.value.pin).catch(() => undefined);
      }
      if (event.case === 'candidate') await operator.confirmPairing({ invitationId, accept: false });
    }
  };
  await expect(pairing()).rejects.toMatchObject({ code: Code.FailedPrecondition });
  await expect(join(address, '00000000')).rejects.toMatchObject({ code: 'pairing.unreachable' });
  const waitInVain = async () => {
    const invited = operator.pairDevice({ kind: 'agent', name: 'late' }, { timeoutMs: 2_000 });
    for await (const { event } of invited) if (event.case === 'invitation') ({ address } = event.value);
  };
  await expect(waitInVain()).rejects.toBeInstanceOf(ConnectError);
  await expect.poll(() => join(address, '00000000').catch(({ code }) => code as string)).toBe('pairing.unreachable');
});
