import { EventEmitter } from 'node:events';
import { createFakeClock } from '@palyra/testkit';
import type pg from 'pg';
import { expect, test, vi } from 'vitest';
import { createSubscriptions } from '../subscriptions.ts';
import { createListener } from './listen.ts';

/** The machine may be busy. */
const PATIENT = { timeout: 15_000 };

/** As much of `pg`'s client as a listener uses; `silent` stands for a cable that was pulled. */
class ScriptedClient extends EventEmitter {
  silent = false;
  breaksAtListen = false;
  ended = false;
  readonly queries: string[] = [];
  readonly connection: { stream: { destroy: () => void } } = { stream: { destroy: () => this.#fail() } };
  #fail: () => void = () => undefined;

  query(text: string): Promise<void> {
    this.queries.push(text);
    if (this.breaksAtListen) {
      void this.end();
      return Promise.reject(new Error('Connection terminated'));
    }
    if (!this.silent) return Promise.resolve();
    return new Promise((_resolve, reject) => {
      this.#fail = () => {
        reject(new Error('Connection terminated'));
        this.emit('end');
      };
    });
  }
  end(): Promise<void> {
    this.ended = true;
    this.emit('end');
    return Promise.resolve();
  }
}

async function startListener() {
  const clock = createFakeClock();
  const clients: ScriptedClient[] = [];
  const subscriptions = createSubscriptions({ error: () => undefined });
  const heard: string[] = [];
  subscriptions.add('runs', (event) => heard.push(event.kind === 'gap' ? 'gap' : event.payload));
  const connect = () => {
    const client = new ScriptedClient();
    clients.push(client);
    return Promise.resolve(client as unknown as pg.Client);
  };
  const listener = createListener({ connect, subscriptions, clock, logger: { error: () => undefined } });
  await listener.start();
  return { clock, clients, heard, listener };
}

test('a connection that answers its heartbeat is kept', async () => {
  const { clock, clients, heard, listener } = await startListener();
  for (let i = 0; i < 8; i += 1) await clock.advance(15_000);
  clients[0]?.emit('notification', { payload: JSON.stringify({ channel: 'runs', payload: 'still here' }) });
  expect({ connections: clients.length, heard }).toEqual({ connections: 1, heard: ['still here'] });
  await listener.close();
});

test('a connection that went silent is replaced, and the gap is told', async () => {
  const { clock, clients, heard, listener } = await startListener();
  for (const client of clients) client.silent = true;
  for (let i = 0; i < 4; i += 1) await clock.advance(15_000);
  await vi.waitFor(
    () => expect({ connections: clients.length, heard }).toEqual({ connections: 2, heard: ['gap'] }),
    PATIENT,
  );
  await listener.close();
});

test('a connection that breaks before it listens does not bring a second one', async () => {
  const clock = createFakeClock();
  const subscriptions = createSubscriptions({ error: () => undefined });
  const heard: string[] = [];
  subscriptions.add('runs', (event) => heard.push(event.kind === 'gap' ? 'gap' : event.payload));
  const clients: ScriptedClient[] = [];
  const connect = () => {
    const client = new ScriptedClient();
    client.breaksAtListen = clients.length < 3;
    clients.push(client);
    return Promise.resolve(client as unknown as pg.Client);
  };
  const listener = createListener({ connect, subscriptions, clock, logger: { error: () => undefined } });
  for (let i = 0; i < 3; i += 1) await expect(listener.start()).rejects.toThrow('Connection terminated');
  await listener.start();
  for (let i = 0; i < 5; i += 1) await clock.advance(2_000);
  for (const client of clients) {
    client.emit('notification', { payload: JSON.stringify({ channel: 'runs', payload: 'once' }) });
  }
  expect({ connections: clients.length, heard, ended: clients.map(({ ended }) => ended) }).toEqual({
    connections: 4,
    heard: ['once'],
    ended: [true, true, true, false],
  });
  await listener.close();
});

test('what others put on our channel is passed over', async () => {
  const { clients, heard, listener } = await startListener();
  for (const payload of [undefined, '', 'not json', '{"channel":1}', 'null', '[]'])
    clients[0]?.emit('notification', { payload });
  expect(heard).toEqual([]);
  await listener.close();
});
