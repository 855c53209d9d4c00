import { applyHunks } from './apply-hunks.ts';
import { type ChangePlan, createCurrentReader } from './change-plan.ts';
import type { PlannedChange } from './commit-changes.ts';
import { FileFailure } from './file-failure.ts';
import type { Touched } from './locate-files.ts';
import { sha256, type WholeFile } from './open-file.ts';
import { type FilePatch, parsePatch } from './parse-patch.ts';
import type { PatchedFile, PatchInput, PatchOutput } from './tool-shapes.ts';
import type { Place } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

/** Throws `file.patch_malformed`. */
export function touchedByPatch({ patch }: PatchInput): readonly Touched[] {
  const paths = parsePatch(patch).flatMap(({ from, to }) => [from, to].filter((path) => path !== undefined));
  return [...new Set(paths)].map((path) => ({ path, access: 'write', followLast: false }));
}

interface Outcome {
  readonly file: PatchedFile;
  readonly from: Place | undefined;
  readonly to: Place | undefined;
  readonly after: { readonly bytes: Buffer; readonly mode: number } | undefined;
}

interface Files {
  readonly workplace: Workplace;
  readonly input: PatchInput;
  placeOf(path: string | undefined): Place | undefined;
  /** As it is before the patch, read once. */
  current(place: Place): WholeFile | undefined;
}

/** Every file of the patch is what it was before the patch: the order of its parts means nothing. Throws `FileFailure`. */
export function planPatch(workplace: Workplace, input: PatchInput, places: readonly Place[]): ChangePlan {
  const patches = parsePatch(input.patch);
  if (patches.length > workplace.limits.patchFiles) {
    throw new FileFailure('file.too_large', `The patch is about more than ${workplace.limits.patchFiles} files.`);
  }
  const files = openFiles(workplace, input, places);
  refuseAmbiguous(patches, files);
  const outcomes = patches.map((patch) => patchFile(patch, files));
  const output: PatchOutput = { files: outcomes.map(({ file }) => file) };
  return { changes: changesOf(outcomes, files), output };
}

function openFiles(workplace: Workplace, input: PatchInput, places: readonly Place[]): Files {
  const byAsked = new Map(touchedByPatch(input).map(({ path }, index) => [path, places[index]]));
  const readCurrent = createCurrentReader(workplace);
  const read = new Map<string, WholeFile | undefined>();
  return {
    workplace,
    input,
    placeOf: (path) => (path === undefined ? undefined : byAsked.get(path)),
    current(place) {
      if (!read.has(place.path)) read.set(place.path, readCurrent(place));
      return read.get(place.path);
    },
  };
}

/** By real paths: two names of one file are one file. */
function refuseAmbiguous(patches: readonly FilePatch[], files: Files): void {
  const sources = new Set<string>();
  const targets = new Set<string>();
  for (const { from, to, line } of patches) {
    for (const [seen, asked] of [
      [sources, from],
      [targets, to],
    ] as const) {
      const path = files.placeOf(asked)?.path;
      if (path === undefined) continue;
      if (seen.has(path)) {
        throw new FileFailure('file.patch_malformed', `Line ${line} of the patch: ${path} is there twice.`, {
          path,
          line,
        });
      }
      seen.add(path);
    }
  }
  for (const { action, to } of patches) {
    const place = files.placeOf(to);
    if (place === undefined || (action !== 'create' && action !== 'rename')) continue;
    if (place.entry !== undefined && !sources.has(place.path)) {
      throw new FileFailure('file.exists', 'There is a file already that the patch wants to make.', {
        path: place.path,
      });
    }
  }
}

function patchFile(patch: FilePatch, files: Files): Outcome {
  const [from, to] = [files.placeOf(patch.from), files.placeOf(patch.to)];
  const before = from === undefined ? undefined : files.current(from);
  if (from !== undefined && before === undefined) {
    throw new FileFailure('file.not_found', 'The patch is about a file that is not there.', { path: from.path });
  }
  const bytes = applyTo(before?.bytes ?? Buffer.alloc(0), patch, { files, path: (from ?? to)?.path ?? '' });
  if (to === undefined && bytes.length > 0) {
    throw new FileFailure('file.patch_mismatch', 'The patch deletes the file and leaves some of its lines.', {
      path: from?.path ?? '',
    });
  }
  const after = to === undefined ? undefined : { bytes, mode: patch.mode ?? before?.mode ?? 0o644 };
  return { file: reportOf(patch, { from, to, before, after }), from, to, after };
}

function applyTo(
  bytes: Buffer,
  patch: FilePatch,
  { files, path }: { readonly files: Files; readonly path: string },
): Buffer {
  const maxOffset = files.input.max_offset ?? 0;
  const applied = applyHunks(bytes.toString('latin1'), patch.hunks, { maxOffset });
  if (applied.kind === 'applied') return Buffer.from(applied.text, 'latin1');
  const { hunk, line, reason } = applied;
  const at = patch.hunks[hunk - 1]?.line ?? patch.line;
  throw new FileFailure(
    'file.patch_mismatch',
    `Hunk ${hunk} of ${path} (line ${at} of the patch) does not fit at line ${line}: ${reason}.`,
    { path, hunk, line, fix: 'Read the file again and make the patch anew; max_offset lets a hunk be found nearby.' },
  );
}

function reportOf(
  { action, hunks }: FilePatch,
  { from, to, before, after }: Omit<Outcome, 'file'> & { readonly before: WholeFile | undefined },
): PatchedFile {
  const count = (kind: string) => hunks.flatMap(({ lines }) => lines).filter((line) => line.kind === kind).length;
  return {
    path: (to ?? from)?.path ?? '',
    action,
    ...(action === 'rename' && from !== undefined ? { from: from.path } : {}),
    before: before?.sha256 ?? null,
    after: after === undefined ? null : sha256(after.bytes),
    added: count('added'),
    removed: count('removed'),
  };
}

/** One for each path: a name that one part of the patch leaves and another takes changes once. */
function changesOf(outcomes: readonly Outcome[], files: Files): readonly PlannedChange[] {
  const changes = new Map<string, PlannedChange>();
  for (const { from } of outcomes) {
    if (from !== undefined) changes.set(from.path, { place: from, before: files.current(from), after: undefined });
  }
  for (const { to, after } of outcomes) {
    if (to !== undefined) changes.set(to.path, { place: to, before: files.current(to), after });
  }
  return [...changes.values()];
}
