import { type Duplex, duplexPair } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../create-sandbox.ts';
import type { Gate, GateProgram } from '../gate.ts';
import { encodeFrame } from '../launcher/wire.ts';
import { notLetGo } from '../may-begin.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../profile.ts';
import type { RunOptions } from '../run-job.ts';
import type { Ran, RunResult } from '../run-result.ts';
import { SandboxError } from '../sandbox-error.ts';
import { createMessageReader, FROM_HOST, faultOf, TO_HOST } from './host-messages.ts';
import { encodeValue } from './plain-values.ts';
import { type ReachedSandbox, reachSandbox } from './reach-sandbox.ts';
import { type SandboxServer, serveSandbox } from './serve-sandbox.ts';

const COMMAND = { argv: ['cat'] };
const PROFILE: SandboxProfile = {
  tier: 'C',
  workspace: { root: '/work', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: 'any',
  interpreters: 'allowed',
  egress: { mode: 'strict', hosts: [] },
  toolchains: 'none',
  unixSockets: 'refused',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: [],
  startedFor: 'agent',
};
const ABOUT = { bubblewrap: '/usr/bin/bwrap', madeUp: [] } as unknown as Sandbox['about'];
const REFUSAL = { kind: 'refused', code: 'sandbox.unsupported', message: 'No.', fix: 'Yes.' } as const;
const OPENING = { operator: { path: '', home: '', palyraHome: '', environment: {} } };

function ran(stdout: string): Ran {
  return {
    executor: 'test',
    enforcement: { fileSystem: 'isolated', network: 'isolated' },
    output: { stdout: Buffer.from(stdout), stderr: Buffer.alloc(0) },
    usage: { wallMs: 1, userMs: 1, systemMs: 1, maxRssBytes: 1, outputBytes: stdout.length },
    facts: undefined,
    pooled: false,
    protectedChanged: [],
    startedAt: 1,
    endedAt: 2,
  };
}

interface Reached extends ReachedSandbox {
  /** The other process is gone. */
  die(): void;
}

/** Both ends in one process; what runs is what the test says. */
async function reach(
  run: (options: RunOptions) => Promise<RunResult>,
  changes: Partial<Sandbox> = {},
): Promise<Reached> {
  const [ours, theirs] = duplexPair();
  const sandbox: Sandbox = {
    about: ABOUT,
    openGate: () => Promise.reject(new SandboxError('sandbox.gate_closed', 'No gate.')),
    plan: async () => REFUSAL,
    bind: async () => REFUSAL,
    run: (_command, _profile, options = {}) => run(options),
    warmed: async () => 3,
    close: async () => {},
    ...changes,
  };
  serveOn(theirs, sandbox);
  const reached = await reachSandbox(ours, { opening: OPENING, logger: { error: () => {} } });
  return { ...reached, die: () => void ours.destroy() };
}

function serveOn(channel: Duplex, sandbox: Sandbox): void {
  const server: SandboxServer = serveSandbox(sandbox, channel);
  const read = createMessageReader();
  channel.on('data', (chunk: Buffer) => {
    for (const frame of read(chunk)) {
      if (frame.kind === TO_HOST.open) channel.write(encodeFrame(FROM_HOST.opened, 0, encodeValue(sandbox.about)));
      else server.hear(frame);
    }
  });
}

/** What a tool like `cat` would do with input and output. */
async function cat({ input = [], onOutput, onStart, signal }: RunOptions): Promise<RunResult> {
  if (signal?.aborted === true) return { kind: 'cancelled', ...ran('') };
  onStart?.({ facts: {} as never, resize: () => {}, signal: () => {} });
  const taken: string[] = [];
  try {
    for await (const piece of input) {
      taken.push(String(piece));
      await onOutput?.('stdout', piece);
    }
  } catch {
    return { kind: 'cancelled', ...ran(taken.join('')) };
  }
  return { kind: 'completed', exitCode: 0, ...ran(taken.join('')) };
}

test('answers come as they are given, also the facts', async () => {
  const { sandbox } = await reach(cat);
  expect(sandbox.about).toEqual(ABOUT);
  expect(await sandbox.plan(COMMAND, PROFILE)).toEqual(REFUSAL);
  expect(await sandbox.bind(COMMAND, PROFILE)).toEqual(REFUSAL);
  expect(await sandbox.warmed()).toBe(3);
});

test('input goes in piece by piece, output comes in order, and the result last', async () => {
  const { sandbox } = await reach(cat);
  const heard: string[] = [];
  const pieces = ['one ', 'two ', 'three'];
  const result = await sandbox.run(COMMAND, PROFILE, {
    input: pieces.map((text) => Buffer.from(text)),
    onStart: () => heard.push('started'),
    onOutput: (stream, bytes) => void heard.push(`${stream} ${Buffer.from(bytes).toString()}`),
  });
  expect(heard).toEqual(['started', ...pieces.map((text) => `stdout ${text}`)]);
  expect(result).toEqual({ kind: 'completed', exitCode: 0, ...ran('one two three') });
});

test('a command that is held there begins when it is let go here, and is told so when it never will be', async () => {
  const order: string[] = [];
  const held = async ({ mayBegin, signal }: RunOptions): Promise<RunResult> => {
    order.push('made');
    const ended = new Promise<'cancelled'>((resolve) =>
      signal?.addEventListener('abort', () => resolve('cancelled'), { once: true }),
    );
    const word = mayBegin?.then(
      () => 'completed' as const,
      () => 'refused' as const,
    );
    const how = (await Promise.race([word, ended])) ?? 'refused';
    order.push(how);
    if (how === 'refused') return notLetGo();
    return how === 'completed' ? { kind: how, exitCode: 0, ...ran('') } : { kind: how, ...ran('') };
  };
  const { sandbox } = await reach(held);
  const word = Promise.withResolvers<void>();
  const running = sandbox.run(COMMAND, PROFILE, { mayBegin: word.promise });
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  expect(order).toEqual(['made']);
  word.resolve();
  expect((await running).kind).toBe('completed');
  // Nobody cancelled it, and whoever asked may ask again: its proxy died, for example.
  const refused = sandbox.run(COMMAND, PROFILE, { mayBegin: Promise.reject(new Error('Not recorded.')) });
  expect(await refused).toMatchObject({ kind: 'refused', code: 'sandbox.not_begun' });
  const stop = new AbortController();
  const options = { mayBegin: new Promise<void>(() => undefined), signal: stop.signal };
  const givenUp = sandbox.run(COMMAND, PROFILE, options);
  stop.abort();
  expect((await givenUp).kind).toBe('cancelled');
  expect(order).toEqual(['made', 'completed', 'made', 'refused', 'made', 'cancelled']);
});

test('one that was not let go when the other process went has not run, and is not called lost', async () => {
  const { sandbox, die } = await reach(() => new Promise(() => undefined));
  const word = Promise.withResolvers<void>();
  const held = sandbox.run(COMMAND, PROFILE, { mayBegin: new Promise(() => undefined) });
  const letGo = sandbox.run(COMMAND, PROFILE, { mayBegin: word.promise });
  word.resolve();
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  die();
  expect([(await held).kind, (await letGo).kind]).toEqual(['failed_to_start', 'lost']);
});

test('a tool waits while its output is not taken', async () => {
  const order: string[] = [];
  const { sandbox } = await reach(async ({ onOutput }) => {
    await onOutput?.('stdout', Buffer.from('first'));
    order.push('the tool goes on');
    return { kind: 'completed', exitCode: 0, ...ran('') };
  });
  const onOutput = async () => {
    await new Promise(setImmediate);
    order.push('taken');
  };
  await sandbox.run(COMMAND, PROFILE, { onOutput });
  expect(order).toEqual(['taken', 'the tool goes on']);
});

test('a source that fails is not taken for its end', async () => {
  const { sandbox } = await reach(cat);
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    throw new Error('gone');
  }
  expect(await sandbox.run(COMMAND, PROFILE, { input: broken() })).toMatchObject({ kind: 'cancelled' });
});

