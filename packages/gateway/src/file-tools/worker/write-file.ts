import { type ChangePlan, createCurrentReader } from './change-plan.ts';
import { FileFailure } from './file-failure.ts';
import type { Touched } from './locate-files.ts';
import { sha256, type WholeFile } from './open-file.ts';
import type { WriteInput, WriteOutput } from './tool-shapes.ts';
import type { Place } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

export function touchedByWrite({ path }: WriteInput): readonly Touched[] {
  return [{ path, access: 'write', followLast: true }];
}

/** Throws `FileFailure`. */
export function planWrite(workplace: Workplace, input: WriteInput, [place]: readonly Place[]): ChangePlan {
  if (place === undefined) throw new FileFailure('file.invalid_input', 'There is no path.');
  const { path } = place;
  const before = createCurrentReader(workplace)(place);
  refuseUnexpected(path, before, input.expect);
  const bytes = Buffer.from(input.content, input.encoding ?? 'utf8');
  const output: WriteOutput = {
    path,
    size_bytes: bytes.length,
    before: before?.sha256 ?? null,
    after: sha256(bytes),
  };
  return { changes: [{ place, before, after: { bytes, mode: modeOf(input, before) } }], output };
}

function modeOf({ executable }: WriteInput, before: WholeFile | undefined): number {
  if (executable === undefined) return before?.mode ?? 0o644;
  const mode = before?.mode ?? 0o644;
  // Who may read it may run it.
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

function refuseUnexpected(path: string, before: WholeFile | undefined, expected: string | undefined): void {
  if (expected === undefined || expected === (before?.sha256 ?? 'absent')) return;
  if (expected === 'absent') {
    throw new FileFailure('file.exists', 'There is a file already, and none was expected.', { path });
  }
  throw new FileFailure('file.conflict', 'The file is not the one that was expected.', {
    path,
    fix: 'Read it again, and write what still makes sense.',
  });
}
