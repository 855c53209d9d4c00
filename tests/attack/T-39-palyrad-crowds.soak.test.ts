// T-39: crowds at palyrad: thousands of open streams of one principal, messages of a hundred megabytes that really come,
// calls without pause; at a tenth of their size unless PALYRA_SOAK=1.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { Code } from '@connectrpc/connect';
import { ApprovalService, ToolService } from '@palyra/api';
import { clientTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { expect, test } from 'vitest';
import { SOAK_VARIABLE } from '../../tools/suites.ts';
import { startPalyrad } from '../palyrad-process.ts';

const isWhole = process.env[SOAK_VARIABLE] === '1';
const STREAMS = isWhole ? 2_000 : 200;
const MEGABYTES = isWhole ? 100 : 10;
const CALLS = isWhole ? 20_000 : 2_000;

test('so many streams of one principal are open, and everybody else is served', async () => {
  const config = `[limits]\nstreams_per_principal = ${STREAMS}\nstreams_per_connection = 100000\n`;
  await using palyrad = await startPalyrad({ config });
  const leaving = new AbortController();
  const { signal } = leaving;
  const client = palyrad.client(ApprovalService, 'operator');
  const streams = Array.from({ length: STREAMS + 10 }, async () => {
    const events = client.watchApprovals({}, { signal })[Symbol.asyncIterator]();
    return (await events.next()).done;
  });
  const refused = Promise.all(streams.map((each) => each.catch((error: unknown) => Object(error).code as Code)));
  const agent = palyrad.client(ToolService, 'local-agent');
  for (let call = 0; call < 50; call += 1) expect((await agent.listTools({})).tools.length).toBeGreaterThan(0);
  await expect
    .poll(
      () =>
        client.listApprovals({}).then(
          () => 'served',
          (error: unknown) => Object(error).code as Code,
        ),
      {
        timeout: 30_000,
      },
    )
    .toBe(Code.ResourceExhausted);
  leaving.abort();
  expect((await refused).filter((each) => each === Code.ResourceExhausted).length).toBeGreaterThanOrEqual(10);
  const isServed = () =>
    client.listApprovals({}).then(
      () => true,
      () => false,
    );
  await expect.poll(isServed, { timeout: 30_000 }).toBe(true);
});

test('a message of a hundred megabytes that comes is cut off, and memory stays what it was', async () => {
  await using palyrad = await startPalyrad({ config: '[limits]\nrequest_seconds = 3600\n' });
  const { tls } = openCredential(credentialDirectory(palyrad.home.identity, 'local-agent'));
  const session = connect(`https://${palyrad.address}`, clientTlsOptions(tls));
  session.on('error', () => undefined);
  const chunk = Buffer.alloc(1024 * 1024, 0x20);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/palyra.v1.ToolService/ListTools',
    'content-type': 'application/json',
  });
  stream.on('error', () => undefined);
  const answered = once(stream, 'response') as Promise<[Record<string, unknown>]>;
  answered.catch(() => undefined);
  stream.resume();
  let sent = 0;
  while (sent < MEGABYTES && !stream.destroyed && stream.writable) {
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]).catch(() => undefined);
    sent += 1;
  }
  const [headers] = await Promise.race([answered, once(stream, 'close').then(() => [{}] as [Record<string, unknown>])]);
  expect(headers[':status'] ?? 429).toBe(429);
  session.destroy();
  expect((await palyrad.client(ToolService, 'operator').listTools({})).tools.length).toBeGreaterThan(0);
});

test('calls without pause are served as fast as they may be, and refused beyond', async () => {
  await using palyrad = await startPalyrad({ config: '[limits]\nrequests_per_second = 100\n' });
  const client = palyrad.client(ToolService, 'local-agent');
  const outcomes = { served: 0, refused: 0 };
  const worker = async () => {
    for (let call = 0; call < CALLS / 20; call += 1) {
      await client.listTools({}).then(
        () => (outcomes.served += 1),
        (error: unknown) => {
          expect(Object(error).code).toBe(Code.ResourceExhausted);
          outcomes.refused += 1;
        },
      );
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  expect(outcomes.served + outcomes.refused).toBe(CALLS);
  expect(outcomes.refused).toBeGreaterThan(0);
  expect((await palyrad.client(ToolService, 'operator').listTools({})).tools.length).toBeGreaterThan(0);
  // A line a second, not one for each of them.
  expect(palyrad.log().split('\n').length).toBeLessThan(CALLS / 4);
});
