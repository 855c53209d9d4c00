import type { EgressCall } from '@palyra/egress';
import { expect, test } from 'vitest';
import type { ProcessNetwork } from '../tools/process-network.ts';
import { type CallNetworkDeps, readyNetwork } from './call-network.ts';
import { DEFAULT_OPERATOR_NETWORK } from './operator-network.ts';

const NETWORK: ProcessNetwork = {
  kind: 'network',
  mode: 'strict',
  rules: [],
  hosts: [],
  privateHosts: [],
  unlisted: 'ask',
  isProxied: true,
  isWished: false,
};
const CALL = {
  id: 'call',
  toolName: 'palyra.process.run',
  run: { caller: { actor: 'agent:coder' }, workspace: { id: 'work' } },
} as never;
const TARGET = { host: 'example.org', port: 443 } as never;
const NOBODY = new AbortController().signal;

function watched() {
  const opened: EgressCall[] = [];
  let closed = 0;
  const egress: NonNullable<CallNetworkDeps['egress']> = {
    async open(call) {
      opened.push(call);
      const close = async () => {
        closed += 1;
        return [];
      };
      return { gate: {} as never, label: call.label, caPem: undefined, attempts: () => [], close };
    },
  };
  return { opened, closed: () => closed, deps: { egress, operator: DEFAULT_OPERATOR_NETWORK } };
}

test('a way out that nobody took is closed', async () => {
  const { opened, closed, deps } = watched();
  readyNetwork(NETWORK, CALL, deps)?.[Symbol.dispose]();
  await new Promise(setImmediate);
  expect([opened.length, closed()]).toEqual([1, 1]);
});

test('one that was taken is closed by who took it, and once', async () => {
  const { opened, closed, deps } = watched();
  const ready = readyNetwork(NETWORK, CALL, deps);
  const network = await ready?.take({});
  ready?.[Symbol.dispose]();
  await new Promise(setImmediate);
  expect([opened.length, closed()]).toEqual([1, 0]);

  if (network?.kind !== 'open') throw new Error('It is not open.');
  const used = await Promise.all([network.end(), network.end()]);
  expect([used[0], closed()]).toEqual([{ mode: 'strict', hadWayOut: true, attempts: [] }, 1]);
});

test('nobody is asked about a host before the call has begun; then it is whoever decides for the call', async () => {
  const { opened, deps } = watched();
  const ready = readyNetwork(NETWORK, CALL, deps);
  await new Promise(setImmediate);
  await expect(opened[0]?.ask?.(TARGET, NOBODY)).rejects.toMatchObject({ code: 'egress.closed' });
  await ready?.take({ connect: async () => ({ kind: 'allowed' }) });
  expect(await opened[0]?.ask?.(TARGET, NOBODY)).toEqual({ kind: 'allowed' });
});

test('nothing is opened ahead where credentials are bound, nor where there is no way out', () => {
  const { opened, deps } = watched();
  expect(readyNetwork(NETWORK, CALL, { ...deps, credentials: async () => undefined })).toBeUndefined();
  expect(readyNetwork({ ...NETWORK, unlisted: 'deny' }, CALL, deps)).toBeUndefined();
  expect(opened).toEqual([]);
});
