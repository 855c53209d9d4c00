import type { ConnectRouter } from '@connectrpc/connect';
import { OutputStream, ToolService } from '@palyra/api';
import type { CallOptions, CallOutput, RunEvent } from '@palyra/client';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failure, type ScriptedPalyrad, startScriptedPalyrad } from './scripted-palyrad.ts';
import type { Script } from './scripted-run.ts';

/** Prints its input a letter at a time, alternating between its two streams. */
const spell: Script = ({ proposal, print }) => {
  const { say } = JSON.parse(proposal.inputJson) as { say: string };
  for (const [at, letter] of say.split('').entries())
    print(letter, at % 2 === 0 ? OutputStream.STDOUT : OutputStream.STDERR);
  return 0;
};

/** Until it is cancelled. */
const sleep: Script = ({ signal }) =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(1));
  });

const RESULT = {
  run_id: '01M0000000000000000000RUNS',
  call_id: 'call-of-k',
  tool: 'palyra.echo',
  decision: { kind: 'allow', policy_ids: ['in-the-box'], reason_code: 'allowed', reason: '' },
  outcome: { kind: 'completed', exit_code: 0, stdout: '', stderr: '' },
  attestation: {
    attestation_id: 'attestation-of-k',
    execution_sha256: '',
    executor: '',
    sandbox_enforcement: '',
    coverage: '',
    policy_snapshot_sha256: '',
    journal_seq: 7,
  },
};

describe('a run', () => {
  test('is begun, makes a call and ends', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const run = await palyrad.client().startRun({ workspace: '/w' });
    expect([run.id, run.session]).toEqual([palyrad.run.id, 'session']);
    expect(await run.call('palyra.echo', { say: 'hi' }, { key: 'k' })).toEqual(RESULT);
    await run.end();
    expect(palyrad.run.isOver).toBe(true);
    await expect(run.call('palyra.echo', {})).rejects.toMatchObject({ code: 'client.run_over' });
  });

  test('is ended by leaving its scope, and ending twice is fine', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    {
      await using run = await palyrad.client().startRun();
      await run.end();
    }
    expect(palyrad.run.isOver).toBe(true);
  });

  test('is cancelled by leaving its scope with a call under way', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    let call: Promise<unknown> | undefined;
    {
      await using run = await palyrad.client().startRun();
      const started = Promise.withResolvers<void>();
      call = run.call('palyra.sleep', {}, { onEvent: () => started.resolve() });
      await started.promise;
    }
    expect(await call).toMatchObject({ outcome: { kind: 'cancelled' } });
    expect(palyrad.run.isOver).toBe(true);
  });

  test('makes calls at the same time, each with a key of its own', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const run = await palyrad.client().startRun();
    const results = await Promise.all(['a', 'b', 'c'].map((say) => run.call('palyra.echo', { say })));
    expect(new Set(results.map(({ call_id }) => call_id)).size).toBe(3);
    expect([...palyrad.run.ran.values()]).toEqual([1, 1, 1]);
  });

  test('answers the same key again without running it again, and refuses two at once', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const run = await palyrad.client().startRun();
    const first = run.call('palyra.echo', { say: 'x' }, { key: 'k' });
    await expect(run.call('palyra.echo', { say: 'x' }, { key: 'k' })).rejects.toMatchObject({
      code: 'client.key_in_use',
    });
    const { attestation } = await first;
    expect(await run.call('palyra.echo', { say: 'x' }, { key: 'k' })).toMatchObject({ attestation });
    expect(palyrad.run.ran.get('k')).toBe(1);
  });

  test('gives up on what is no JSON before anything is sent', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const run = await palyrad.client().startRun();
    await expect(run.call('palyra.echo', { say: Number.NaN })).rejects.toMatchObject({ code: 'client.invalid_input' });
    expect(palyrad.proposed).toEqual([]);
  });
});

/** The letters of one call as they were told, and every event of the run. */
async function play(palyrad: ScriptedPalyrad, sayings: readonly string[]) {
  const run = await palyrad.client().startRun();
  const events: RunEvent[] = [];
  const heard = sayings.map(() => ({ stdout: '', stderr: '' }));
  const results = await Promise.all(
    sayings.map((say, at) =>
      run.call(
        'palyra.echo',
        { say },
        {
          key: `k${at}`,
          onEvent: (event) => void events.push(event),
          onOutput({ stream, data, missed }: CallOutput) {
            expect(missed).toBe(0);
            const texts = heard[at];
            if (texts !== undefined) texts[stream] += Buffer.from(data).toString();
          },
        },
      ),
    ),
  );
  await run.end();
  return { events, heard, results, run };
}

