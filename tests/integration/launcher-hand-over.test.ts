import { expect, test } from 'vitest';
import { encodeRequest, encodeWord } from '../../packages/sandbox/src/launcher/encode-request.ts';
import type { HandedPipes } from '../../packages/sandbox/src/launcher/handed-pipes.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, launcherProgram, openLauncher, shell } from './launched-job.ts';
import { startRawLauncher } from './raw-launcher.ts';

const CREDIT = Buffer.from([0, 0, 16, 0]);

test('a tool is spoken with through its own pipes, and its errors still come through the launcher', async () => {
  await using launcher = await openLauncher();
  const pipes = Promise.withResolvers<HandedPipes>();
  const ended = Promise.withResolvers<string>();
  const said = { stdout: '', stderr: '' };
  const job = launcher.start(
    shell('echo ready >&2; cat; echo over >&2'),
    {
      facts: () => job.go({ handOver: true }),
      output(stream, bytes) {
        said[stream] += bytes.toString();
      },
      taken: () => undefined,
      pipes: pipes.resolve,
      ended: ({ reason }) => ended.resolve(reason),
      failed: ended.resolve,
      lost: ({ message }) => ended.resolve(message),
    },
    { stdin: true },
  );
  job.allow(4096);
  const handed = await pipes.promise;
  // More than a pipe takes at once, in both directions.
  const long = 'x'.repeat(300_000);
  const heard: string[] = [];
  const all = new Promise<void>((resolve) => {
    handed.listen((bytes) => {
      heard.push(bytes.toString());
      if (heard.join('').length === long.length + 3) resolve();
    });
  });
  handed.write(Buffer.from('one'));
  handed.write(Buffer.from(long));
  await all;
  expect(heard.join('') === `one${long}`).toBe(true);
  job.kill();
  expect(await ended.promise).toBe('cancelled');
  await handed.ended;
  // When it is gone nobody is hurt by who still speaks.
  handed.write(Buffer.from('late'));
  handed.close();
  expect(said).toEqual({ stdout: '', stderr: 'ready\n' });
});

test('what cannot be handed over is refused before the tool: without a channel, input, or with a terminal', async () => {
  await using raw = await startRawLauncher([launcherProgram()]);
  const ask = async (job: number, request: Buffer) => {
    raw.send(TO_LAUNCHER.start, job, request);
    raw.send(TO_LAUNCHER.credit, job, CREDIT);
    await raw.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.facts);
    raw.send(TO_LAUNCHER.go, job, encodeWord({ handOver: true }));
    const last = await raw.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.failed);
    return last.payload.toString();
  };
  const refused = 'Its streams cannot be handed over.';
  expect(await ask(1, encodeRequest(barePlan(['/bin/echo', 'ran']), { stdin: true }))).toBe(refused);
  await using launcher = await openLauncher();
  const refusal = (plan: ReturnType<typeof barePlan>, stdin: boolean) =>
    new Promise<string>((resolve) => {
      const job = launcher.start(
        plan,
        {
          facts: () => job.go({ handOver: true }),
          output: (_stream, bytes) => resolve(`said ${bytes.toString()}`),
          taken: () => undefined,
          pipes: () => resolve('handed over'),
          ended: ({ reason }) => resolve(`ended ${reason}`),
          failed: resolve,
          lost: ({ message }) => resolve(message),
        },
        { stdin },
      );
      job.allow(4096);
    });
  expect(await refusal(barePlan(['/bin/echo', 'ran']), false)).toBe(refused);
  expect(await refusal(barePlan(['/bin/echo', 'ran'], { terminal: { rows: 24, columns: 80 } }), true)).toBe(refused);
});
