/**
 * T-03: a yes to one connection lets another one pass: to another port, of another command, of the same command later
 * (T-05), or after the policies changed (T-11, T-02). T-47: whoever answers is flooded with hosts. T-21: what is only looked at
 * before it starts is told from the arguments, in whatever spelling.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type NetworkHouse, openNetworkHouse, type StandIn, standIn } from '../integration/network-house.ts';

const MANY = Array.from({ length: 40 }, (_each, at) => `h${at}.example`);
const PATIENT = { timeout: 30_000 };

let web: StandIn;
let other: StandIn;
let house: NetworkHouse;
beforeAll(async () => {
  web = await standIn();
  other = await standIn();
  house = await openNetworkHouse({
    names: ['one.example', 'forbidden.example', ...MANY],
    ports: [web.port, other.port],
  });
});
afterAll(async () => {
  await house.close();
  await web[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const curl = (...urls: readonly string[]) => ['curl', '-sS', '-m', '30', ...urls];
const cards = () => house.daemon.approvals.countPending();

/** The connections as they were attested: what was reached, and what was not. */
async function reached(result: Awaited<ReturnType<NetworkHouse['command']>>) {
  return (await house.connections(result)).map(({ port, outcome }) => [port, outcome]);
}

test('a yes to one port is none to another, nor to the same one in another command or later', async () => {
  const both = house.command(curl(`http://one.example:${web.port}/`, `http://one.example:${other.port}/`));
  await house.answer({ scope: 'once' });
  await vi.waitFor(
    async () => expect((await house.asked()).prompt.what.sentence).toContain(`port ${other.port}`),
    PATIENT,
  );
  await house.answer({ deny: 'Not that one.' });
  expect(await reached(await both)).toEqual([
    [web.port, 'allowed'],
    [other.port, 'denied'],
  ]);
  expect(other.connections()).toBe(0);

  for (const path of ['again', 'again']) {
    const before = web.connections();
    const again = house.command(curl(`http://one.example:${web.port}/${path}`));
    await house.asked();
    expect(web.connections()).toBe(before);
    await house.answer({ scope: 'once' });
    expect(await reached(await again)).toEqual([[web.port, 'allowed']]);
  }
});

const FORBIDDEN = `@id("not-there")
@reason("Nobody connects there any more.")
forbid (principal, action in Palyra::Action::"execute", resource)
when { context.enforced.hosts.contains("forbidden.example:PORT") };
`;

test('a question that the policies deny by now is over, and what it held is denied', async () => {
  const calling = house.command(curl(`http://forbidden.example:${web.port}/denied`));
  await house.asked();
  const { policies } = house.home;
  mkdirSync(policies, { recursive: true, mode: 0o700 });
  writeFileSync(join(policies, 'own.cedar'), FORBIDDEN.replace('PORT', String(web.port)), { mode: 0o600 });
  await house.daemon.policies.apply();
  const result = await calling;
  expect(result.outcome.output).toMatchObject({ denied_connections: [{ missing: 'not-there' }] });
  expect(web.seen.filter((line) => line.includes('/denied'))).toEqual([]);
  expect(await cards()).toBe(0);
});

test('a command that tries many hosts puts few questions, and takes them along', async () => {
  const script = `${MANY.map((name) => `curl -s -m 4 http://${name}:${web.port}/ &`).join('\n')}\nwait`;
  const calling = house.command(['bash', '-c', script]);
  await house.asked();
  let most = 0;
  await vi.waitFor(async () => {
    most = Math.max(most, await cards());
    expect(most).toBeGreaterThan(3);
  }, PATIENT);
  const result = await calling;
  expect(most).toBeLessThanOrEqual(16);
  expect((await house.connections(result)).every(({ outcome }) => outcome === 'denied')).toBe(true);
  expect(web.seen.filter((line) => /h\d+\.example/.test(line))).toEqual([]);
  await vi.waitFor(async () => expect(await cards()).toBe(0), PATIENT);
});

test.each([
  ['another host', ['curl', 'https://two.example/']],
  ['a bare one', ['ssh', 'two.example']],
  ['with a user', ['scp', 'file', 'me@two.example:path']],
  ['in an option', ['curl', '--proxy', 'http://two.example:8080', 'https://one.example/']],
  ['as a number', ['curl', 'http://2130706433/']],
  ['in hexadecimal', ['curl', 'http://0x7f.1/']],
  ['in capitals, with a dot', ['curl', 'https://TWO.example./']],
])('preflight: %s is seen before it starts', async (_how, argv) => {
  const result = await house.command(argv, { sandbox: 'limits', network: ['one.example'], egress: 'preflight' });
  expect(result.outcome).toMatchObject({ kind: 'refused', code: 'gateway.egress_denied' });
  expect(await cards()).toBe(0);
});
