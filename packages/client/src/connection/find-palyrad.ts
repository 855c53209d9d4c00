import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { systemClock } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import type { TlsFiles } from './client-tls.ts';
import { checkPrivateDirectory, readPrivateFile } from './read-private-file.ts';
import { requireCurrent } from './require-current.ts';

/** What palyrad writes into its home while it listens. */
export interface Listening {
  readonly pid: number;
  readonly version: string;
  /** Host and port of the API. */
  readonly address: string;
  readonly console?: string;
  /** For clients that have a token and no certificate. */
  readonly tokens?: string;
  readonly pairing?: string;
  readonly started_at: string;
}

/** Which of the two credentials that every home begins with. */
export type LocalCredential = 'agent' | 'operator';

const ADDRESS_FILE = 'palyrad.json';
const DIRECTORIES: Readonly<Record<LocalCredential, string>> = { agent: 'local-agent', operator: 'operator' };
const ADDRESS = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/;

/** PALYRA_HOME, or `~/.palyra`. Throws `client.invalid_options`. */
// oxlint-disable-next-line node/no-process-env -- the SDK is the edge of whatever program uses it, and reads this one name
export function findHome(variables: Readonly<Record<string, string | undefined>> = process.env): string {
  const chosen = variables['PALYRA_HOME'] ?? join(homedir(), '.palyra');
  if (isAbsolute(chosen)) return chosen;
  throw new ClientError('client.invalid_options', 'PALYRA_HOME is not an absolute path.', {
    fix: 'Unset it, or give it a path that starts with /.',
  });
}

/** Throws `client.unreachable` when nobody listens, `client.credential_unsafe`. */
export function readListening(home: string): Listening {
  try {
    const found = JSON.parse(readPrivateFile(join(home, ADDRESS_FILE))) as Partial<Listening>;
    if (isListening(found)) return found;
  } catch (error) {
    if (error instanceof ClientError && error.code === 'client.credential_unsafe') throw error;
    throw notListening(error);
  }
  throw notListening();
}

/** Read anew for each connection: palyrad renews them. Throws `client.credential_missing`, `_unsafe`, `_refused`. */
export function readCredential(home: string, name: LocalCredential): TlsFiles {
  // SECURITY: T-40 — one directory and no other: what acts for an agent never opens the operator's.
  const directory = join(home, 'identity', DIRECTORIES[name]);
  checkPrivateDirectory(directory);
  const files = {
    ca: readPrivateFile(join(directory, 'authorities.crt')),
    cert: readPrivateFile(join(directory, 'device.crt')),
    key: readPrivateFile(join(directory, 'device.key')),
  };
  requireCurrent(files, { clock: systemClock, fix: RENEWED_BY_ITSELF });
  return files;
}

const RENEWED_BY_ITSELF =
  'palyrad renews it within a minute, as after a long sleep of this host: try again. If it does not, run: palyra init';

/** Throws `client.invalid_options`. */
export function checkAddress(address: string): string {
  if (ADDRESS.test(address)) return address;
  throw new ClientError('client.invalid_options', 'The address of palyrad is not HOST:PORT.', {
    fix: 'Give it like 127.0.0.1:7443, or [::1]:7443.',
  });
}

function isListening(found: Partial<Listening>): found is Listening {
  return typeof found.address === 'string' && ADDRESS.test(found.address) && typeof found.pid === 'number';
}

function notListening(cause?: unknown): ClientError {
  return new ClientError('client.unreachable', 'No palyrad is running for this home.', {
    fix: 'Start it with `palyra up`, or set PALYRA_HOME to the home that is meant.',
    ...(cause === undefined ? {} : { cause }),
  });
}
