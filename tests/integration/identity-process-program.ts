import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { connect, type TLSSocket } from 'node:tls';
import {
  clientTlsOptions,
  keepRenewed,
  openAuthority,
  openCredential,
  openRegistry,
  requestRenewal,
  rollOver,
  storeCertificate,
} from '@palyra/identity';
import { type Clock, systemClock } from '@palyra/primitives';
import { createFakeClock } from '../../packages/testkit/src/fake-clock.ts';
import { listenIn, openIdentityDatabase } from '../attack/identity-listener.ts';

/**
 * One side of a TLS connection as a process of its own: `daemon {"location", "identity"}` or `device {"directory", "port"}`.
 * A line of JSON in, `{"do": …}`, is a line of JSON out; what happens by itself is a line `{"event": …}`. Ends with its input.
 */
type Commands = Readonly<Record<string, (input: Readonly<Record<string, number>>) => unknown>>;

interface Role {
  readonly commands: Commands;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** Which certificate the other side showed. */
const servers = new WeakMap<TLSSocket, string | undefined>();
/** So long that only what a test does ends a certificate: its authority, its device, or another one in its place. */
const lifetimes = { certificateMs: 60 * DAY_MS };

const [role, place = '{}'] = process.argv.slice(2);
const { commands, close }: Role = role === 'daemon' ? await daemon(JSON.parse(place)) : device(JSON.parse(place));
say({ event: 'ready' });
for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...input } = JSON.parse(line);
  const answer = await commands[name]?.(input);
  say({ answer });
}
await close();

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function shifted(): Clock & { aheadMs: number } {
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs, sleep: systemClock.sleep };
  return clock;
}

/** palyrad as far as identity is concerned. */
async function daemon({ location, identity }: { location: never; identity: string }): Promise<Role> {
  const [trust, time] = [shifted(), shifted()];
  const database = await openIdentityDatabase(location);
  const authority = openAuthority(identity, { clock: trust, lifetimes });
  const listener = await listenIn({ authority, registry: openRegistry({ database }), clock: time }, { recheckMs: 20 });
  const roll = (days: number, isWanted: boolean) => {
    const clock = { ...systemClock, now: () => Date.now() + days * DAY_MS };
    return rollOver(identity, { clock, lifetimes, isWanted });
  };
  return {
    commands: {
      port: () => listener.port,
      ended: () => listener.ended,
      tend: () => listener.certificate.tend(),
      /** What it holds to be the time; the certificates that it signs begin now all the same, or nobody could use them yet. */
      ahead({ days = 0 }) {
        time.aheadMs = days * DAY_MS;
      },
      /** Whose signatures count by then. */
      trustAhead({ days = 0 }) {
        trust.aheadMs = days * DAY_MS;
        return authority.trusted().map(({ state }) => state);
      },
      roll: ({ days = 0 }) => roll(days, days === 0),
    },
    async close() {
      await listener[Symbol.asyncDispose]();
      await database.close();
    },
  };
}

/** A device that is on: it has one connection open all the time, and renews its certificate by itself. */
function device({ directory, port }: { directory: string; port: number }): Role {
  const clock = createFakeClock(Date.now());
  const off = new AbortController();
  const first = openCredential(directory).tls;
  let open: TLSSocket | undefined;
  let opened = 0;
  let renewed = Promise.withResolvers<void>();
  void keepRenewed({
    directory,
    clock,
    signal: off.signal,
    renew: (credential) => requestRenewal(credential, { host: '127.0.0.1', port }),
    told: ({ kind }) => (kind === 'renewed' ? renewed.resolve() : renewed.reject(new Error(kind))),
  });
  const dial = (tls = openCredential(directory).tls) => {
    const socket = connect({ host: '127.0.0.1', port, ...clientTlsOptions(tls) });
    // Asked now: a client of TLS 1.3 has forgotten it when the tickets have come.
    return socket.once('secureConnect', () => servers.set(socket, socket.getPeerX509Certificate()?.serialNumber));
  };
  return {
    commands: {
      open() {
        opened += 1;
        const event = `closed ${opened}`;
        open = dial().on('error', () => undefined);
        open.once('close', () => say({ event }));
        return askOn(open);
      },
      askOnOpen: () => (open === undefined ? 'none' : askOn(open)),
      askAnew: () => askOnce(dial()),
      askWithTheFirst: () => askOnce(dial(first)),
      async liveFor({ days = 0 }) {
        renewed = Promise.withResolvers<void>();
        await clock.advance(days * DAY_MS);
        await renewed.promise;
        return clock.now() < openCredential(directory).notAfter;
      },
      /** As it does by itself when its time has come. */
      async renewNow() {
        storeCertificate(directory, await requestRenewal(openCredential(directory), { host: '127.0.0.1', port }));
      },
    },
    async close() {
      off.abort();
      open?.destroy();
    },
  };
}

/** What the daemon says of us, and which certificate it showed. */
async function askOn(socket: TLSSocket): Promise<unknown> {
  if (socket.destroyed) return 'closed';
  const ended = new Promise<undefined>((resolve) => void socket.once('close', () => resolve(undefined)));
  socket.write('GET / HTTP/1.1\r\nHost: palyrad\r\n\r\n');
  let text = '';
  while (!text.endsWith('0\r\n\r\n')) {
    const chunk = await Promise.race([once(socket, 'data').catch(() => undefined), ended]);
    if (chunk === undefined) return 'closed';
    text += String(chunk[0]);
  }
  const { device: id, certificate } = JSON.parse(/^\{.*\}$/m.exec(text)?.[0] ?? '{}');
  if (!text.startsWith('HTTP/1.1 200')) return 'refused';
  return { device: id, shown: certificate.fingerprint, server: servers.get(socket) };
}

async function askOnce(socket: TLSSocket): Promise<unknown> {
  try {
    await once(socket, 'secureConnect');
    return await askOn(socket);
  } catch {
    return 'refused';
  } finally {
    socket.destroy();
  }
}
