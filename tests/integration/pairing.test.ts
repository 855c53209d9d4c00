import { type ChildProcess, spawn } from 'node:child_process';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { openAuthority, openRegistry } from '@palyra/identity';
import { systemClock } from '@palyra/primitives';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDevicePair } from '../../apps/cli/src/commands/device-pair.ts';
import { runCli } from '../../apps/cli/src/run-cli.ts';
import { listenIn, openIdentityDatabase } from '../attack/identity-listener.ts';
import { createThrowawayCa } from '../attack/throwaway-ca.ts';
import { runInProcess } from '../e2e/cli-in-process.ts';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/palyra.mjs', import.meta.url));
const LISTEN = ['--listen', '127.0.0.1:0'];

let parent = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-pairing-'));
});

afterEach(() => rmSync(parent, { recursive: true }));

type Event = Readonly<Record<string, unknown>>;

/** Lines of JSON, and the one that says whom to invite. */
function watch(stdout: NodeJS.ReadableStream) {
  const events: Event[] = [];
  const { promise: invited, resolve } = Promise.withResolvers<Event>();
  createInterface({ input: stdout }).on('line', (line) => {
    const event = JSON.parse(line);
    events.push(event);
    if (event.event === 'invited') resolve(event);
  });
  return { events, invited };
}

async function ended(child: ChildProcess, input = '') {
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout?.on('data', (chunk) => void out.push(String(chunk)));
  child.stderr?.on('data', (chunk) => void err.push(String(chunk)));
  child.stdin?.end(input);
  const [exit] = await once(child, 'close');
  return { exit, out: out.join(''), err: err.join('') };
}

test('two processes pair over TLS with a PIN; the key is made on the device and stays there, and the certificate is renewed', async () => {
  const palyra = (home: string, ...args: string[]) =>
    runInProcess({ args: [...args, '--json'], cwd: parent, variables: { PALYRA_HOME: join(parent, home) }, input: '' });
  const env = (home: string) => ({ ...process.env, PALYRA_HOME: join(parent, home) });
  expect(await palyra('host', 'init')).toMatchObject({ exit: 0 });
  const pair = ['device', 'pair', ...LISTEN, '--kind', 'agent', '--name', 'ci runner', '--yes'];
  const host = spawn(process.execPath, [BIN, ...pair], { env: env('host') });
  const { events, invited } = watch(host.stdout);
  const hostEnded = ended(host);
  const { pin, address } = await invited;
  const typed = [BIN, 'device', 'join', String(address), '--name', 'laptop', '--json'];
  const { exit, out, err } = await ended(spawn(process.execPath, typed, { env: env('device') }), `${String(pin)}\n`);
  expect([exit, err]).toEqual([0, '']);

  const { device, kind, name, directory, ca } = JSON.parse(out);
  expect([kind, name]).toEqual(['agent', 'ci runner']);
  expect(await hostEnded).toMatchObject({ exit: 0, err: '' });
  const told = ['invited', 'connected', 'trying', 'proven', 'issued', 'paired', 'ended'];
  expect(events.map(({ event }) => event)).toEqual(told);
  expect(events.at(-1)).toEqual({ event: 'ended', device, kind, name, acknowledged: true });

  const read = (file: string) => readFileSync(join(directory, file), 'utf8');
  const [certificate, root] = [new X509Certificate(read('device.crt')), new X509Certificate(read('authorities.crt'))];
  const key = createPrivateKey(read('device.key'));
  expect([certificate.checkPrivateKey(key), certificate.verify(root.publicKey)]).toEqual([true, true]);
  expect(certificate.subjectAltName).toContain(device);
  expect(createPublicKey(key).asymmetricKeyType).toBe('ed25519');
  expect(root.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(ca);
  const paths = [directory, ...readdirSync(directory).map((file) => join(directory, file))];
  expect(paths.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual(['700', '600', '600', '600', '600']);
  // Known there, and without a role: pairing is not permission.
  const { devices } = JSON.parse((await palyra('host', 'device', 'list')).out);
  expect(devices.at(-1)).toMatchObject({ device_id: device, kind: 'agent', roles: [], place: 'same_host' });

  const unaddressed = await palyra('device', 'device', 'renew');
  expect([unaddressed.exit, JSON.parse(unaddressed.err).error.fix]).toEqual([2, expect.stringContaining('--daemon')]);
  const away = await palyra('device', 'device', 'renew', '--daemon', '127.0.0.1:1');
  expect([away.exit, JSON.parse(away.err).error.code]).toEqual([4, 'identity.renewal_failed']);
  const database = await openIdentityDatabase({ kind: 'sqlite', path: join(parent, 'host', 'palyra.db') });
  const registry = openRegistry({ database });
  const authority = openAuthority(join(parent, 'host', 'identity'));
  await using daemon = await listenIn({ registry, authority, clock: systemClock });
  const renewed = await palyra('device', 'device', 'renew', '--daemon', `127.0.0.1:${daemon.port}`);
  expect([renewed.err, JSON.parse(renewed.out).renewed]).toMatchObject(['', [{ name: 'joined', device_id: device }]]);
  expect(new X509Certificate(read('device.crt')).checkPrivateKey(key)).toBe(true);
  expect(read('device.crt')).not.toBe(certificate.toString());
  await database.close();
});

function runJoin(args: readonly string[], input: string) {
  const variables = { PALYRA_HOME: join(parent, 'device') };
  return runInProcess({ args: ['device', 'join', '--json', ...args], cwd: parent, variables, input });
}

interface Person {
  /** What a person at the terminal sees, as it comes. */
  readonly onShown: (text: string) => void;
  readonly stdin: PassThrough;
}

/** `palyra device pair` in this process; with a person it has a terminal. */
function runPair(args: readonly string[], person?: Person) {
  const stdout = new PassThrough();
  const stderr = Object.assign(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        person?.onShown(chunk.toString());
        done();
      },
    }),
    { isTTY: person !== undefined },
  );
  const interruption = new AbortController();
  const exit = runCli({
    argv: ['device', 'pair', ...LISTEN, ...args],
    version: '1.2.3',
    nodeVersion: process.versions.node,
    commands: [
      createDevicePair(async () => ({
        ...(await createThrowawayCa(Date.now)),
        findDevice: async () => undefined,
        principalOf: () => 'user:ada',
        close: async () => undefined,
      })),
    ],
    variables: { PALYRA_HOME: join(parent, 'host'), NO_COLOR: '1' },
    userHome: () => parent,
    openStdin: () => Object.assign(person?.stdin ?? new PassThrough(), { isTTY: person !== undefined }),
    stdout,
    stderr,
    workingDirectory: () => parent,
    signal: interruption.signal,
  });
  return { exit, stdout, interruption };
}

