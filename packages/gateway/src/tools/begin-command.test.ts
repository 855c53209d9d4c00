import { type EgressCall, EgressError } from '@palyra/egress';
import { systemClock } from '@palyra/primitives';
import type { RunOptions, RunResult } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import type { ExecuteContext } from '../catalog/tool.ts';
import { DEFAULT_OPERATOR_NETWORK } from '../connections/operator-network.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import { type CommandDeps, readyCommand } from './begin-command.ts';
import type { ProcessNetwork } from './process-network.ts';

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
const TARGET = { host: 'example.org', port: 443 } as never;
const NOBODY = new AbortController().signal;

function callWith(network: ProcessNetwork): PermittedCall {
  const process = { command: { argv: ['true'], cwd: '/' }, profile: {}, network, isAttachable: false };
  return {
    id: 'call',
    toolName: 'palyra.process.run',
    run: { caller: { actor: 'agent:coder' }, workspace: { id: 'work' } },
    proposed: {},
    needsBoundBytes: false,
    plan: { prepared: { process, binding: {} } },
  } as unknown as PermittedCall;
}

/** A sandbox that does as it is told: held, let go, given up. */
function watched() {
  const opened: EgressCall[] = [];
  const happened: string[] = [];
  const open = async (call: EgressCall) => {
    opened.push(call);
    const close = async () => {
      happened.push('way out closed');
      return [];
    };
    return { gate: {} as never, label: call.label, caPem: undefined, attempts: () => [], close };
  };
  const egress: NonNullable<CommandDeps['egress']> = {
    open,
    begin: async (call) => ({ gate: {} as never, label: call.label, opened: open(call) }),
  };
  const run = async (_command: unknown, _profile: unknown, { mayBegin, signal, onOutput }: RunOptions = {}) => {
    happened.push('box made');
    const givenUp = new Promise<'given up'>((resolve) =>
      signal?.addEventListener('abort', () => resolve('given up'), { once: true }),
    );
    const letGo = mayBegin?.then(
      () => 'begun' as const,
      () => 'not let go' as const,
    );
    const how = await Promise.race([letGo, givenUp]);
    happened.push(how ?? 'not held');
    if (how === 'begun') await onOutput?.('stdout', Buffer.from('said'));
    return { kind: 'refused', code: 'sandbox.unsupported', message: 'No.', fix: 'Yes.' } satisfies RunResult;
  };
  const deps = { sandbox: { run } as never, egress, operator: DEFAULT_OPERATOR_NETWORK, clock: systemClock };
  return { opened, happened, deps: deps as CommandDeps };
}

const turns = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

const contextOf = (more: Partial<ExecuteContext> = {}): ExecuteContext => ({ signal: NOBODY, ...more });

test('a command that is ready waits in its box until it is taken; then it runs, and says what it says', async () => {
  const { happened, deps } = watched();
  const ready = readyCommand(callWith(NETWORK), deps);
  await turns();
  expect(happened).toEqual(['box made']);
  const said: string[] = [];
  const onOutput = (_: string, bytes: Uint8Array) => void said.push(Buffer.from(bytes).toString());
  const begun = await ready?.take(contextOf({ onOutput }));
  ready?.[Symbol.dispose]();
  expect(begun?.kind === 'begun' && (await begun.result)).toMatchObject({ code: 'sandbox.unsupported' });
  expect(happened).toEqual(['box made', 'begun', 'way out closed']);
  expect(said).toEqual(['said']);
});

test('one that nobody took is given up, box and way out', async () => {
  const { happened, deps } = watched();
  const ready = readyCommand(callWith(NETWORK), deps);
  await turns();
  ready?.[Symbol.dispose]();
  await turns();
  expect(happened).toEqual(['box made', 'given up', 'way out closed']);
});

test('what ends the call ends it, with its reason', async () => {
  const { happened, deps } = watched();
  const stopped: RunResult = {
    kind: 'cancelled',
    executor: 'test',
    enforcement: { fileSystem: 'isolated', network: 'isolated' },
    output: { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) },
    usage: { wallMs: 1, userMs: 1, systemMs: 1, maxRssBytes: 1, outputBytes: 0 },
    facts: undefined,
    pooled: false,
    protectedChanged: [],
    startedAt: 1,
    endedAt: 2,
  };
  const run: CommandDeps['sandbox']['run'] = async (...asked) => {
    await deps.sandbox.run(...asked);
    return stopped;
  };
  const sandbox = { ...deps.sandbox, run };
  const endOf = async (reason: unknown) => {
    const ready = readyCommand(callWith(NETWORK), { ...deps, sandbox });
    const stop = new AbortController();
    stop.abort(reason);
    const begun = await ready?.take(contextOf({ signal: stop.signal }));
    if (begun?.kind !== 'begun') throw new Error('It did not begin.');
    return (await begun.result).kind;
  };
  expect(await endOf(new DOMException('Late.', 'TimeoutError'))).toBe('timed_out');
  expect(await endOf('cancelled')).toBe('cancelled');
  expect(happened).toContain('way out closed');
});

