import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type IdentityHouse, identityHouse } from '../attack/identity-house.ts';

// Certificates, connections and time in three processes: palyrad, and two devices that stay connected to it.

const PROGRAM = fileURLToPath(new URL('identity-process-program.ts', import.meta.url));

interface Side extends AsyncDisposable {
  ask(what: string, input?: Readonly<Record<string, number>>): Promise<unknown>;
  /** Resolves with the first event of this name. */
  event(name: string): Promise<void>;
}

async function start(role: 'daemon' | 'device', place: object): Promise<Side> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--conditions=palyra-source', PROGRAM, role, JSON.stringify(place)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const waiting: ((answer: unknown) => void)[] = [];
  const events = new Map<string, PromiseWithResolvers<void>>();
  const eventOf = (name: string) => {
    const found = events.get(name) ?? Promise.withResolvers<void>();
    events.set(name, found);
    return found;
  };
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const told = JSON.parse(line);
    if ('event' in told) eventOf(told.event).resolve();
    else waiting.shift()?.(told.answer);
  });
  const exited = once(child, 'exit');
  const ended = exited.then(() => Promise.reject(new Error(`The ${role} ended.`)));
  ended.catch(() => undefined);
  await Promise.race([eventOf('ready').promise, ended]);
  return {
    ask(what, input = {}) {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      waiting.push(resolve);
      child.stdin?.write(`${JSON.stringify({ do: what, ...input })}\n`);
      return Promise.race([promise, ended]);
    },
    event: (name) => eventOf(name).promise,
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      await exited;
    },
  };
}

async function startDevice(house: IdentityHouse, name: string, port: number): Promise<Side & { readonly id: string }> {
  const { device: id } = await house.letIn(name, 'agent');
  return { ...(await start('device', { directory: join(house.identity, 'devices', name), port })), id };
}

interface Seen {
  readonly device: string;
  /** The certificate that the daemon was shown. */
  readonly shown: string;
  /** The certificate that the daemon showed. */
  readonly server: string;
}

test('renewal, the swap of the daemon’s certificate and a roll-over pass by connections that are open; then the old one counts for nothing', async () => {
  await using house = await identityHouse({ lifetimes: { certificateMs: 60 * 86_400_000 } });
  await using daemon = await start('daemon', { location: house.location, identity: house.identity });
  const port = Number(await daemon.ask('port'));
  await using renewing = await startDevice(house, 'renewing', port);
  await using waiting = await startDevice(house, 'waiting', port);
  const before = (await renewing.ask('open')) as Seen;
  expect(before).toMatchObject({ device: renewing.id });
  await waiting.ask('open');

  // The device renews by itself in time. Its connection stays, with the certificate it was opened with; both are good.
  expect(await renewing.ask('liveFor', { days: 45 })).toBe(true);
  const [anew, first] = [await renewing.ask('askAnew'), await renewing.ask('askWithTheFirst')] as Seen[];
  expect(anew?.shown).not.toBe(before.shown);
  expect([await renewing.ask('askOnOpen'), first]).toEqual([before, before]);
  expect((await house.registry.find(renewing.id as never))?.certificate).toBe(anew?.shown);

  // The daemon's own: new connections meet another certificate, the open one goes on.
  await daemon.ask('ahead', { days: 45 });
  expect(await daemon.ask('tend')).toBe('renewed');
  await daemon.ask('ahead', { days: 0 });
  const swapped = (await renewing.ask('askAnew')) as Seen;
  expect(swapped.server).not.toBe(before.server);
  expect(await renewing.ask('askOnOpen')).toEqual(before);

  // The next authority is known, and signs nothing; a device that renews hears of it.
  expect([await daemon.ask('roll'), await daemon.ask('tend')]).toEqual(['prepared', 'other authorities']);
  await renewing.ask('renewNow');
  await waiting.ask('renewNow');
  // It signs: the daemon has a certificate of it, and is met by devices with certificates of either one.
  expect([await daemon.ask('roll', { days: 14 }), await daemon.ask('tend')]).toEqual(['activated', 'renewed']);
  expect(await daemon.ask('trustAhead', { days: 0 })).toEqual(['current', 'previous']);
  await renewing.ask('renewNow');
  const [ofTheNew, ofTheOld] = [await renewing.ask('askAnew'), await waiting.ask('askAnew')] as Seen[];
  expect([ofTheNew?.device, ofTheOld?.device]).toEqual([renewing.id, waiting.id]);
  expect(ofTheNew?.server).toBe(ofTheOld?.server);
  expect(await renewing.ask('askOnOpen')).toEqual(before);

  // The window is over. Certificates of the old authority have weeks to live, and count for nothing: what is open ends.
  expect(await daemon.ask('trustAhead', { days: 29 })).toEqual(['current']);
  await Promise.all([renewing.event('closed 1'), waiting.event('closed 1')]);
  expect(await daemon.ask('ended')).toEqual(['unknown_authority', 'unknown_authority']);
  expect(['refused', 'closed']).toContain(await waiting.ask('askAnew'));
  // Nor when the listener has heard of it: then TLS itself refuses.
  expect([await daemon.ask('roll', { days: 29 }), await daemon.ask('tend')]).toEqual(['retired', 'other authorities']);
  expect(['refused', 'closed']).toContain(await waiting.ask('askAnew'));
  expect(((await renewing.ask('askAnew')) as Seen).device).toBe(renewing.id);

  // A device that is revoked in this process loses the connection between the other two.
  const again = (await renewing.ask('open')) as Seen;
  expect(again.device).toBe(renewing.id);
  await house.registry.revoke({ device: renewing.id as never, reason: 'lost', by: 'user:ada' });
  await renewing.event('closed 2');
  expect(await daemon.ask('ended')).toContain('revoked');
});
