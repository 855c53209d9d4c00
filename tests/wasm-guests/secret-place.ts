import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { addModule } from '@palyra/config';
import { parseHostRule } from '@palyra/egress';
import type { BindCredentials, CredentialQuestion, ToolCallResult } from '@palyra/gateway';
import { type JsonObject, Secret } from '@palyra/primitives';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { createCallAuthority } from '../../packages/egress/src/proxy/call-authority.ts';
import { type NetworkHouse, openNetworkHouse } from '../integration/network-house.ts';
import { type GuestText, guest } from './guests.ts';

export const TOKEN = 's3cr3t/of+"the" bound~host';
export const SPARE = 'sp4re-key-of-the-bound-host';
/** Bound and granted, granted only, bound only. */
export const BOUND = 'bound.example';
export const OTHER = 'other.example';
export const AWAY = 'away.example';

/** What a guest could recognise it by. */
export function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString('base64'),
    bytes.toString('base64url'),
    Buffer.from(`Bearer ${secret}`).toString('base64'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret, 'utf16le').toString('latin1'),
  ];
}

const BOUND_TO: Readonly<Record<string, { readonly value: string; readonly hosts: readonly string[] }>> = {
  token: { value: TOKEN, hosts: [BOUND, AWAY] },
  spare: { value: SPARE, hosts: [BOUND] },
  // Nobody can mask this one, and that one does not fit in a header.
  pin: { value: '4711', hosts: [BOUND] },
  lines: { value: 's3cr3t\r\nx-written: by-a-secret', hosts: [BOUND] },
};

/** A vault's stand-in: names, values, hosts. */
function vault(asked: CredentialQuestion[], looked: string[]): BindCredentials {
  return async (question) => {
    asked.push(question);
    return {
      terminate: [],
      // What a guest asks for without a secret has none.
      credential: async () => ({ headers: { authorization: new Secret(`Bearer ${SPARE}`) } }),
      async secret(name) {
        looked.push(name);
        const bound = BOUND_TO[name];
        if (name === 'sealed') throw new Error(`sealed: ${SPARE}`);
        if (bound === undefined) return undefined;
        return {
          value: new Secret(bound.value),
          credential: async ({ host, scheme }) =>
            bound.hosts.includes(host) && scheme === 'https'
              ? { headers: { Authorization: new Secret(`Bearer ${bound.value}`) } }
              : undefined,
        };
      },
    };
  };
}

/** Emits, logs, keeps and answers with whatever `name` gives it: all that it ever has is seen outside. */
const teller = (name: 'secret_use' | 'http_request'): GuestText => ({
  imports: `
    (import "palyra" "${name}" (func $ask (param i64 i32 i32) (result i32)))
    (import "palyra" "fetch_result" (func $fetch (param i64 i32 i32) (result i32)))
    (import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))
    (import "palyra" "log" (func $log (param i64 i32 i32 i32) (result i32)))
    (import "palyra" "kv_put" (func $put (param i64 i32 i32 i32 i32) (result i32)))`,
  parts: '(data (i32.const 16) "k")',
  call: `(local $got i32)
    (drop (call $ask (local.get $h) (local.get $p) (local.get $n)))
    (local.set $got (call $fetch (local.get $h) (i32.const 8192) (i32.const 49152)))
    (drop (call $emit (local.get $h) (i32.const 8192) (local.get $got)))
    (drop (call $log (local.get $h) (i32.const 1) (i32.const 8192) (local.get $got)))
    (drop (call $put (local.get $h) (i32.const 16) (i32.const 1) (i32.const 8192) (local.get $got)))
    (call $packed (i32.const 8192) (local.get $got))`,
});

export interface SecretPlace extends AsyncDisposable {
  readonly house: NetworkHouse;
  readonly port: number;
  /** Requests that came: host, method, path, each header that could be the secret's, and whether its answer may be packed. */
  readonly seen: string[];
  /** What the vault was asked, and for which names. */
  readonly asked: CredentialQuestion[];
  readonly looked: string[];
  /** Everything that was said to WASM hosts, on the runs' streams and in the log. */
  readonly told: { readonly hosts: Buffer[]; readonly streams: Buffer[]; readonly log: string[] };
  /** The next hosts run this instead, in the same box and on the same pipes. */
  takeOver(program: string | undefined): void;
  call(module: string, input: JsonObject): Promise<ToolCallResult>;
  /** Files of palyrad's that hold one of these. */
  filesWith(texts: readonly string[]): readonly string[];
}

