import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import type { SurveyFiles } from './survey-files.ts';
import { isOneAuthority, trustAuthority } from './trusted-authority.ts';

const [first = '', second = ''] = rootCertificates.map((pem) => `${pem.trim()}\n`);
const KEY = '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n';
/** Of a server, and self-signed; no authority. */
const LEAF = `-----BEGIN CERTIFICATE-----
MIIBeTCCAR6gAwIBAgIUG7QC8CdK99o4xekkLpu4czWa02AwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHbGVhZi5leDAgFw0yNjExMTcwMDI1NThaGA8yMTI1MDYxMTAw
MjU1OFowEjEQMA4GA1UEAwwHbGVhZi5leDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABHCcpRH2A2joFwbhuV+/L0Tlk1s/w+pj70AKIZTV+KABqETbSFFZt0fFGJ+k
H2l/KJLMzgexecpsItGPrzzz9EajUDBOMB0GA1UdDgQWBBTwr0LQxtH447K03irB
wD6zak9RKzAfBgNVHSMEGDAWgBTwr0LQxtH447K03irBwD6zak9RKzAMBgNVHRMB
Af8EAjAAMAoGCCqGSM49BAMCA0kAMEYCIQDyIjOEKNR/O7fDC+gH24NzwaB2T6Vo
sVKG3vE4XxaQDgIhANhiFUGXNALjvnEYhmx8y94bDtnKrk5tWBRPOyAkC4EK
-----END CERTIFICATE-----
`;

describe('what is trusted in a box', () => {
  it('is one certificate of an authority, and nothing beside it', () => {
    expect(isOneAuthority(first)).toBe(true);
    const wrong = [
      '',
      first + second,
      first + KEY,
      KEY + first,
      KEY,
      LEAF,
      `${first}\n`,
      first.replaceAll('\n', '\r\n'),
    ];
    expect(wrong.map(isOneAuthority)).toEqual(wrong.map(() => false));
  });
});

describe('the bundle of a box', () => {
  const base = mkdtempSync(join(tmpdir(), 'palyra-bundle-'));
  afterAll(() => rmSync(base, { recursive: true }));
  mkdirSync(join(base, 'certs'));
  writeFileSync(join(base, 'certs/bundle.crt'), 'the system’s');
  const real = join(base, 'certs/bundle.crt');
  const filesWith = (known: Readonly<Record<string, string>>): Pick<SurveyFiles, 'realPath' | 'stat'> => ({
    realPath: (path) => known[path],
    stat: () => ({ kind: 'file', uid: 0, gid: 0, mode: 0o644 }),
  });

  it('is the system’s with the authority behind it, over the file that links lead to', () => {
    const files = filesWith({ '/etc/ssl/certs/ca-certificates.crt': real, '/etc/ssl/certs': join(base, 'certs') });
    const trusted = trustAuthority(first, [{ kind: 'mount', path: '/etc/ssl/certs' }], files);
    expect(Buffer.from(trusted.bundle).toString()).toBe(`the system’s\n${first}`);
    expect(Buffer.from(trusted.certificate).toString()).toBe(first);
    expect(trusted.over).toEqual([real]);
  });

  it('lies over nothing that is not in the box', () => {
    const files = filesWith({ '/etc/ssl/certs/ca-certificates.crt': real });
    expect(trustAuthority(first, [{ kind: 'mount', path: '/etc/ssl/certs' }], files).over).toEqual([]);
  });

  it('is Node’s where the host has none', () => {
    const { bundle, over } = trustAuthority(first, [], filesWith({}));
    expect(Buffer.from(bundle).toString().split('BEGIN CERTIFICATE').length).toBe(rootCertificates.length + 2);
    expect(over).toEqual([]);
  });
});
