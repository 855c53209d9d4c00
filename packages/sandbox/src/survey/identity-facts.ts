import { type Account, parsePasswd } from './account-files.ts';
import { hostSurveyFiles, type SurveyFiles } from './survey-files.ts';
import { chooseIdentity, type IdentityChoice, type UserFacts } from './tool-identity.ts';

/** Of this machine: who there is, and who runs something. */
export function readIdentityFacts(files: Pick<SurveyFiles, 'readText' | 'list' | 'stat'>): UserFacts {
  const text = (path: string) => files.readText(path) ?? '';
  return {
    passwd: text('/etc/passwd'),
    group: text('/etc/group'),
    subuid: text('/etc/subuid'),
    subgid: text('/etc/subgid'),
    processUids: files
      .list('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => files.stat(`/proc/${pid}`)?.uid ?? []),
  };
}

/** Of the accounts of this machine that have this uid. */
export function homesOfUser(uid: number, files: Pick<SurveyFiles, 'readBytes'>): readonly string[] {
  // A machine of a thousand accounts has more than is read of a text.
  const text = Buffer.from(files.readBytes('/etc/passwd') ?? []).toString('utf8');
  const accounts = parsePasswd(text).filter((account) => account.uid === uid);
  return accounts.map(({ home }) => home).filter((home) => home.startsWith('/'));
}

/** An account of this machine's own; those of a directory service are not in its file. */
export function findAccount(name: string): Account | undefined {
  return parsePasswd(hostSurveyFiles.readText('/etc/passwd') ?? '').find((account) => account.name === name);
}

/** With which uid and gid a root launcher would run this user's tools. */
export function identityOf({ uid, gid }: Pick<Account, 'uid' | 'gid'>): IdentityChoice {
  const owned = { workspaceOwner: { uid, gid }, access: 'read-write' } as const;
  return chooseIdentity({ launcherUid: 0, ...owned, ...readIdentityFacts(hostSurveyFiles) });
}
