import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openAuthority, type TlsIdentity } from '@palyra/identity';
import { type IdentityHouse, identityHouse } from '../tests/attack/identity-house.ts';
import { listenIn } from '../tests/attack/identity-listener.ts';
import { enrolmentListener, http2Listener, streamListener } from '../tests/attack/matrix-listeners.ts';

/**
 * `node --conditions=palyra-source tools/scan-listeners.ts [LISTENER…]`
 *
 * Every listener of identity under testssl.sh, by hand: a scan takes minutes. Prints what it finds above LOW; the exit code is
 * 0 when that is nothing but what is so by design. Clients' certificates are shown through a wrapper of openssl.
 */
interface Target extends AsyncDisposable {
  readonly port: number;
  /** Of the authority that its certificate is of. */
  readonly authorities: string;
  /** Whom it serves, where it asks. */
  readonly client?: TlsIdentity;
}

interface Finding {
  readonly id: string;
  readonly severity: string;
  readonly finding: string;
}

/** Short lives instead of lists of the revoked: docs/adr/0012-identity-keys-and-trust.md. */
const BY_DESIGN = ['cert_expirationStatus', 'cert_notAfter', 'cert_revocation'];
const HARMLESS = ['OK', 'INFO', 'LOW', 'DEBUG'];
const SCANNER = 'testssl';
const BIN = fileURLToPath(new URL('../apps/cli/bin/palyra.mjs', import.meta.url));

const TARGETS: ReadonlyMap<string, (house: IdentityHouse) => Promise<Target>> = new Map([
  ['mtls', async (house: IdentityHouse) => guarded(house, await listenIn(house))],
  ['mtls-http2', async (house: IdentityHouse) => guarded(house, await http2Listener(house))],
  ['mtls-stream', async (house: IdentityHouse) => guarded(house, await streamListener(house, {}))],
  [
    'enrolment',
    async (house: IdentityHouse) => ({ ...(await enrolmentListener(house)), authorities: house.authority.bundle() }),
  ],
  ['pairing', pairing],
]);

const scratch = mkdtempSync(join(tmpdir(), 'palyra-scan-'));
try {
  await using house = await identityHouse();
  const wanted = process.argv.slice(2);
  for (const [name, open] of TARGETS) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await using target = await open(house);
    const found = (await scan(name, target)).filter(({ severity }) => !HARMLESS.includes(severity));
    for (const { id, severity, finding } of found) console.log([name, severity, id, finding].join('\t'));
    const isDesigned = found.every(({ id }) => BY_DESIGN.includes(id.replace(/ .*/, '')));
    console.log(`${name}\t${isDesigned ? 'as designed' : 'NOT AS DESIGNED'}`);
    if (!isDesigned) process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true });
}

async function guarded(house: IdentityHouse, listener: AsyncDisposable & { readonly port: number }): Promise<Target> {
  const { tls } = await house.letIn(`scanner-${listener.port}`, 'operator');
  return {
    port: listener.port,
    authorities: house.authority.bundle(),
    client: tls,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/** The command itself, in a home of its own. */
async function pairing(): Promise<Target> {
  const home = join(scratch, 'home');
  const environment = { ...process.env, PALYRA_HOME: home };
  await once(spawn(process.execPath, [BIN, 'init'], { env: environment, stdio: 'ignore' }), 'exit');
  const args = ['device', 'pair', '--kind', 'node', '--name', 'scan', '--listen', '127.0.0.1:0', '--yes', '--json'];
  const child = spawn(process.execPath, [BIN, ...args], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { address } = JSON.parse(String(line)) as { readonly address: string };
  return {
    port: Number(/\d+$/.exec(address)?.[0]),
    authorities: openAuthority(join(home, 'identity')).bundle(),
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      await exited;
    },
  };
}

async function scan(name: string, { port, authorities, client }: Target): Promise<readonly Finding[]> {
  const ca = join(scratch, `${name}-ca.pem`);
  writeFileSync(ca, authorities);
  const report = join(scratch, `${name}.json`);
  const openssl = client === undefined ? [] : ['--openssl', showing(name, client)];
  const options = ['--quiet', '--color', '0', '--warnings', 'off', '--nodns', 'none', '--ip', '127.0.0.1'];
  const args = [...options, ...openssl, '--add-ca', ca, '--jsonfile', report, `127.0.0.1:${port}`];
  await new Promise((resolve) => void execFile(SCANNER, args, { maxBuffer: 2 ** 26 }, resolve));
  return JSON.parse(readFileSync(report, 'utf8')) as readonly Finding[];
}

/** Of the scanner's options none is for a client's certificate, so the program that it calls shows one by itself. */
function showing(name: string, { key, certificate }: TlsIdentity): string {
  const [keyFile, certificateFile, wrapper] = ['key', 'crt', 'sh'].map((end) => join(scratch, `${name}.${end}`));
  writeFileSync(String(keyFile), key, { mode: 0o600 });
  writeFileSync(String(certificateFile), certificate);
  const shown = `case $1 in s_client) exec openssl "$@" -key ${keyFile} -cert ${certificateFile} ;; esac`;
  writeFileSync(String(wrapper), `#!/bin/sh\n${shown}\nexec openssl "$@"\n`);
  chmodSync(String(wrapper), 0o755);
  return String(wrapper);
}
