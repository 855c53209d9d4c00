import { visibleText } from '@palyra/primitives';
import { PolicyError } from './policy-error.ts';

/**
 * One spelling for everything that policies compare. What is spelt otherwise is rejected and not repaired: repairing
 * here would mean that something was decided that the other side understands differently.
 */
const CANONICAL_NAMES = {
  /** Ids of principals, groups, devices, sessions, runs, channels, workspaces, scopes and secrets. */
  id: /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/,
  tool: /^[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*$/,
  /** With its port; `*.` in front stands for every name below it. */
  host: /^(?:(?:\*\.)?(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*|\[[0-9a-f:.]{2,45}\]):(?:[1-9]\d{0,4})$/,
  path: /^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[^/\0]+)+)$/,
  sha256: /^[0-9a-f]{64}$/,
} as const;

export type NameKind = 'id' | 'tool' | 'host' | 'path' | 'sha256';

const LONGEST = 4096;

export function isCanonical(kind: NameKind, name: string): boolean {
  if (name.length > LONGEST || !name.isWellFormed() || !CANONICAL_NAMES[kind].test(name)) return false;
  return kind !== 'host' || isCanonicalHost(name);
}

/** Throws `policy.invalid_request`. */
export function checkName(kind: NameKind, name: string): string {
  if (isCanonical(kind, name)) return name;
  const shown = visibleText(name, { maxCharacters: 80 });
  throw new PolicyError('policy.invalid_request', `${JSON.stringify(shown)} is not a ${kind} in its canonical form.`);
}

export function checkNames(kind: NameKind, names: readonly string[]): readonly string[] {
  return names.length === 0 ? names : names.map((name) => checkName(kind, name));
}

/** An address has many spellings and one canonical form, which is the one that a URL keeps as it is. */
function isCanonicalHost(name: string): boolean {
  const at = name.lastIndexOf(':');
  const [host, port] = [name.slice(0, at), Number(name.slice(at + 1))];
  return port <= 65_535 && URL.parse(`http://${host}`)?.hostname === host;
}
