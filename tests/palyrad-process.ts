import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { type HomeLayout, homeLayout } from '@palyra/config';
import {
  type Credential,
  clientTlsOptions,
  createSigningRequest,
  credentialDirectory,
  type DeviceKind,
  ensureCredentialKey,
  initialiseIdentity,
  issueDeviceCertificate,
  type LocalCredential,
  type OpenedIdentityHome,
  openAuthority,
  openCredential,
  openIdentityHome,
  type Role,
  storeCertificate,
} from '@palyra/identity';
import { JOURNAL_MIGRATIONS } from '@palyra/journal';
// By itself: the whole of testkit takes longer to load than most of these tests run.
import { createTemporaryHome } from '../packages/testkit/src/temporary-home.ts';

/** palyrad as it is started by everybody, in a process of its own. */
export interface PalyradProcess extends AsyncDisposable {
  readonly home: HomeLayout;
  readonly root: string;
  readonly child: ChildProcess;
  readonly address: string;
  readonly port: number;
  /** What it has said so far, a JSON object a line. */
  log(): string;
  client<Service extends DescService>(service: Service, as: LocalCredential | Credential): Client<Service>;
  /** Plain `curl`, with the protocol that it picks. */
  curl(rpc: string, body: unknown, as: LocalCredential | Credential, options?: readonly string[]): Promise<CurlAnswer>;
  /** A further device of this home. */
  letIn(name: string, kind: DeviceKind, roles?: readonly Role[]): Promise<Credential>;
  revoke(device: Credential): Promise<void>;
  /** Resolves to its exit code. */
  ended(): Promise<number | null>;
  /** Ends it and starts it again on the same home. */
  restart(options?: StartOptions): Promise<PalyradProcess>;
}

export interface CurlAnswer {
  readonly status: number;
  readonly version: string;
  readonly body: Record<string, unknown>;
}