test.each(['before it is asked', 'by its signal', 'by a caller that throws', 'by a listener that throws'])(
  'cancelled %s',
  async (how) => {
    const { sandbox } = await reach(async ({ signal, onStart, onOutput }) => {
      if (signal?.aborted === true) return { kind: 'cancelled', ...ran('') };
      const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
      onStart?.({ facts: {} as never, resize: () => {}, signal: () => {} });
      void onOutput?.('stderr', Buffer.from('text'));
      await aborted;
      return { kind: 'cancelled', ...ran('') };
    });
    const abort = new AbortController();
    if (how === 'before it is asked') abort.abort();
    const fail = () => {
      throw new Error('no more');
    };
    const result = await sandbox.run(COMMAND, PROFILE, {
      signal: abort.signal,
      onStart: how === 'by a caller that throws' ? fail : how === 'by its signal' ? () => abort.abort() : () => {},
      ...(how === 'by a listener that throws' ? { onOutput: fail } : {}),
    });
    expect(result).toMatchObject({ kind: 'cancelled' });
  },
);

test('what throws over there is refused here, and a run of which nothing is known is lost', async () => {
  const fail = () => Promise.reject(new Error('a fault of ours'));
  const { sandbox } = await reach(fail, { plan: fail });
  expect(await sandbox.plan(COMMAND, PROFILE)).toMatchObject({ kind: 'refused', code: 'sandbox.launcher_failed' });
  expect(await sandbox.run(COMMAND, PROFILE)).toMatchObject({ kind: 'lost' });
});

