import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { RunService, WorkspaceService } from '@palyra/api';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, type StartOptions, startPalyrad } from '../palyrad-process.ts';
import { runInProcess } from './cli-in-process.ts';
import { type Conversation, type FakeModel, startFakeModel, type Turn } from './fake-model.ts';

/** A person's machine with Codex on it, as it comes from npm, and palyrad. Codex's model is ours. */
export interface CodexHouse extends AsyncDisposable {
  readonly palyrad: PalyradProcess;
  /** The person's home. */
  readonly person: string;
  readonly workspace: string;
  readonly model: FakeModel;
  /** `palyra` with the person's own credential. */
  palyra(...args: readonly string[]): ReturnType<typeof runInProcess>;
  /** palyrad again, on the same home. */
  restart(): Promise<void>;
}

export interface CodexSession extends Conversation {
  readonly exit: number | null;
  /** What `codex exec --json` printed, and what it complained about. */
  readonly said: string;
}

/** How Codex is started: as it is, or with something in front of it. */
export type StartCodex = (command: readonly [string, ...string[]], house: CodexHouse) => readonly [string, ...string[]];

export interface CodexOptions {
  readonly start?: StartCodex;
  /** Of Codex's own sandbox; none, unless told. */
  readonly sandbox?: readonly string[];
  /** Another one than the person's own. */
  readonly codexHome?: string;
}

/** As npm links it. */
export const CODEX: string = fileURLToPath(new URL('../agents/node_modules/.bin/codex', import.meta.url));

/** What runs is in our box; of what Codex does itself only the hook is asked. */
const UNBOXED = ['-s', 'danger-full-access'];

const asItIs: StartCodex = (command) => command;

/** A person's, and nothing of the test's own. */
function environmentOf(person: string): Record<string, string> {
  const cache = process.env['NODE_COMPILE_CACHE'];
  return {
    PATH: [dirname(process.execPath), dirname(CODEX), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    HOME: person,
    LANG: 'C.UTF-8',
    ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
  };
}

export interface CodexHouseOptions extends Pick<StartOptions, 'prepare'> {
  /** The text of palyra.toml, for a model at this port. */
  config?(model: FakeModel): string;
}

export async function openCodexHouse({ config, prepare }: CodexHouseOptions = {}): Promise<CodexHouse> {
  if (!existsSync(CODEX)) throw new Error('Codex is not installed: npm run setup');
  const model = await startFakeModel();
  let palyrad = await startPalyrad({
    ...(config === undefined ? {} : { config: config(model) }),
    ...(prepare === undefined ? {} : { prepare }),
    environment: ({ root }) => environmentOf(dirname(root)),
  });
  // Boxes that it keeps ready are nobody's leftovers.
  declareLongLived(palyrad.child.pid ?? 0);
  const person = dirname(palyrad.home.root);
  const workspace = join(person, 'project');
  for (const made of [workspace, join(person, 'tmp')]) mkdirSync(made);
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
  return {
    get palyrad() {
      return palyrad;
    },
    person,
    workspace,
    model,
    palyra(...args) {
      const variables = { ...environmentOf(person), PALYRA_HOME: palyrad.home.root };
      return runInProcess({ args, cwd: person, variables, input: '' });
    },
    async restart() {
      palyrad = await palyrad.restart();
      declareLongLived(palyrad.child.pid ?? 0);
    },
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      await palyrad[Symbol.asyncDispose]();
    },
  };
}

/** `palyra install codex`, and the step that is left to the person: trusting the hook in Codex. */
export async function hookCodex(house: CodexHouse): Promise<void> {
  writeCodexConfig(join(house.person, '.codex'));
  const installed = await house.palyra('install', 'codex', '--yes');
  if (installed.exit !== 0) throw new Error(installed.err);
  await trustHooks(house);
}

/** A provider of its own, and nothing that would ask anybody else on the network. */
export function writeCodexConfig(codexHome: string, baseUrl?: string): void {
  mkdirSync(codexHome, { recursive: true });
  writeFileSync(
    join(codexHome, 'config.toml'),
    `model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
wire_api = "responses"
${baseUrl === undefined ? '' : `base_url = "${baseUrl}"`}
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_plugin = false
`,
  );
}