describe('a connection that is lost', () => {
  test('after any event loses none and repeats none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat({ max: 6 }), { maxLength: 8 }),
        async (sayings, cuts) => {
          await using palyrad = await startScriptedPalyrad({ script: spell });
          // The first has to live until the run has its name.
          palyrad.cuts.push(...cuts.map((events, at) => (at === 0 ? events + 1 : events)));
          const { events, heard, results } = await play(palyrad, sayings);

          const sequences = events.map(({ sequence }) => sequence);
          expect(sequences).toEqual([...new Set(sequences)].toSorted((one, other) => one - other));
          const all = palyrad.run.events
            .filter(({ callKey }) => callKey !== '')
            .map(({ sequence }) => Number(sequence));
          expect(sequences).toEqual(all);
          for (const [at, say] of sayings.entries()) {
            expect(heard[at]).toEqual({
              stdout: say
                .split('')
                .filter((_, index) => index % 2 === 0)
                .join(''),
              stderr: say
                .split('')
                .filter((_, index) => index % 2 === 1)
                .join(''),
            });
            expect(results[at]?.attestation.attestation_id).toBe(`attestation-of-k${at}`);
          }
          expect([...palyrad.run.ran.values()].every((times) => times === 1)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('at every single event of one call', async () => {
    await using whole = await startScriptedPalyrad({ script: spell });
    const uncut = await play(whole, ['abc']);
    for (let cut = 1; cut <= whole.run.events.length; cut += 1) {
      await using palyrad = await startScriptedPalyrad({ script: spell });
      palyrad.cuts.push(cut);
      const { events, heard, results } = await play(palyrad, ['abc']);
      expect({ events, heard, results }).toEqual({ events: uncut.events, heard: uncut.heard, results: uncut.results });
    }
  });

  test('to a palyrad that tells again what was told is heard once', async () => {
    await using whole = await startScriptedPalyrad({ script: spell });
    const uncut = await play(whole, ['abc']);
    await using palyrad = await startScriptedPalyrad({ script: spell, retells: 3n });
    palyrad.cuts.push(6, 4, 4, 4);
    const { events, heard, results } = await play(palyrad, ['abc']);
    expect({ events, heard, results }).toEqual({ events: uncut.events, heard: uncut.heard, results: uncut.results });
  });

  test('gives back the events of a run whole, too', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const client = palyrad.client();
    const run = await client.startRun();
    await run.call('palyra.echo', { say: 'abcdef' });
    palyrad.cuts.push(1, 0, 2, 0, 0, 3);
    const told: number[] = [];
    const reading = (async () => {
      for await (const { sequence } of run.events()) told.push(sequence);
    })();
    await run.end();
    await reading;
    expect(told).toEqual(palyrad.run.events.map(({ sequence }) => Number(sequence)));
  });

  test('while nobody listens is waited for', async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<number>();
    await using palyrad = await startScriptedPalyrad({ script: () => mayEnd });
    const run = await palyrad.client().startRun();
    const started = Promise.withResolvers<void>();
    const call = run.call(
      'palyra.echo',
      {},
      { key: 'k', onEvent: ({ kind }) => (kind === 'execution_started' ? started.resolve() : undefined) },
    );
    await started.promise;
    await palyrad.stop();
    end(0);
    await palyrad.listen();
    expect((await call).outcome).toMatchObject({ kind: 'completed', exit_code: 0 });
    expect(palyrad.began[0]).toBe('start');
    expect(palyrad.began.slice(1).every((after) => typeof after === 'bigint')).toBe(true);
  });

  test('for too long ends every call, and the run', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    const run = await palyrad.client({ firstPauseMs: 1, giveUpAfterMs: 0 }).startRun();
    const calls = Promise.allSettled(['a', 'b'].map((key) => run.call('palyra.sleep', {}, { key })));
    await palyrad.stop();
    const unreachable = { status: 'rejected', reason: { code: 'client.unreachable' } };
    expect(await calls).toMatchObject([unreachable, unreachable]);
    await expect(run.end()).rejects.toMatchObject({ code: 'client.unreachable' });
  });

  test('before there is a run is told at once', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const client = palyrad.client();
    await palyrad.stop();
    await expect(client.startRun()).rejects.toMatchObject({ code: 'client.unreachable', fix: expect.any(String) });
  });
});