test('when the other process is gone, what ran is lost and everything else refused', async () => {
  const begun = Promise.withResolvers<void>();
  const { sandbox, lost, die } = await reach(() => {
    begun.resolve();
    return new Promise(() => {});
  });
  const running = sandbox.run(COMMAND, PROFILE);
  await begun.promise;
  die();
  const gone = { code: 'sandbox.launcher_failed' };
  expect(await running).toMatchObject({ kind: 'lost', facts: undefined });
  expect(await lost).toMatchObject(gone);
  expect(await sandbox.run(COMMAND, PROFILE)).toMatchObject({ kind: 'failed_to_start', ...gone });
  expect(await sandbox.plan(COMMAND, PROFILE)).toMatchObject({ kind: 'refused', ...gone });
  expect(await sandbox.bind(COMMAND, PROFILE)).toMatchObject({ kind: 'refused', ...gone });
});

describe('a gate over there', () => {
  const PROGRAM: GateProgram = { argv: ['/bin/node', 'x'], environment: { A: '1' } };

  /** Says what it is told, until it is closed. */
  function echoGate() {
    const ended = Promise.withResolvers<void>();
    const listeners: ((bytes: Uint8Array) => void)[] = [];
    const gate: Gate = {
      ended: ended.promise,
      onOutput: (listener) => void listeners.push(listener),
      async write(bytes) {
        for (const listener of listeners) listener(Buffer.concat([Buffer.from('heard '), bytes]));
      },
      async close() {
        ended.resolve();
      },
    };
    return gate;
  }

  test('is spoken to, is a way out by its label, and ends', async () => {
    const asked: unknown[] = [];
    const gate = echoGate();
    const openGate = async (program: GateProgram) => {
      asked.push(program);
      return gate;
    };
    const run = async ({ wayOut }: RunOptions): Promise<RunResult> => {
      asked.push([wayOut?.label, wayOut?.gate === gate, wayOut?.authority]);
      return { kind: 'completed', exitCode: 0, ...ran('') };
    };
    const { sandbox } = await reach(run, { openGate });
    const opened = await sandbox.openGate(PROGRAM);
    const heard: string[] = [];
    opened.onOutput((bytes) => heard.push(Buffer.from(bytes).toString()));
    await Promise.all([opened.write(Buffer.from('one')), opened.write(Buffer.from('two'))]);
    await sandbox.run(COMMAND, PROFILE, { wayOut: { gate: opened, label: 'mine', authority: 'PEM' } });
    expect([heard, asked]).toEqual([
      ['heard one', 'heard two'],
      [PROGRAM, ['mine', true, 'PEM']],
    ]);

    const stranger = { ...opened };
    const closed = { kind: 'refused', code: 'sandbox.gate_closed' };
    expect(await sandbox.run(COMMAND, PROFILE, { wayOut: { gate: stranger, label: 'x' } })).toMatchObject(closed);
    await opened.close();
    await opened.ended;
    await expect(opened.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'sandbox.gate_closed' });
    expect(await sandbox.run(COMMAND, PROFILE, { wayOut: { gate: opened, label: 'x' } })).toMatchObject(closed);
    expect(asked).toHaveLength(2);
  });

  test('is told of the end of a command that has it, once, before the result; whoever throws then changes nothing', async () => {
    const looking = Promise.withResolvers<void>();
    const run = async ({ onEnd }: RunOptions): Promise<RunResult> => {
      onEnd?.();
      await looking.promise;
      return { kind: 'completed', exitCode: 0, ...ran('') };
    };
    const { sandbox } = await reach(run, { openGate: async () => echoGate() });
    const wayOut = { gate: await sandbox.openGate(PROGRAM), label: 'mine' };
    const told: string[] = [];
    const onEnd = () => {
      told.push('dead');
      looking.resolve();
      throw new Error('no more');
    };
    const result = await sandbox.run(COMMAND, PROFILE, { wayOut, onEnd });
    expect([result.kind, told]).toEqual(['completed', ['dead']]);
    // Others are not spoken of: every word between the processes costs both.
    await sandbox.run(COMMAND, PROFILE, { onEnd });
    expect(told).toEqual(['dead']);
  });

  test('says why it cannot be opened, and is gone with the process that had it', async () => {
    const { sandbox } = await reach(cat);
    await expect(sandbox.openGate(PROGRAM)).rejects.toMatchObject({ code: 'sandbox.gate_closed', message: 'No gate.' });
    const other = await reach(cat, { openGate: async () => echoGate() });
    const opened = await other.sandbox.openGate(PROGRAM);
    other.die();
    await opened.ended;
    await expect(other.sandbox.openGate(PROGRAM)).rejects.toMatchObject({ code: 'sandbox.launcher_failed' });
  });

  test('plans and bindings are told whether there will be one', async () => {
    const asked: unknown[] = [];
    const note: Sandbox['plan'] = async (_command, _profile, options) => {
      asked.push(options);
      return REFUSAL;
    };
    const { sandbox } = await reach(cat, { plan: note, bind: note as unknown as Sandbox['bind'] });
    await sandbox.plan(COMMAND, PROFILE, { wayOut: true });
    await sandbox.bind(COMMAND, PROFILE, { wayOut: true });
    await sandbox.plan(COMMAND, PROFILE);
    expect(asked).toEqual([{ wayOut: true }, { wayOut: true }, {}]);
  });
});