export async function runCodex(
  house: CodexHouse,
  turns: readonly Turn[],
  { start = asItIs, sandbox = UNBOXED, codexHome = join(house.person, '.codex') }: CodexOptions = {},
): Promise<CodexSession> {
  const cwd = house.workspace;
  const conversation = house.model.script(turns);
  const provider = `model_providers.fake.base_url="${conversation.url}"`;
  const flags = ['--json', '--skip-git-repo-check', ...sandbox, '-c', provider, '-C', cwd];
  const [program, ...args] = start([process.execPath, CODEX, 'exec', ...flags, 'Go on.'], house);
  const child = spawn(program, args, {
    cwd,
    env: codexEnvironment(house.person, codexHome),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const [exit] = (await once(child, 'close')) as [number | null];
  return { exit, said, ...conversation };
}

/** What it would ask of others goes to a port where nobody is. */
export function codexEnvironment(person: string, codexHome: string): Record<string, string> {
  return {
    ...environmentOf(person),
    CODEX_HOME: codexHome,
    // It puts its own helpers into no home that lies in a temporary directory, and its sandbox needs them.
    TMPDIR: join(person, 'tmp'),
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1',
  };
}

/** As Codex describes a hook that it has found. */
export interface FoundHook {
  readonly key: string;
  readonly eventName: string;
  readonly command: string;
  readonly timeoutSec: number;
  readonly enabled: boolean;
  readonly currentHash: string;
  readonly trustStatus: 'managed' | 'untrusted' | 'trusted' | 'modified';
}

/** What `/hooks` shows. */
export function listHooks(house: CodexHouse, codexHome?: string): Promise<readonly FoundHook[]> {
  return withAppServer(house, codexHome, (ask) => hooksIn(ask, house.workspace));
}

/** What `/hooks` does when a person trusts all of them: Codex notes the digest of each. */
export async function trustHooks(house: CodexHouse, codexHome?: string): Promise<void> {
  await withAppServer(house, codexHome, async (ask) => {
    const hooks = await hooksIn(ask, house.workspace);
    const value = Object.fromEntries(hooks.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]));
    await ask('config/batchWrite', { edits: [{ keyPath: 'hooks.state', value, mergeStrategy: 'upsert' }] });
  });
}

type Ask = (method: string, params: object) => Promise<unknown>;

async function hooksIn(ask: Ask, cwd: string): Promise<readonly FoundHook[]> {
  const { data } = (await ask('hooks/list', { cwds: [cwd] })) as { data: readonly { hooks: readonly FoundHook[] }[] };
  return data.flatMap(({ hooks }) => hooks);
}

/** The program behind Codex's own windows, which is asked by a line of JSON each. */
async function withAppServer<T>(
  house: CodexHouse,
  codexHome = join(house.person, '.codex'),
  use: (ask: Ask) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, [CODEX, 'app-server'], {
    cwd: house.workspace,
    env: codexEnvironment(house.person, codexHome),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const closed = once(child, 'close');
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as { id?: number; result?: unknown; error?: { message: string } };
    const one = id === undefined ? undefined : waiting.get(id);
    if (error === undefined) one?.resolve(result);
    else one?.reject(new Error(error.message));
  });
  void closed.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('codex app-server ended.'));
  });
  const ask: Ask = (method, params) => {
    const id = waiting.size + 1;
    const answered = Promise.withResolvers<unknown>();
    waiting.set(id, answered);
    child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    return answered.promise;
  };
  try {
    await ask('initialize', { clientInfo: { name: 'palyra-tests', version: '1' } });
    child.stdin.write(`${JSON.stringify({ method: 'initialized' })}\n`);
    return await use(ask);
  } finally {
    child.stdin.end();
    await closed;
  }
}

/** The hooks that Codex has in its settings, as text. */
export function hookSettings({ person }: CodexHouse): string {
  return readFileSync(join(person, '.codex/hooks.json'), 'utf8');
}

/** Of all calls that palyrad has on record, oldest first. */
export async function resultsOnRecord({ palyrad }: CodexHouse) {
  const runs = palyrad.client(RunService, 'operator');
  const { runs: all } = await runs.listRuns({});
  const calls = await Promise.all(all.map(async ({ runId }) => (await runs.getRun({ runId })).calls));
  const ids = calls.flat().map(({ callId }) => callId);
  const pages = await Promise.all(ids.toSorted().map((callId) => runs.getCall({ callId })));
  return pages.map(({ result }) => result);
}