describe('cancelling', () => {
  test('a call gives its result', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    const run = await palyrad.client().startRun();
    const stop = new AbortController();
    const call = run.call('palyra.sleep', {}, { signal: stop.signal, onEvent: () => stop.abort() });
    expect((await call).outcome).toMatchObject({ kind: 'cancelled', code: 'tool.cancelled' });
  });

  test('before it is proposed proposes nothing', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    const run = await palyrad.client().startRun();
    await expect(run.call('palyra.sleep', {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'client.cancelled',
    });
    await run.end();
    expect(palyrad.proposed).toEqual([]);
  });

  test('while nobody listens never proposes it again', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    const run = await palyrad.client().startRun();
    await palyrad.stop();
    const stop = new AbortController();
    const call = run.call('palyra.sleep', {}, { key: 'k', signal: stop.signal });
    stop.abort();
    await palyrad.listen();
    await expect(call).rejects.toMatchObject({ code: 'client.cancelled' });
    expect(palyrad.proposed).not.toContain('k');
  });

  test('a run ends its calls first', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    const run = await palyrad.client().startRun();
    const started = Promise.withResolvers<void>();
    const call = run.call('palyra.sleep', {}, { onEvent: () => started.resolve() });
    await started.promise;
    await run.cancel();
    expect((await call).outcome.kind).toBe('cancelled');
  });

  test('by closing the client ends the waiting, and nothing at palyrad', async () => {
    await using palyrad = await startScriptedPalyrad({ script: sleep });
    const client = palyrad.client();
    const run = await client.startRun();
    const started = Promise.withResolvers<void>();
    const call = run.call('palyra.sleep', {}, { key: 'k', onEvent: () => started.resolve() });
    await started.promise;
    client.close();
    await expect(call).rejects.toMatchObject({ code: 'client.closed' });
    await expect(run.call('palyra.echo', {})).rejects.toMatchObject({ code: 'client.closed' });
    expect(palyrad.run.events.some(({ event }) => event.case === 'result')).toBe(false);
  });

  test('a callback that throws ends its call, and no other', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const run = await palyrad.client().startRun();
    const broken = run.call('palyra.echo', { say: 'abc' }, { onOutput: () => Promise.reject(new Error('disk full')) });
    const sound = run.call('palyra.echo', { say: 'abc' });
    await expect(broken).rejects.toThrow('disk full');
    expect((await sound).outcome.kind).toBe('completed');
  });
});

describe('resuming', () => {
  test('in another process goes on after what is known, and asks for what was not told', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const first = palyrad.client();
    const run = await first.startRun();
    await run.call('palyra.echo', { say: 'abc' }, { key: 'k' });
    const { id, sequence } = run;
    first.close();

    const again = await palyrad.client().resumeRun(id, sequence);
    expect([again.id, again.session]).toEqual([id, 'session']);
    expect(await again.call('palyra.echo', { say: 'abc' }, { key: 'k' })).toMatchObject({
      attestation: { attestation_id: 'attestation-of-k' },
    });
    expect(palyrad.run.ran.get('k')).toBe(1);
    await again.end();
  });

  test('from the beginning answers a key whose result came before it was asked for', async () => {
    await using palyrad = await startScriptedPalyrad({ script: spell });
    const first = palyrad.client();
    const { id, call } = await first.startRun();
    await call('palyra.echo', { say: 'abc' }, { key: 'k' });
    first.close();

    const again = await palyrad.client().resumeRun(id);
    // Another call ends after the old result was told.
    await again.call('palyra.echo', { say: '' });
    expect(await again.call('palyra.echo', { say: 'abc' }, { key: 'k' })).toMatchObject({ call_id: 'call-of-k' });
  });
});

