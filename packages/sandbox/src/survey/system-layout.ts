import { readFileSync, readlinkSync } from 'node:fs';
import type { SystemFile, SystemRoot } from './host-survey.ts';
import type { SurveyFiles } from './survey-files.ts';

const ROOTS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'] as const;

/** What ordinary programs read of /etc. Nothing here names a user, a host or a secret of this machine. */
const FILES = [
  '/etc/alternatives',
  '/etc/crypto-policies',
  '/etc/debian_version',
  '/etc/fonts',
  '/etc/inputrc',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/os-release',
  '/etc/pki/ca-trust',
  '/etc/pki/tls',
  '/etc/protocols',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/terminfo',
  '/etc/timezone',
] as const;

/** More takes longer to send than to mount. */
const MOST_COPIED = 4096;

/** /usr and its neighbours as this distribution has them: directories, or links into /usr. */
export function systemRoots(files: SurveyFiles): readonly SystemRoot[] {
  return ROOTS.flatMap((path): SystemRoot[] => {
    const found = files.lstat(path);
    if (found?.kind === 'directory') return [{ kind: 'directory', path }];
    if (found?.kind === 'link') return [{ kind: 'link', path, target: readlinkSync(path) }];
    return [];
  });
}

export function systemFiles(files: SurveyFiles): readonly SystemFile[] {
  // Java's settings are links into /etc, in a directory for each version.
  const java = files.list('/etc').filter((name) => /^java-\d+/.test(name));
  return [...FILES, ...java.map((name) => `/etc/${name}`)].flatMap((path): SystemFile[] => {
    const kind = files.stat(path)?.kind;
    if (kind === 'directory') return [{ kind: 'mount', path }];
    if (kind !== 'file') return [];
    const bytes = readFileSync(path);
    return [bytes.length <= MOST_COPIED ? { kind: 'copy', path, bytes } : { kind: 'mount', path }];
  });
}
