import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ordinaryUser } from '@palyra/testkit';
import { copyIntoCheckout } from '../../packages/testkit/src/readable-checkout.ts';
import type { ServiceFacts, ServiceOrder, ServiceSettings } from './service-program.ts';

/** A palyrad that is a service, started by root, for somebody else's workspace. */
export interface ServicePlace extends ServiceFacts {
  readonly base: string;
  readonly state: string;
  /** 0700, below a home of mode 0700: nothing of it can be seen by palyrad's user. */
  readonly workspace: string;
  readonly daemonUid: number;
  readonly ownerUid: number;
  /** The process that has the sandbox. */
  readonly hostPid: number;
  /** Resolves with a code when no tool can be started any more. */
  readonly lost: Promise<string>;
  tell<Answer>(order: ServiceOrder): Promise<Answer>;
  /** In the workspace, as its owner. */
  put(path: string, text: string): string;
  close(): Promise<void>;
}

export interface ServicePlaceOptions {
  /** A program that does something to itself and then becomes palyrad. */
  readonly through?: readonly string[];
  /** palyra.toml; without a proxy unless told. */
  readonly toml?: string;
  /** Before it starts. */
  prepare?(settings: ServiceSettings): void;
}

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = 'tests/service/service-program.ts';

/** Throws the code when it refuses to start. */
export async function startServicePlace({
  through = [],
  prepare,
  toml = '[egress]\nunlisted = "deny"',
}: ServicePlaceOptions = {}): Promise<ServicePlace> {
  const { checkout } = await ordinaryUser();
  await copyIntoCheckout(CHECKOUT, checkout, PROGRAM);
  const base = mkdtempSync('/tmp/palyra-service-');
  chmodSync(base, 0o755);
  const [daemonUid, ownerUid] = [randomInt(70_000, 80_000), randomInt(80_000, 90_000)];
  const home = owned(join(base, 'ada'), ownerUid);
  const workspace = owned(join(home, 'work'), ownerUid);
  const settings: ServiceSettings = {
    state: join(base, 'state'),
    workspace,
    daemon: { uid: daemonUid, gid: daemonUid },
    owner: { uid: ownerUid, gid: ownerUid, home },
    toml,
  };
  prepare?.(settings);
  const node = [join(checkout, 'bin/node'), '--conditions=palyra-source', join(checkout, PROGRAM)];
  const argv = [...through, ...node, JSON.stringify(settings)];
  const child = spawn(argv[0] ?? '', argv.slice(1), {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'inherit'],
  }) as ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };
  const talk = createTalk(child);
  const remove = () => rmSync(base, { recursive: true, force: true });
  const facts = await talk.ready.catch((error: unknown) => {
    remove();
    throw error;
  });
  const hostPid = childrenOf(facts.pid).find((pid) => childrenOf(pid).includes(facts.launcherPid)) ?? 0;
  return {
    ...facts,
    base,
    state: settings.state,
    workspace,
    daemonUid,
    ownerUid,
    hostPid,
    lost: talk.lost,
    tell: talk.tell,
    put(path, text) {
      const at = join(workspace, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, text);
      for (let each = at; each !== workspace; each = dirname(each)) chownSync(each, ownerUid, ownerUid);
      return at;
    },
    async close() {
      const gone = once(child, 'close');
      if (child.exitCode === null && child.signalCode === null) {
        await Promise.race([talk.tell({ act: 'close' }), gone]);
        child.stdin.end();
        await gone;
      }
      remove();
    },
  };
}

function childrenOf(pid: number): readonly number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const texts = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'));
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number));
}

function owned(path: string, uid: number): string {
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, uid, uid);
  return path;
}

type Said = Partial<ServiceFacts> & {
  readonly refused?: string;
  readonly lost?: string;
  readonly id?: number;
  readonly answer?: unknown;
};

function createTalk(child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable }) {
  const ready = Promise.withResolvers<ServiceFacts>();
  const lost = Promise.withResolvers<string>();
  const waiting = new Map<number, (answer: unknown) => void>();
  let orders = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as Said;
    if (said.refused !== undefined) ready.reject(new Error(said.refused));
    else if (said.lost !== undefined) lost.resolve(said.lost);
    else if (said.id === undefined) ready.resolve(said as ServiceFacts);
    else waiting.get(said.id)?.(said.answer);
  });
  child.once('close', (code) => ready.reject(new Error(`It ended with ${code}.`)));
  return {
    ready: ready.promise,
    lost: lost.promise,
    tell: <Answer>(order: ServiceOrder) =>
      new Promise<Answer>((resolve) => {
        orders += 1;
        waiting.set(orders, resolve as (answer: unknown) => void);
        child.stdin.write(`${JSON.stringify({ id: orders, ...order })}\n`);
      }),
  };
}