test('one whose box fails while its intent is being recorded is a fault of its call, and of nobody else', async () => {
  const { deps } = watched();
  const unheard: unknown[] = [];
  const hear = (reason: unknown) => void unheard.push(reason);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', hear);
  try {
    const run = async () => Promise.reject(new Error('The sandbox fails.'));
    const ready = readyCommand(callWith(NETWORK), { ...deps, sandbox: { run } as never });
    await turns();
    const begun = await ready?.take(contextOf());
    if (begun?.kind !== 'begun') throw new Error('It did not begin.');
    await expect(begun.result).rejects.toThrow('The sandbox fails.');
    expect(unheard).toEqual([]);
  } finally {
    process.removeListener('unhandledRejection', hear);
    for (const other of others) process.on('unhandledRejection', other);
  }
});

test('nobody is asked about a host before the call has begun; then it is whoever decides for the call', async () => {
  const { opened, deps } = watched();
  const ready = readyCommand(callWith(NETWORK), deps);
  await turns();
  await expect(opened[0]?.ask?.(TARGET, NOBODY)).rejects.toMatchObject({ code: 'egress.closed' });
  await ready?.take(contextOf({ connect: async () => ({ kind: 'allowed' }) }));
  expect(await opened[0]?.ask?.(TARGET, NOBODY)).toEqual({ kind: 'allowed' });
});

test('nothing is made ahead where credentials are bound for its way out', () => {
  const { happened, deps } = watched();
  const credentials = async () => undefined;
  expect(readyCommand(callWith(NETWORK), { ...deps, credentials })).toBeUndefined();
  expect(happened).toEqual([]);
  const offline = readyCommand(callWith({ ...NETWORK, unlisted: 'deny' }), { ...deps, credentials });
  expect(offline).toBeDefined();
  offline?.[Symbol.dispose]();
});

test('the box is made while the proxy is being told of the call, and the command waits for that, too', async () => {
  const { happened, deps } = watched();
  const told = Promise.withResolvers<void>();
  const egress: CommandDeps['egress'] = {
    open: async () => Promise.reject(new Error('Not asked.')),
    async begin(call) {
      const begun = await deps.egress?.begin(call);
      return { gate: {} as never, label: call.label, opened: told.promise.then(() => begun?.opened) as never };
    },
  };
  const ready = readyCommand(callWith(NETWORK), { ...deps, egress });
  await turns();
  const begun = await ready?.take(contextOf());
  await turns();
  expect(happened).toEqual(['box made']);
  told.resolve();
  expect(begun?.kind === 'begun' && (await begun.result)).toMatchObject({ code: 'sandbox.unsupported' });
  expect(happened).toEqual(['box made', 'begun', 'way out closed']);
});

test('a proxy that dies before it knows of the call is asked anew, and nothing has begun before', async () => {
  const { happened, opened, deps } = watched();
  const begin: NonNullable<CommandDeps['egress']>['begin'] = async ({ label }) => {
    const lost = Promise.reject(new EgressError('egress.gate_failed', 'It died.'));
    lost.catch(() => undefined);
    return { gate: {} as never, label, opened: lost };
  };
  const egress = { begin, open: async (call: EgressCall) => deps.egress?.open(call) as never };
  const ready = readyCommand(callWith(NETWORK), { ...deps, egress });
  await turns();
  const begun = await ready?.take(contextOf());
  expect(begun?.kind === 'begun' && (await begun.result)).toMatchObject({ code: 'sandbox.unsupported' });
  expect([happened, opened.length]).toEqual([['box made', 'not let go', 'box made', 'begun', 'way out closed'], 1]);
});

test('what the call wishes for and no proxy gives refuses it', async () => {
  const { happened, deps } = watched();
  const none = async () => Promise.reject(new EgressError('egress.gate_failed', 'It does not start.'));
  const ready = readyCommand(callWith({ ...NETWORK, isWished: true }), {
    ...deps,
    egress: { begin: none, open: none },
  });
  await turns();
  expect(await ready?.take(contextOf())).toMatchObject({ kind: 'refused', code: 'egress.gate_failed' });
  expect(happened).toEqual([]);
});

test('what would have told its output is ended when no other proxy comes in place of one that died', async () => {
  const { happened, deps } = watched();
  let open = 0;
  const redactStream = () => {
    open += 1;
    const end = () => {
      open -= 1;
      return Buffer.alloc(0);
    };
    return { write: (bytes: Uint8Array) => bytes, end };
  };
  const gone = async () => Promise.reject(new EgressError('egress.gate_failed', 'It does not start.'));
  const begin: NonNullable<CommandDeps['egress']>['begin'] = async ({ label }) => {
    const opened = gone();
    opened.catch(() => undefined);
    return { gate: {} as never, label, opened };
  };
  const ready = readyCommand(callWith({ ...NETWORK, isWished: true }), {
    ...deps,
    egress: { begin, open: gone },
    redact: { redactStream } as never,
  });
  const begun = await ready?.take(contextOf());
  expect(begun?.kind === 'begun' && (await begun.result)).toMatchObject({ code: 'egress.gate_failed' });
  expect([happened, open]).toEqual([['box made', 'not let go'], 0]);
});