describe('input', () => {
  const echo: Script = async ({ received, print }) => {
    for (let next = await received(); next !== 'end' && next !== 'cancelled'; next = await received())
      print(`${next};`);
    return 0;
  };

  async function* bytes(...texts: readonly string[]) {
    for (const text of texts) yield { kind: 'bytes', bytes: Buffer.from(text) } as const;
    yield { kind: 'end' } as const;
  }
  /** Feeds `input` to a call of its own, and says what came back of it. */
  async function feed(palyrad: ScriptedPalyrad, input: CallOptions['input'], options: CallOptions = {}) {
    const run = await palyrad.client().startRun();
    let heard = '';
    const { outcome } = await run.call(
      'palyra.process.run',
      {},
      {
        ...options,
        ...(input === undefined ? {} : { input }),
        onOutput({ data }) {
          heard += Buffer.from(data).toString();
        },
      },
    );
    return [outcome.kind, heard];
  }

  test('reaches the call in order, and its end', async () => {
    await using palyrad = await startScriptedPalyrad({ script: echo });
    expect(await feed(palyrad, bytes('one', 'two', 'three'))).toEqual(['completed', 'one;two;three;']);
  });

  test('of other kinds reaches it as well', async () => {
    await using palyrad = await startScriptedPalyrad({ script: echo });
    const told = Promise.withResolvers<void>();
    async function* input() {
      yield { kind: 'resize', rows: 24, columns: 80 } as const;
      yield { kind: 'signal', name: 'SIGINT' } as const;
      await told.promise;
      yield { kind: 'end' } as const;
    }
    const onEvent = ({ kind }: RunEvent) => (kind === 'output' ? told.resolve() : undefined);
    const [outcome, heard] = await feed(palyrad, input(), { onEvent });
    expect([outcome, heard?.split(';').toSorted()]).toEqual(['completed', ['', '24x80', 'SIGINT']]);
  });

  test('of which some may be lost with its connection cancels the call', async () => {
    await using palyrad = await startScriptedPalyrad({ script: echo });
    palyrad.cutFeeds.push('answer', 'cut');
    expect(await feed(palyrad, bytes('one', 'two', 'three'))).toEqual(['cancelled', 'one;two;']);
  });

  test('that has all arrived goes on over another connection', async () => {
    await using palyrad = await startScriptedPalyrad({ script: echo });
    async function* inTwoParts() {
      yield { kind: 'bytes', bytes: Buffer.from('one') } as const;
      await palyrad.resumed;
      yield { kind: 'bytes', bytes: Buffer.from('two') } as const;
      yield { kind: 'end' } as const;
    }
    const onEvent = ({ kind }: RunEvent) =>
      kind === 'output' && palyrad.began.length === 1 ? palyrad.cutNow() : undefined;
    expect(await feed(palyrad, inTwoParts(), { onEvent })).toEqual(['completed', 'one;two;']);
  });

  test('that fails ends the call with its error', async () => {
    await using palyrad = await startScriptedPalyrad({ script: echo });
    async function* input() {
      yield { kind: 'bytes', bytes: Buffer.from('one') } as const;
      throw new Error('the pipe is broken');
    }
    await expect(feed(palyrad, input())).rejects.toThrow('the pipe is broken');
  });
});

test('a reader that takes its time slows nobody else', async () => {
  await using palyrad = await startScriptedPalyrad({ script: spell });
  const run = await palyrad.client().startRun();
  const events = run.events()[Symbol.asyncIterator]();
  await events.next();
  // Many times what a buffer between here and there holds, and the reader does not read.
  const say = 'x'.repeat(3_000);
  for (let call = 0; call < 5; call += 1) await run.call('palyra.echo', { say });
  await run.end();
  let count = 1;
  for (let next = await events.next(); next.done !== true; next = await events.next()) count += 1;
  expect(count).toBe(palyrad.run.events.length);
});

test('what palyrad refuses has its code, its sentence and its fix', async () => {
  const routes = (router: ConnectRouter) => {
    router.service(ToolService, {
      listTools() {
        throw failure('daemon.not_permitted', 'The policies do not allow this.', 'Ask the operator.');
      },
    });
  };
  await using palyrad = await startScriptedPalyrad({ script: spell, routes });
  const client = palyrad.client();
  await expect(client.tools.list()).rejects.toMatchObject({
    name: 'ClientError',
    code: 'daemon.not_permitted',
    message: 'The policies do not allow this.',
    fix: 'Ask the operator.',
  });
  await expect(client.runs.stopAgents()).rejects.toMatchObject({ code: 'client.not_supported' });
});
