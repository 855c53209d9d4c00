/**
 * T-27, T-23: a guest that was granted one host asks for another one, by its url and by a redirect of the one it has. Not a byte
 * goes there, the guest is told that it was refused, and each attempt is in the call's attestation. T-17: and it asks the host
 * that it has so often that it gets more in one call than a call may.
 */
import { mkdirSync } from 'node:fs';
import { addModule } from '@palyra/config';
import { expect, test } from 'vitest';
import { openNetworkHouse, standIn } from '../integration/network-house.ts';
import { guest } from '../wasm-guests/guests.ts';

/** Makes the request that it is given; answers with what came, or with 0 where it was refused. */
const FETCHER = {
  imports: `
    (import "palyra" "http_request" (func $http (param i64 i32 i32) (result i32)))
    (import "palyra" "fetch_result" (func $fetch (param i64 i32 i32) (result i32)))`,
  parts: '(data (i32.const 32) "0")',
  call: `(local $got i32)
    (local.set $got (call $http (local.get $h) (local.get $p) (local.get $n)))
    (if (i32.lt_s (local.get $got) (i32.const 0)) (then (return (call $packed (i32.const 32) (i32.const 1)))))
    (drop (call $fetch (local.get $h) (i32.const 8192) (local.get $got)))
    (call $packed (i32.const 8192) (local.get $got))`,
};

/** The same twice; what came the first time is left lying. */
const GREEDY = {
  ...FETCHER,
  call: FETCHER.call.replace(
    '(local.set',
    '(drop (call $http (local.get $h) (local.get $p) (local.get $n))) (local.set',
  ),
};

test('a guest reaches the host of its grant, and no other', async () => {
  await using other = await standIn();
  await using granted = await standIn((request, response) => {
    if (request.url === '/large') return void response.end(Buffer.alloc(600 * 1024));
    if (request.url !== '/away') return void response.end('hello');
    response.writeHead(302, { location: `http://other.example.com:${other.port}/` });
    response.end();
  });
  const names = ['api.example.com', 'other.example.com'];
  const ports = [granted.port, other.port];
  const house = await openNetworkHouse({ names, ports, settings: 'megabytes_in = 1\n[wasm_runtime]\nwall_ms = 60000' });
  await using _ = { [Symbol.asyncDispose]: () => house.close() };
  mkdirSync(house.home.modules, { mode: 0o700 });
  const grants = { http: [`api.example.com:${granted.port}`] };
  for (const [name, source] of Object.entries({ fetcher: FETCHER, greedy: GREEDY })) {
    const added = { name, bytes: await guest(source), grants, limits: {} };
    await addModule(house.home.modules, added, { replace: false });
  }
  const call = (request: object, module = 'fetcher') =>
    house.run.call({ tool: 'palyra.wasm.run', input: JSON.stringify({ module, input: request }) });

  // Policy asks about the host of the grant, before the guest runs.
  const asking = call({ url: `http://api.example.com:${granted.port}/` });
  await house.answer({ scope: 'session' });
  const reached = await asking;
  expect(reached.outcome).toMatchObject({
    kind: 'completed',
    output: { output: { status: 200, body_base64: Buffer.from('hello').toString('base64') } },
  });
  expect(await house.connections(reached)).toMatchObject([{ host: 'api.example.com', outcome: 'allowed' }]);

  const attempts = [
    [{ url: `http://other.example.com:${other.port}/` }, [['other.example.com', 'denied']]],
    [
      { url: `http://api.example.com:${granted.port}/away` },
      [
        ['api.example.com', 'allowed'],
        ['other.example.com', 'denied'],
      ],
    ],
    [{ url: `http://127.0.0.1:${other.port}/` }, [['127.0.0.1', 'denied']]],
    [{ url: 'file:///etc/passwd' }, []],
    [{ url: `http://api.example.com:${granted.port}/`, agent: 'x' }, []],
  ] as const;
  for (const [request, lines] of attempts) {
    const result = await call(request);
    expect([request, result.outcome.output]).toMatchObject([request, { output: 0 }]);
    const found = await house.connections(result);
    expect(found.map(({ host, outcome }) => [host, outcome])).toEqual(lines);
  }
  const large = { url: `http://api.example.com:${granted.port}/large` };
  const small = { url: `http://api.example.com:${granted.port}/` };
  expect((await call(small, 'greedy')).outcome.output).toMatchObject({ output: { status: 200 } });
  const greedy = await call(large, 'greedy');
  expect(greedy.outcome.output).toMatchObject({ output: 0 });
  expect(await house.connections(greedy)).toMatchObject([{ outcome: 'allowed' }, { code: 'egress.too_many_bytes' }]);
  // A call of its own has all of it.
  expect((await call(small)).outcome.output).toMatchObject({ output: { status: 200 } });
  expect(other.connections()).toBe(0);
  expect(await house.verdict()).toBe('sound');
});