test('the join URL takes the place of the PIN; in the command line it is refused', async () => {
  const host = runPair(['--kind', 'node', '--name', 'attic', '--yes']);
  const { url } = await watch(host.stdout).invited;
  expect(JSON.parse((await runJoin([String(url)], '')).err).error.code).toBe('cli.secret_in_arguments');
  const { exit, out } = await runJoin(['-'], `${String(url)}\n`);
  expect([exit, JSON.parse(out).kind, await host.exit]).toEqual([0, 'node', 0]);

  const again = await runJoin(['127.0.0.1:1'], '12345678\n');
  expect([again.exit, JSON.parse(again.err).error.code]).toEqual([7, 'cli.file_exists']);
  const anew = await runJoin(['127.0.0.1:1', '--again'], '1234-5678\n');
  expect([anew.exit, JSON.parse(anew.err).error.code]).toEqual([4, 'pairing.unreachable']);
});

test('a wrong PIN is told on both sides, and nothing is left on the device', async () => {
  const host = runPair(['--kind', 'agent', '--name', 'x', '--yes']);
  const { events, invited } = watch(host.stdout);
  const { pin, address } = await invited;
  const wrong = String((Number(pin) + 1) % 10 ** 8).padStart(8, '0');
  const { exit, err } = await runJoin([String(address)], wrong);
  expect([exit, JSON.parse(err).error]).toEqual([
    3,
    {
      code: 'pairing.wrong_pin',
      message: 'That is not the PIN or the code of the invitation. 4 tries are left.',
      fix: 'Look at it again, and try once more.',
    },
  ]);
  expect(existsSync(join(parent, 'device', 'identity'))).toBe(false);
  expect(JSON.parse((await runJoin([String(address)], '123')).err).error.code).toBe('pairing.invalid_secret');
  host.interruption.abort();
  expect(await host.exit).toBe(130);
  expect(events.at(-1)).toMatchObject({ event: 'dropped', code: 'pairing.wrong_pin' });
});

test.each([
  ['yes', 0, 'nothing'],
  ['no', 9, 'pairing.refused'],
])('the operator sees name, kind and address, and says %s', async (answer, exit, code) => {
  const stdin = new PassThrough();
  const seen = Promise.withResolvers<readonly string[]>();
  let shown = '';
  const onShown = (text: string) => {
    shown += text;
    const found = /palyra device join (\S+)\n[\s\S]*PIN there:[\s\S]* {2}(\d{4} \d{4})\n/.exec(shown);
    if (found !== null) seen.resolve(found.slice(1));
    if (text.includes('Type yes')) stdin.write(`${answer}\n`);
  };
  const host = runPair(['--kind', 'agent', '--name', 'desk'], { onShown, stdin });
  const [address = '', pin = ''] = await seen.promise;
  const joined = await runJoin([address, '--name', 'laptop'], pin);
  expect([joined.exit, await host.exit]).toEqual([exit, exit]);
  expect(joined.err === '' ? 'nothing' : JSON.parse(joined.err).error.code).toBe(code);
  const rows = ['name          desk', 'kind          agent', 'address       127.0.0.1'];
  for (const row of [...rows, 'calls itself  laptop']) expect(shown).toContain(row);
  expect(shown).toMatch(/[█▀▄]{20}/);
  expect(existsSync(join(parent, 'device', 'identity', 'joined'))).toBe(answer === 'yes');
});

test('without a terminal nobody is let in unless --yes was given, and a home without a CA says so', async () => {
  const pair = (...args: string[]) => {
    const variables = { PALYRA_HOME: join(parent, 'host') };
    return runInProcess({ args: ['device', 'pair', '--json', ...args], cwd: parent, variables, input: '' });
  };
  const named = ['--kind', 'agent', '--name', 'x'];
  const answers = [await pair(...named), await pair(...named, '--yes'), await pair('--kind', 'admin', '--name', 'x')];
  expect(answers.map(({ exit, err }) => [exit, JSON.parse(err).error.code])).toEqual([
    [9, 'cli.not_confirmed'],
    [8, 'identity.key_missing'],
    [2, 'cli.missing_value'],
  ]);
});
