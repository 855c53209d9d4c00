import { X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DeviceId } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { createDeviceKey, type DeviceKey, readDeviceKey } from '../keys/device-key.ts';
import {
  checkPrivateDirectory,
  createPrivateFile,
  ensurePrivateDirectory,
  fileStamp,
  readPrivateFile,
  replacePrivateFile,
} from '../keys/private-files.ts';
import type { TlsIdentity } from '../tls/tls-options.ts';
import { keyDigestOf } from '../x509/certificate-facts.ts';
import { readDeviceNames } from '../x509/certificate-names.ts';

/** A device's own credential: a key that never leaves its directory, its newest certificate, and whom it meets. */
export interface Credential {
  readonly device: DeviceId;
  readonly kind: DeviceKind;
  readonly key: DeviceKey;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly tls: TlsIdentity;
}

/** What is given with each certificate. All PEM. */
export interface CertificateFiles {
  readonly certificatePem: string;
  readonly caPem: string;
}

const KEY = 'device.key';
export const CERTIFICATE = 'device.crt';
const AUTHORITIES = 'authorities.crt';
const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export function hasCredential(directory: string): boolean {
  return fileStamp(join(directory, CERTIFICATE)) !== '';
}

/** Throws `identity.key_missing`, `identity.key_unsafe`, `identity.key_invalid`. */
export function openCredential(directory: string): Credential {
  checkPrivateDirectory(directory);
  const certificate = readPrivateFile(join(directory, CERTIFICATE));
  const read = parse(certificate);
  const names = readDeviceNames(read.subjectAltName);
  const key = readDeviceKey(readPrivateFile(join(directory, KEY)));
  const digest = keyDigestOf(spkiOf(read));
  if (names === undefined || digest !== keyDigestOf(key.publicKey)) throw mismatch();
  const authorities = readPrivateFile(join(directory, AUTHORITIES));
  return {
    ...names,
    key,
    notBefore: read.validFromDate.getTime(),
    notAfter: read.validToDate.getTime(),
    tls: { key: key.exportPrivate(), certificate, authorities },
  };
}

/** The key of a credential to be, made at the first call: a set-up that was interrupted goes on with the same one. */
export function ensureCredentialKey(directory: string): DeviceKey {
  ensurePrivateDirectory(directory);
  const path = join(directory, KEY);
  if (fileStamp(path) !== '') return readDeviceKey(readPrivateFile(path));
  const key = createDeviceKey();
  try {
    createPrivateFile(path, key.exportPrivate());
  } catch (error) {
    // Somebody else sets up the same directory: then theirs is the one.
    if (fileStamp(path) !== '') return readDeviceKey(readPrivateFile(path));
    throw error;
  }
  return key;
}

/**
 * The first certificate or the next. The authorities come first: a certificate of one that is not yet known would be useless.
 * Throws `identity.key_invalid`, and keeps what is there, unless it is a certificate for the key in the directory by one of them.
 */
export function storeCertificate(directory: string, files: CertificateFiles): void {
  storeFor(readDeviceKey(readPrivateFile(join(directory, KEY))).publicKey, directory, files);
}

/** All that palyrad reads of a credential: the certificate, which anybody may see. Throws as `openCredential` does. */
export function readCertificate(directory: string): X509Certificate {
  checkPrivateDirectory(directory);
  return parse(readPrivateFile(join(directory, CERTIFICATE)));
}

/** The same as `storeCertificate` for whoever does not open the key: the next one is for the key of the present one. */
export function replaceCertificate(directory: string, files: CertificateFiles): void {
  storeFor(spkiOf(readCertificate(directory)), directory, files);
}

function storeFor(publicKey: Uint8Array, directory: string, { certificatePem, caPem }: CertificateFiles): void {
  const given = parse(certificatePem);
  const isOfKey = keyDigestOf(spkiOf(given)) === keyDigestOf(publicKey);
  const issuers = (caPem.match(CERTIFICATES) ?? []).map(parse);
  if (!isOfKey || !issuers.some((each) => each.ca && given.verify(each.publicKey))) throw mismatch();
  replacePrivateFile(join(directory, AUTHORITIES), caPem);
  replacePrivateFile(join(directory, CERTIFICATE), certificatePem);
}

function spkiOf({ publicKey }: X509Certificate): Uint8Array {
  return publicKey.export({ type: 'spki', format: 'der' });
}

/** Its key is gone with it. */
export function removeCredential(directory: string): void {
  for (const name of [CERTIFICATE, AUTHORITIES, KEY]) rmSync(join(directory, name), { force: true });
}

function parse(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw mismatch();
  }
}

export function mismatch(): IdentityError {
  return new IdentityError('identity.key_invalid', 'The certificate of this device is not one of its key.', {
    fix: 'Bring the directory back from a backup, or renew or pair the device anew.',
  });
}
