import { lstatSync, readFileSync } from 'node:fs';
import type { SandboxFacts } from '@palyra/sandbox';

/** Who is protected from whom on this host, as it is and not as it was configured. */
export interface Separation {
  /** `remote` is a matter of who approves, and is not seen from here. */
  readonly level: 'personal' | 'service';
  /** What it lacks to be a service, in sentences. */
  readonly missing: readonly string[];
}

export interface SeparationQuestion {
  /** Palyra's home. */
  readonly home: string;
  readonly launcher: SandboxFacts['launcher'];
  /** Of the operator, and of owners of workspaces. */
  readonly others: readonly number[];
}

/** What the kernel says of this process and its home. */
export interface SeparationFacts extends Omit<SeparationQuestion, 'home'> {
  /** Real, effective, saved, and that of file access. */
  readonly uids: readonly number[];
  /** Of every kind, in hexadecimal. */
  readonly capabilities: readonly string[];
  readonly isDumpable: boolean;
  readonly home: { readonly uid: number; readonly mode: number } | undefined;
}

export function measureSeparation(question: SeparationQuestion): Separation {
  return judgeSeparation({ ...question, ...factsOfProcess(), home: homeFacts(question.home) });
}

/** SECURITY: T-40 — in every attestation: it says no more than holds, and what cannot be read does not hold. */
export function judgeSeparation(facts: SeparationFacts): Separation {
  const { uids, capabilities, home, launcher, others } = facts;
  const [uid] = uids;
  const isOneUser = uid !== undefined && uids.length === 4 && uids.every((each) => each === uid);
  const wanted: readonly (readonly [holds: boolean, sentence: string])[] = [
    [isOneUser && uid !== 0, 'palyrad is root, or could be again.'],
    [capabilities.length > 0 && capabilities.every((set) => /^0+$/.test(set)), 'palyrad has capabilities.'],
    [uid !== undefined && !others.includes(uid), 'palyrad has the user of the operator or of a workspace’s owner.'],
    [launcher.uid === 0, 'The launcher cannot give tools another user than palyrad’s.'],
    [launcher.only !== undefined && launcher.only.uid !== uid, 'The launcher would give a tool any user, for palyrad.'],
    [home?.uid === uid && (home?.mode ?? 0o777) % 0o100 === 0, 'Others can reach into palyrad’s home, or own it.'],
    [!facts.isDumpable, 'Others with palyrad’s user can look into it.'],
  ];
  const missing = wanted.filter(([holds]) => !holds).map(([, sentence]) => sentence);
  return { level: missing.length === 0 ? 'service' : 'personal', missing };
}

function factsOfProcess(): Pick<SeparationFacts, 'uids' | 'capabilities' | 'isDumpable'> {
  const status = attempt(() => readFileSync('/proc/self/status', 'utf8')) ?? '';
  const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
  const sets = ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].map(field);
  return {
    uids: (field('Uid') ?? '').split(/\s+/).filter(Boolean).map(Number),
    capabilities: sets.flatMap((set) => set ?? []),
    // What is root's in /proc is closed to those who have the uid.
    isDumpable: attempt(() => lstatSync('/proc/self/mem').uid) !== 0,
  };
}

function homeFacts(path: string): SeparationFacts['home'] {
  const found = attempt(() => lstatSync(path));
  return found?.isDirectory() === true ? { uid: found.uid, mode: found.mode & 0o7777 } : undefined;
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