/** A palyrad with a vault's stand-in, modules, and three names on one TLS server. */
export async function openSecretPlace(): Promise<SecretPlace> {
  const seen: string[] = [];
  const origins = createCallAuthority([BOUND, OTHER, AWAY].map(parseHostRule), Date.now());
  let last = '';
  const server = createServer({ SNICallback: (name, done) => done(null, origins.contextFor(name)) }, (got, answer) => {
    const { url = '', headers, method } = got;
    const { authorization = '-' } = headers;
    const beside = ['authorization_', 'x-written', 'x-mine'].flatMap((name) => headers[name] ?? []);
    const packs = authorization === '-' || headers['accept-encoding'] === 'identity' ? [] : ['packed'];
    seen.push([headers.host?.split(':')[0], method, url, authorization, ...beside, ...packs].join(' '));
    const secret = authorization.replace(/^Bearer /, '');
    if (url === '/away') {
      const location = `https://${OTHER}:${portOf()}/landed?key=${encodeURIComponent(secret)}`;
      return void answer.writeHead(307, { location }).end();
    }
    if (url === '/last') return void answer.end(last);
    last = authorization;
    if (url !== '/echo') return void answer.end('hello');
    answer.writeHead(200, {
      'x-said': authorization,
      'x-hex': Buffer.from(secret).toString('hex'),
      'content-encoding': 'gzip',
    });
    answer.end(gzipSync(formsOf(secret).join('\n')));
  }).listen(0, '127.0.0.1');
  const portOf = () => (server.address() as AddressInfo).port;
  await once(server, 'listening');
  const port = portOf();

  const base = mkdtempSync('/tmp/palyra-secret-use-');
  const authorities = join(base, 'origins.pem');
  writeFileSync(authorities, origins.caPem);
  const told: SecretPlace['told'] = { hosts: [], streams: [], log: [] };
  let program: string | undefined;
  const operator = { path: '/usr/bin:/bin', home: base, palyraHome: join(base, '.palyra'), environment: {} };
  const real = await createSandbox({ operator, logger: { error: () => undefined }, pool: 'off' });
  const sandbox = Object.assign(Object.create(real) as Sandbox, {
    run: overheard(real, told.hosts, () => program),
  });
  const [asked, looked]: [CredentialQuestion[], string[]] = [[], []];
  const house = await openNetworkHouse(
    { names: [BOUND, OTHER, AWAY], ports: [port], settings: settingsOf(authorities) },
    {
      sandbox,
      credentials: vault(asked, looked),
      log: { level: 'debug', destination: { write: (line) => void told.log.push(line) } },
    },
  );
  asked.length = 0;
  await installAll(house, port);
  return {
    house,
    port,
    seen,
    asked,
    looked,
    told,
    takeOver: (taken) => {
      program = taken;
    },
    async call(module, input) {
      seen.length = 0;
      const onOutput = (_: string, bytes: Uint8Array) => void told.streams.push(Buffer.from(bytes));
      return house.run.call({ tool: 'palyra.wasm.run', input: JSON.stringify({ module, input }), onOutput });
    },
    filesWith: (texts) => filesWith(dirname(house.home.root), texts),
    async [Symbol.asyncDispose]() {
      await house.close();
      rmSync(base, { recursive: true, force: true });
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Whoever starts a host on a machine that does much else needs more than the usual time. */
const settingsOf = (authorities: string) =>
  `authorities = "${authorities}"\nunlisted = "deny"\n[wasm_runtime]\nwall_ms = 60000`;

async function installAll({ home }: NetworkHouse, port: number): Promise<void> {
  mkdirSync(home.modules, { mode: 0o700 });
  const own = { kv: true, emit: true };
  const http = [`${BOUND}:${port}`, `${OTHER}:${port}`];
  const [user, reader] = [await guest(teller('secret_use')), await guest(teller('http_request'))];
  const modules = {
    user: [user, { ...own, http, secrets: ['token', 'pin', 'lines', 'gone', 'sealed'] }],
    // The same module without the grant, and with a grant that leads nowhere.
    plain: [user, { ...own, http }],
    homeless: [user, { ...own, secrets: ['token'] }],
    reader: [reader, { ...own, http }],
    'taken-user': [user, { ...own, http, secrets: ['token'] }],
    'taken-reader': [reader, { ...own, http }],
  } as const;
  for (const [name, [bytes, grants]] of Object.entries(modules)) {
    await addModule(home.modules, { name, bytes, grants, limits: {} }, { replace: false });
  }
}

/** A sandbox that runs what it is told, or `swapped` in its place where it is a WASM host, and lets all that is written be read. */
function overheard(real: Sandbox, heard: Buffer[], swapped: () => string | undefined): Sandbox['run'] {
  return (command, profile, options = {}) => {
    const { onPipes } = options;
    if (onPipes === undefined) return real.run(command, profile, options);
    const program = swapped();
    const [node = ''] = command.argv;
    const asked = program === undefined ? command : { argv: [node, '-e', program] };
    return real.run(asked, profile, {
      ...options,
      onPipes(pipes) {
        const write = (bytes: Uint8Array) => {
          heard.push(Buffer.from(bytes));
          pipes.write(bytes);
        };
        onPipes({ ...pipes, write });
      },
    });
  };
}

function filesWith(directory: string, texts: readonly string[]): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .filter((path) => {
      const bytes = readFileSync(path);
      return texts.some((text) => bytes.includes(text));
    });
}
