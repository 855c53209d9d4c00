import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { type Clock, systemClock } from '@palyra/primitives';
import { clientTls, type TlsFiles } from './client-tls.ts';
import { checkPrivateDirectory, readPrivateFile } from './read-private-file.ts';
import { requireCurrent } from './require-current.ts';

/** What `palyra device join` wrote: a key that never leaves its directory, its certificate, and whom it meets. */
export interface DeviceCredential {
  /** Throws `client.credential_missing`, `client.credential_unsafe`, `client.credential_refused` when it has run out. */
  read(): TlsFiles;
  /** Asks palyrad for the next certificate when it is time. Never rejects: what there is stays, and is tried. */
  renewWhenDue(): Promise<void>;
  /** The same, again and again, until the function that it returns is called. It keeps no program alive. */
  keepRenewed(): () => void;
}

export interface DeviceCredentialDeps {
  readonly directory: string;
  /** Host and port of the palyrad of the home that it joined. */
  readonly address: string;
  readonly clock?: Clock;
}

const FILES = { ca: 'authorities.crt', cert: 'device.crt', key: 'device.key' } as const;
/** Far shorter than the third of a life that is left when it is time. */
const LOOK_EVERY_MS = 10 * 60_000;

export function openDeviceCredential({
  directory,
  address,
  clock = systemClock,
}: DeviceCredentialDeps): DeviceCredential {
  const open = (): TlsFiles => {
    checkPrivateDirectory(directory);
    const of = (name: keyof typeof FILES) => readPrivateFile(join(directory, FILES[name]));
    return { ca: of('ca'), cert: of('cert'), key: of('key') };
  };
  const renewWhenDue = async (): Promise<void> => {
    try {
      const present = open();
      if (clock.now() < dueAt(new X509Certificate(present.cert))) return;
      const next = await askForNext(address, present);
      if (next === undefined) return;
      // First the authorities: a certificate of one that is not yet known would be useless.
      replace(join(directory, FILES.ca), next.authorities);
      replace(join(directory, FILES.cert), next.certificate);
    } catch {
      // Whoever connects with what there is is told what is wrong with it.
    }
  };
  return {
    read() {
      const files = open();
      requireCurrent(files, { clock, fix: WAY_BACK });
      return files;
    },
    renewWhenDue,
    keepRenewed() {
      const timer = setInterval(() => void renewWhenDue(), LOOK_EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

const WAY_BACK = 'See "A device that was off for weeks" in docs/reference/identity.md.';

/** When two thirds of its life are over; the old one stays good for the rest. */
function dueAt({ validFromDate, validToDate }: X509Certificate): number {
  return validFromDate.getTime() + ((validToDate.getTime() - validFromDate.getTime()) * 2) / 3;
}

interface Next {
  readonly certificate: string;
  readonly authorities: string;
}

const RENEWAL_PATH = '/identity/v1/renew';
const PATIENCE_MS = 10_000;
const LARGEST_ANSWER = 256 * 1024;

/** For the key that the connection proves. Undefined when palyrad gives none, or one that is of no use. */
async function askForNext(address: string, present: TlsFiles): Promise<Next | undefined> {
  const { certificate, authorities } = JSON.parse(await post(address, present)) as Partial<Next>;
  if (typeof certificate !== 'string' || typeof authorities !== 'string') return undefined;
  const next = { certificate, authorities };
  return isUsable(next, present) ? next : undefined;
}

function post(address: string, present: TlsFiles): Promise<string> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { ...clientTls(present), method: 'POST', agent: false, timeout: PATIENCE_MS };
    const sent = request(new URL(RENEWAL_PATH, `https://${address}`), options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.length > LARGEST_ANSWER) sent.destroy(new Error('The answer has no end.'));
      });
      response.once('error', reject).once('end', () => resolve(text));
    });
    sent.once('timeout', () => sent.destroy(new Error('No answer in time.'))).once('error', reject);
    sent.end('{}');
  });
}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** SECURITY: T-35 — for this device and its key, by one of the authorities: what cannot be used must not replace what can. */
function isUsable({ certificate, authorities }: Next, present: TlsFiles): boolean {
  const [given, before] = [new X509Certificate(certificate), new X509Certificate(present.cert)];
  const issuers = (authorities.match(CERTIFICATES) ?? []).map((pem) => new X509Certificate(pem));
  return (
    issuers.every(({ ca }) => ca) &&
    issuers.some((each) => given.checkIssued(each) && given.verify(each.publicKey)) &&
    given.subjectAltName === before.subjectAltName &&
    given.checkPrivateKey(createPrivateKey(present.key))
  );
}

/** At once and for good: readers find the old text or the new one. */
function replace(path: string, text: string): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  try {
    const file = openSync(
      draft,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
