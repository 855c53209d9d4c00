import { dirname } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { createFollower, type FollowPath, pathFrom } from './follow-path.ts';
import { type ConfigEntry, parseGitConfig, writeGitConfig } from './git-config.ts';
import { namedByPointer } from './git-pointer.ts';
import { type ConfigPlace, isHarmless, keyOf } from './harmless-git-config.ts';
import { fromBytes } from './path-bytes.ts';
import type { Entry } from './read-entries.ts';

/** Where the tool may write, and how a path is resolved. */
export interface JudgeContext {
  readonly roots: readonly string[];
  /** Every link followed; of what is not there, as far as it is. */
  realPath(path: string): string;
  /** Of all that is judged together. */
  readonly follow?: FollowPath;
}

export interface PointerContext extends JudgeContext {
  /** What the operator lets the command write. */
  readonly lifted: readonly string[];
  /** Repositories and worktrees that the scan after the command has looked into. */
  readonly gitTargets: ReadonlySet<string>;
  readonly follow: FollowPath;
}

/** Keys that are not known to be harmless, with their values, in order; undefined when git would not read the file. */
export function dangerousKeys(entry: Entry, context: JudgeContext): readonly ConfigEntry[] | undefined {
  if (entry.kind !== 'file' || entry.bytes === undefined) return undefined;
  const place = placeOf(entry, context);
  return configOf(entry.bytes)?.filter((each) => !isHarmless(each, place));
}

/** The same configuration without them. */
export function withoutDangerousKeys(entry: Entry, context: JudgeContext): Buffer {
  const place = placeOf(entry, context);
  const all = entry.bytes === undefined ? [] : (configOf(entry.bytes) ?? []);
  return Buffer.from(writeGitConfig(all.filter((each) => isHarmless(each, place))), 'latin1');
}

function placeOf({ path }: Entry, { roots, follow = createFollower(roots) }: JudgeContext): ConfigPlace {
  return { path, roots, follow };
}

/** Names the keys and not their values: these are the tool's words. */
export function describeKeys(keys: readonly ConfigEntry[] | undefined): string {
  if (keys === undefined) return 'It is not a configuration that git reads.';
  const names = [...new Set(keys.map(keyOf))];
  return `It sets ${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and more' : ''}.`;
}

export function isSameConfig(one: readonly ConfigEntry[], other: readonly ConfigEntry[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** SECURITY: T-44 — only to a repository that was looked into: outside, or where nobody came, it may hold anything. */
export function leadsInside(entry: Entry, { lifted, follow, gitTargets }: PointerContext): boolean {
  const named = entry.kind === 'link' ? entry.target : pointedAt(entry);
  if (named === undefined) return false;
  const target = follow(pathFrom(dirname(entry.path), named)).end;
  return gitTargets.has(target) || lifted.some((each) => isAtOrBelow(target, each));
}

/** What the file says, as git reads it. */
export function pointedAt({ path, bytes }: Entry): string | undefined {
  if (bytes === undefined) return undefined;
  return namedByPointer(/\.git$/i.test(path) ? '.git' : 'commondir', fromBytes(bytes));
}

const parsed = new WeakMap<Buffer, { readonly keys: readonly ConfigEntry[] | undefined }>();

/**
 * Once for the same bytes: they are asked for in every step and by every command. Byte for byte: names and values in any
 * encoding come out as they went in.
 */
export function configOf(bytes: Buffer): readonly ConfigEntry[] | undefined {
  const known = parsed.get(bytes) ?? { keys: parseGitConfig(bytes.toString('latin1')) };
  parsed.set(bytes, known);
  return known.keys;
}