test('closing waits until everything over there is closed', async () => {
  const order: string[] = [];
  const close = async () => {
    await new Promise(setImmediate);
    order.push('closed over there');
  };
  const { sandbox } = await reach(cat, { close });
  await sandbox.close();
  expect(order).toEqual(['closed over there']);
});

test('what cannot be opened says why', async () => {
  const [ours, theirs] = duplexPair();
  theirs.on('data', () =>
    theirs.write(encodeFrame(FROM_HOST.failed, 0, encodeValue(faultOf(new Error('no launcher'))))),
  );
  const opening = reachSandbox(ours, { opening: OPENING, logger: { error: () => {} } });
  await expect(opening).rejects.toMatchObject({ code: 'sandbox.launcher_failed', message: 'no launcher' });
});

describe('what makes no sense', () => {
  /** Answers every question with these bytes. */
  async function reachOneThatSays(kind: number, payload: Buffer) {
    const [ours, theirs] = duplexPair();
    const read = createMessageReader();
    theirs.on('data', (chunk: Buffer) => {
      for (const { kind: asked, job } of read(chunk)) {
        if (asked === TO_HOST.open) theirs.write(encodeFrame(FROM_HOST.opened, 0, encodeValue(ABOUT)));
        else theirs.write(encodeFrame(kind, job, payload));
      }
    });
    const logged: string[] = [];
    const logger = { error: (_fields: object, message: string) => void logged.push(message) };
    return { ...(await reachSandbox(ours, { opening: OPENING, logger })), logged };
  }

  test.each([
    ['an answer that is no text of ours', FROM_HOST.answer, Buffer.from('{')],
    ['a fault of no kind', FROM_HOST.fault, Buffer.from('["map"]')],
    ['a log line that is none', FROM_HOST.log, Buffer.from('null')],
  ])('%s ends the talk: what ran is lost, and everything else refused', async (_name, kind, payload) => {
    const { sandbox, lost, logged } = await reachOneThatSays(kind, payload);
    expect(await sandbox.run(COMMAND, PROFILE)).toMatchObject({ kind: 'lost' });
    expect(await lost).toMatchObject({ code: 'sandbox.launcher_failed' });
    expect(await sandbox.plan(COMMAND, PROFILE)).toMatchObject({ kind: 'refused' });
    expect(logged).toEqual(['The process that starts tools is not understood, and is left.']);
  });

  test('an outcome that cannot be told is lost, and nothing else', async () => {
    const untold = { kind: 'completed', exitCode: 0, ...ran(''), facts: () => 'too much' };
    const { sandbox } = await reach(async () => untold as unknown as RunResult);
    expect(await sandbox.run(COMMAND, PROFILE)).toMatchObject({ kind: 'lost' });
    expect(await sandbox.warmed()).toBe(3);
  });
});

test('who asks is killed before all was heard: everything is closed as when it goes in peace', async () => {
  const [, theirs] = duplexPair();
  theirs.on('error', () => {});
  const closed: string[] = [];
  const sandbox = { close: async () => void closed.push('closed') } as unknown as Sandbox;
  const { over } = serveSandbox(sandbox, theirs);
  theirs.destroy(new Error('read ECONNRESET'));
  await over;
  expect(closed).toEqual(['closed']);
});
