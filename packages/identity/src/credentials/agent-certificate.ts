import { join } from 'node:path';
import type { DeviceId } from '@palyra/primitives';
import { checkPrivateDirectory, fileStamp } from '../keys/private-files.ts';
import { readDeviceNames } from '../x509/certificate-names.ts';
import { CERTIFICATE, mismatch, readCertificate } from './credential.ts';
import { credentialDirectory, requireKind } from './local-credentials.ts';

/** Whom the local agent's certificate is for. */
export interface AgentCertificate {
  readonly device: DeviceId;
  readonly kind: 'agent';
  readonly notAfter: number;
}

/**
 * For palyrad, which asks before each tool of an agent: what the certificate says, without the key that is not palyrad's to
 * open. It is read again when the file is another one. The function throws as `openAgentCredential` does.
 */
export function agentCertificateReader(identityDirectory: string): () => AgentCertificate {
  const directory = credentialDirectory(identityDirectory, 'local-agent');
  const file = join(directory, CERTIFICATE);
  let known: { readonly stamp: string; readonly certificate: AgentCertificate } | undefined;
  return () => {
    checkPrivateDirectory(directory);
    // SECURITY: T-40 — looked at each time, and before it is read: one that is replaced meanwhile is read once more, and never the old one for ever.
    const stamp = fileStamp(file);
    if (known === undefined || stamp === '' || known.stamp !== stamp) known = { stamp, certificate: read(directory) };
    return known.certificate;
  };
}

function read(directory: string): AgentCertificate {
  const { subjectAltName, validToDate } = readCertificate(directory);
  const names = readDeviceNames(subjectAltName);
  if (names === undefined) throw mismatch();
  return { device: names.device, kind: requireKind(names, 'agent').kind, notAfter: validToDate.getTime() };
}
