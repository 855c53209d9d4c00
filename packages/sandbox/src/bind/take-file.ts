import { posix } from 'node:path';
import type { FileStamp, ProgramFiles } from '../guard/program-files.ts';
import { resolvePath } from '../guard/resolve-path.ts';
import type { SandboxProfile } from '../profile.ts';
import type { HostSurvey } from '../survey/host-survey.ts';
import { isAtOrBelow, type SurveyFiles } from '../survey/survey-files.ts';
import type { BoundFile } from './binding.ts';
import type { BoundFileReader } from './open-bound-file.ts';
import { mayUse, standsFast, type ToolRights } from './tool-rights.ts';
import { placeOf, type VisiblePlace } from './visible-places.ts';

/** A file that will run, with its bytes or with what tells that they are the same. */
export interface TakenFile extends BoundFile {
  /** As it was called; links not followed. */
  readonly called: string;
  readonly links: readonly string[];
  /** Where the tool finds it: in its place, or where its copy is. */
  readonly runAt: string;
  readonly place: VisiblePlace;
  readonly stamp: FileStamp;
  readonly head: Uint8Array;
  readonly content: Uint8Array | undefined;
}

export type NotTaken = 'absent' | 'not_executable' | 'unreadable' | 'too_large' | 'changing' | 'not_in_tier_b';

export type Taking =
  | { readonly kind: 'taken'; readonly file: TakenFile }
  | { readonly kind: 'not_taken'; readonly why: NotTaken };

export interface TakeContext {
  readonly profile: Pick<SandboxProfile, 'tier'>;
  readonly survey: HostSurvey;
  readonly rights: ToolRights;
  /** Where any tool of this process may write. */
  readonly writable: ReadonlySet<string>;
  readonly programs: ProgramFiles;
  readonly files: SurveyFiles;
  readonly reader: BoundFileReader;
}

/** What a file is copied to; a number follows for each, so that no two share a directory. */
export const COPIES = '/run/palyra-bound';

export interface TakeRequest {
  /** Absolute, `..` and all: what that means depends on links. */
  readonly path: string;
  readonly role: BoundFile['role'];
  /** How many were copied before, and how many bytes may still be. */
  readonly copied: number;
  readonly most: number;
}

/** Looks at a file as the tool will see it, with the tool's rights and not with ours. */
export async function takeFile({ path, role, copied, most }: TakeRequest, context: TakeContext): Promise<Taking> {
  const { profile, survey, rights, programs, files, reader } = context;
  const resolved = resolvePath(path, programs);
  if (resolved.kind !== 'found' || resolved.look.kind !== 'file') return notTaken('absent');
  const place = placeOf(resolved.path, survey, profile.tier);
  if (place === undefined) return notTaken('absent');

  const at = { root: place.root, isMapped: place.isMapped, rights, files };
  if (!mayUse(resolved.path, 'read', at)) return notTaken('unreadable');
  if (role !== 'script' && !mayUse(resolved.path, 'execute', at)) return notTaken('not_executable');

  const fixed = place.isSystem && isFixed(resolved.path, context);
  // SECURITY: T-04 — without a place of its own there is none for a copy: what could be swapped is refused.
  if (!fixed && profile.tier === 'B') return notTaken('not_in_tier_b');
  const opening = await reader.open(resolved.path, fixed ? undefined : { most });
  if (opening.kind === 'closed') return notTaken(opening.why);

  const { stamp, sha256, head, content } = opening.file;
  const bytes = content?.length ?? Number(stamp.size);
  // SECURITY: T-04 — a link, or `a/../x` that goes through a, leads elsewhere as soon as somebody turns it: only a way that
  // stands fast is gone a second time, otherwise the resolved path is what runs.
  const isSameWay = posix.normalize(path) === path && resolved.links.every((link) => isFixed(link, context));
  const inPlace = isSameWay ? path : resolved.path;
  const runAt = fixed ? inPlace : copyOf(resolved.path, place, copied);
  const how = fixed ? 'in_place' : 'copied';
  const bound = { path: resolved.path, role, sha256, bytes, how } as const;
  return { kind: 'taken', file: { ...bound, called: path, links: resolved.links, runAt, place, stamp, head, content } };
}

function notTaken(why: NotTaken): Taking {
  return { kind: 'not_taken', why };
}

function isFixed(path: string, { writable, files }: TakeContext): boolean {
  // SECURITY: T-04 — root's own workspace is the tool's to write, whoever owns the files: by any profile that was ever planned.
  const isWritable = [...writable].some((root) => isAtOrBelow(path, root));
  return !isWritable && standsFast(path, files);
}

function copyOf(path: string, { root }: VisiblePlace, copied: number): string {
  return posix.join(COPIES, String(copied), path === root ? posix.basename(path) : posix.relative(root, path));
}
