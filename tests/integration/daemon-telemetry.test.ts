import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ToolService } from '@palyra/api';
import { type Credential, clientTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { expect, test } from 'vitest';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

async function get(
  palyrad: PalyradProcess,
  path: string,
  { tls }: Credential,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const { port } = palyrad;
  const sent = request({ host: '127.0.0.1', port, path, agent: false, ...clientTlsOptions(tls) }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, text };
}

test('health is told to every device, and counts to those who may see them', async () => {
  await using palyrad = await startPalyrad();
  const local = (name: 'operator' | 'local-agent') => openCredential(credentialDirectory(palyrad.home.identity, name));
  const [operator, agent] = [local('operator'), local('local-agent')];
  const auditor = await palyrad.letIn('prometheus', 'service', ['auditor']);
  expect(await get(palyrad, '/healthz', agent)).toEqual({ status: 200, text: 'ok\n' });
  expect(await get(palyrad, '/readyz', agent)).toEqual({ status: 200, text: 'ready\n' });
  expect(await get(palyrad, '/nothing', agent)).toMatchObject({ status: 404 });
  expect(await get(palyrad, '/metrics', agent)).toMatchObject({
    status: 403,
    text: expect.stringContaining('daemon.not_permitted'),
  });
  await palyrad.client(ToolService, 'local-agent').listTools({});
  for (const reader of [operator, auditor]) {
    const { status, text } = await get(palyrad, '/metrics', reader);
    expect(status).toBe(200);
    expect(text).toContain('palyra_rpcs_total{rpc="palyra.v1.ToolService.ListTools",code="ok"} 1');
    expect(text).toMatch(/^palyra_connections [1-9]/m);
    expect(text).toMatch(/^palyra_questions_open 0/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
  }
});

test('spans are sent to where the operator wants them, with the name and password of the address as a header', async () => {
  const received: { readonly authorization: string | undefined; readonly body: string }[] = [];
  const collector = createServer((incoming, response) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    incoming.once('end', () => {
      received.push({ authorization: incoming.headers.authorization, body });
      response.end();
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const config = `[telemetry]\ntraces_url = "http://ada:s3cret@127.0.0.1:${port}/v1/traces"\n`;
  await using palyrad = await startPalyrad({ config });
  await palyrad
    .client(ToolService, 'local-agent')
    .listTools({}, { headers: { traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01` } });
  palyrad.child.kill('SIGTERM');
  await palyrad.ended();
  collector.close();
  expect(received.map(({ authorization }) => authorization)).toEqual([`Basic ${btoa('ada:s3cret')}`]);
  const [span] = JSON.parse(received[0]?.body ?? '').resourceSpans[0].scopeSpans[0].spans;
  expect(span).toMatchObject({
    name: 'palyra.v1.ToolService.ListTools',
    traceId: 'a1'.repeat(16),
    parentSpanId: 'b2'.repeat(8),
  });
  expect(palyrad.log()).not.toContain('s3cret');
});