export interface StartOptions {
  /** The text of palyra.toml. */
  readonly config?: string;
  readonly arguments?: readonly string[];
  /** All of its environment; that of the test unless told, and with it the mark by which a test knows what it started. */
  environment?(home: HomeLayout): Readonly<Record<string, string>>;
  /** With all that V8 does for a palyrad that lives: for those who measure it. */
  readonly livesLong?: boolean;
  /** Done to the home before palyrad is started on it. */
  prepare?(home: HomeLayout): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../apps/daemon/src/main.ts', import.meta.url));

/**
 * V8 makes better code of Cedar's WebAssembly while palyrad starts: a seventh of the CPU of a start, and a gain only for those
 * that live for longer than a test. Whoever starts palyrad as people do (tests/e2e) has it, and whoever measures it (bench/).
 */
const SHORT_LIVED = ['--liftoff-only'];

/** A home of its own in a directory that a workspace may lie in too. */
export async function startPalyrad(options: StartOptions = {}): Promise<PalyradProcess> {
  const place = await createTemporaryHome();
  try {
    const home = homeLayout(join(place.path, 'palyra'));
    await makeHome(home);
    await options.prepare?.(home);
    return await startOn(home, options, place);
  } catch (error) {
    await place[Symbol.asyncDispose]();
    throw error;
  }
}

/** As `palyra init` does. */
export async function makeHome(home: HomeLayout): Promise<void> {
  await mkdir(home.root, { mode: 0o700 });
  await mkdir(home.policies, { mode: 0o700 });
  const identity = await openIdentity(home);
  try {
    const { registry } = identity;
    await initialiseIdentity({ identityDirectory: home.identity, registry, operator: 'user:ada' });
  } finally {
    await identity.close();
  }
}

/** Runs palyrad to its end, for those starts that are refused. */
export async function runPalyrad(home: HomeLayout, options: StartOptions = {}): Promise<RefusedStart> {
  const child = spawnOn(home, options);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

export interface RefusedStart {
  readonly code: number | null;
  readonly said: string;
}

function spawnOn(home: HomeLayout, options: StartOptions): ChildProcess {
  const { config, arguments: rest = [], environment, livesLong = false } = options;
  if (config !== undefined || (existsSync(home.root) && !existsSync(home.configFile))) {
    writeFileSync(home.configFile, withoutProxy(config ?? ''), { mode: 0o600 });
  }
  const argv = ['--conditions=palyra-source', ...(livesLong ? [] : SHORT_LIVED), PROGRAM, '--home', home.root, ...rest];
  const env = environment === undefined ? {} : { env: environment(home) };
  return spawn(process.execPath, argv, { ...env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A proxy that the first command of a test starts would be left behind by it. */
function withoutProxy(config: string): string {
  return /\begress\b/.test(config) ? config : `${config}\n[egress]\nunlisted = "deny"\n`;
}

async function startOn(home: HomeLayout, options: StartOptions, place: AsyncDisposable): Promise<PalyradProcess> {
  const child = spawnOn(home, options);
  let said = '';
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const listening = new Promise<void>((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('"palyrad listens."')) resolve();
    });
    child.stdout?.resume();
    void exited.then(() => reject(new Error(`palyrad ended: ${said}`)));
  });
  await listening;
  const { address } = JSON.parse(readFileSync(join(home.root, 'palyrad.json'), 'utf8')) as { address: string };
  const sessions: Http2SessionManager[] = [];
  const credentialOf = (as: LocalCredential | Credential) =>
    typeof as === 'string' ? openCredential(credentialDirectory(home.identity, as)) : as;
  const hangUp = () => {
    for (const session of sessions) session.abort();
  };
  const end = async () => {
    hangUp();
    child.kill('SIGTERM');
    await exited;
  };
  return {
    home,
    root: join(home.root, '..'),
    child,
    address,
    port: Number(address.split(':')[1]),
    log: () => said,
    client(service, as) {
      const manager = new Http2SessionManager(`https://${address}`, {}, clientTlsOptions(credentialOf(as).tls));
      sessions.push(manager);
      const transport = createGrpcTransport({ baseUrl: `https://${address}`, sessionManager: manager });
      return createClient(service, transport);
    },
    curl: (rpc, body, as, more = []) => curl({ address, rpc, body, more }, credentialOf(as)),
    letIn: (name, kind, roles = []) => letIn(home, { name, kind, roles }),
    async revoke({ device }) {
      const identity = await openIdentity(home);
      await identity.registry.revoke({ device, reason: 'lost', by: 'user:ada' });
      await identity.close();
    },
    ended: () => exited,
    async restart(again = {}) {
      await end();
      return startOn(home, { ...options, ...again }, place);
    },
    async [Symbol.asyncDispose]() {
      await end();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** The database of a home, for those who change its devices behind palyrad's back. */
export function openIdentity({ database }: HomeLayout): Promise<OpenedIdentityHome> {
  return openIdentityHome(
    { location: { kind: 'sqlite', path: database }, lockTimeoutMs: 5_000 },
    { logger: { error: () => undefined }, create: { alsoKnown: JOURNAL_MIGRATIONS } },
  );
}

async function letIn(
  home: HomeLayout,
  { name, kind, roles }: { readonly name: string; readonly kind: DeviceKind; readonly roles: readonly Role[] },
): Promise<Credential> {
  const { registry, close } = await openIdentity(home);
  const directory = join(home.root, '..', `device-${name}`);
  const csrDer = await createSigningRequest(ensureCredentialKey(directory));
  const prefix = kind === 'operator' ? 'user' : kind === 'agent' ? 'agent' : 'service';
  const issue = issueDeviceCertificate(
    { registry, authority: openAuthority(home.identity) },
    { by: 'user:ada', principalFor: () => `${prefix}:${name}`, roles },
  );
  storeCertificate(directory, await issue({ csrDer, kind, name }));
  await close();
  return openCredential(directory);
}

interface CurlRequest {
  readonly address: string;
  readonly rpc: string;
  readonly body: unknown;
  readonly more: readonly string[];
}

async function curl({ address, rpc, body, more }: CurlRequest, { tls }: Credential): Promise<CurlAnswer> {
  await using files = await createTemporaryHome();
  const write = (name: string, text: string) => {
    writeFileSync(join(files.path, name), text, { mode: 0o600 });
    return join(files.path, name);
  };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const credential = ['--cacert', write('ca', tls.authorities), '--cert', write('crt', tls.certificate)];
  const { stdout } = await promisify(execFile)('curl', [
    '--silent',
    '--max-time',
    '30',
    ...credential,
    '--key',
    write('key', tls.key),
    '--header',
    'content-type: application/json',
    '--data-binary',
    `@${write('body', text)}`,
    '--write-out',
    '\n%{http_code} %{http_version}',
    ...more,
    `https://${address}/palyra.v1.${rpc}`,
  ]);
  const end = stdout.lastIndexOf('\n');
  const [status, version = ''] = stdout.slice(end + 1).split(' ');
  return { status: Number(status), version, body: parsed(stdout.slice(0, end)) };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}
