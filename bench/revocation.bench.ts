import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientTlsOptions, type TlsIdentity } from '@palyra/identity';
import { type PrivatePostgres, startPrivatePostgres } from '@palyra/testkit';
import { type IdentityHouse, identityHouse } from '../tests/attack/identity-house.ts';
import { type Contender, defineBenchmark } from './harness.ts';
import { directoryOnDisk } from './raw-appends.ts';

interface Context {
  readonly directory: string;
  readonly postgres: PrivatePostgres;
}

export default defineBenchmark<Context>({
  name: 'revocation',
  description: 'From a revocation’s commit until the last of two other processes has ended the device’s stream.',
  baseline: 'sqlite',
  ratioOf: 'p50_ms',
  defaults: { seconds: 10 },
  setup: async () => ({ directory: await directoryOnDisk(), postgres: await startPrivatePostgres() }),
  async teardown({ directory, postgres }) {
    await postgres.stop();
    await rm(directory, { recursive: true });
  },
  contenders: [
    revoking('sqlite', onSqlite, 'node'),
    revoking('postgres', onPostgres, 'node'),
    // What the clock makes up for, when the notice was lost with its connection.
    revoking('sqlite-notice-lost', onSqlite, 'deaf'),
    revoking('postgres-notice-lost', onPostgres, 'deaf'),
  ],
});

type OpenHouse = (context: Context, name: string) => Promise<IdentityHouse>;

function onSqlite({ directory }: Context, name: string): Promise<IdentityHouse> {
  return identityHouse({ location: { kind: 'sqlite', path: join(directory, `${name}.db`) } });
}

async function onPostgres({ postgres }: Context): Promise<IdentityHouse> {
  const { url } = await postgres.createDatabase();
  return identityHouse({ location: { kind: 'postgres', url, poolSize: 4 } });
}

/** Two that listen, and one that revokes; the device is this process. */
function revoking(name: string, openHouse: OpenHouse, role: 'node' | 'deaf'): Contender<Context> {
  return {
    name,
    async prepare(context) {
      const house = await openHouse(context, name);
      const [nodes, revoker] = [[start(role, house), start(role, house)], start('revoker', house)];
      const ports = (await Promise.all(nodes.map(answerOf))).map(Number);
      await answerOf(revoker);
      let turn = 0;
      return {
        sample: 'result',
        async operation() {
          turn += 1;
          const { tls, device } = await house.letIn(`${name}-${turn}`, 'agent');
          const ends = await Promise.all(ports.map((port) => openStream(port, tls)));
          const told = answerOf(revoker);
          revoker.send(device);
          const durable = Number(await told);
          // The notice may overtake the answer of the one who revoked.
          return Math.max(0, Math.max(...(await Promise.all(ends.map(({ ended }) => ended)))) - durable);
        },
        async close() {
          await Promise.all([...nodes, revoker].map(leave));
          await house[Symbol.asyncDispose]();
        },
      };
    },
  };
}

function start(role: 'node' | 'deaf' | 'revoker', { location, identity }: IdentityHouse): ChildProcess {
  const program = fileURLToPath(new URL('./revocation-process.ts', import.meta.url));
  return fork(program, [role, JSON.stringify({ location, identity })], { execArgv: ['--conditions=palyra-source'] });
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [answer] = await once(child, 'message');
  return answer;
}

async function leave(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.disconnect();
  await exited;
}

/** Open, and when it ends: the time at which its device knows. */
async function openStream(port: number, identity: TlsIdentity): Promise<{ readonly ended: Promise<number> }> {
  const sent = request({ host: '127.0.0.1', port, path: '/stream', agent: false, ...clientTlsOptions(identity) });
  sent.on('error', () => undefined);
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  response.resume();
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  response.once('close', () => resolve(performance.timeOrigin + performance.now()));
  return { ended };
}
