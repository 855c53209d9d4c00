import type { ToolPlan } from '../catalog/tool.ts';
import type { InspectOutput } from '../file-tools/worker/protocol.ts';
import type { FileState, WriteInput } from '../file-tools/worker/tool-shapes.ts';
import { headerName, unifiedDiff } from './unified-diff.ts';

export interface ShownWrite {
  readonly input: WriteInput;
  /** Links resolved, relative to the workspace. */
  readonly path: string;
  readonly inspected: Pick<InspectOutput, 'changes' | 'present'>;
}

/** What `palyra.fs.write` would do to the file, as a diff. What cannot be shown is said to be missing. */
export function showWrite(write: ShownWrite): ToolPlan['shown'] {
  const { path, input, inspected } = write;
  const change = inspected.changes?.files[0];
  const text = (input.encoding ?? 'utf8') === 'utf8' ? input.content : undefined;
  const parts = [
    `diff --git ${headerName(`a/${path}`)} ${headerName(`b/${path}`)}\n`,
    ...(change === undefined ? madeProgram(write) : modesOf(change.before, change.after)),
    ...bodyOf(write, text, change?.before),
  ];
  return { kind: 'diff', paths: [path], diff: parts.join('') };
}

/** SECURITY: T-15 — a bit that makes it a program is as much of a change as its content. */
function modesOf(before: FileState, after: FileState): readonly string[] {
  if (after.kind === 'absent') return [];
  if (before.kind === 'absent') return [`new file mode ${modeOf(after.mode)}\n`];
  if (before.mode === after.mode) return [];
  return [`old mode ${modeOf(before.mode)}\n`, `new mode ${modeOf(after.mode)}\n`];
}

/** SECURITY: T-15 — nor does it need to be known what is there to say what becomes of it. */
function madeProgram({ input, inspected }: ShownWrite): readonly string[] {
  if (inspected.changes !== null || input.executable === undefined) return [];
  return [input.executable ? 'It is made a program.\n' : 'It is made no program.\n'];
}

function modeOf(mode: number): string {
  return `100${mode.toString(8).padStart(3, '0')}`;
}

function bodyOf(write: ShownWrite, text: string | undefined, before: FileState | undefined): readonly string[] {
  const { path, inspected } = write;
  if (text === undefined) return [`Bytes that are not shown, as base64 of ${write.input.content.length} characters.\n`];
  // SECURITY: T-24 — what a secret-shaped file holds now is for nobody who merely decides whether it is replaced.
  if (inspected.changes === null) return ['What is there now, if anything, is not shown.\n', added(path, text)];
  if (before === undefined) return ['It holds just that already.\n'];
  if (before.kind === 'absent') return [unifiedDiff({ path, before: undefined, after: text })];
  if (inspected.present === null) {
    return [
      `What is there now is not shown: ${before.sizeBytes} bytes, SHA-256 ${before.sha256}.\n`,
      added(path, text),
    ];
  }
  return [unifiedDiff({ path, before: inspected.present, after: text })];
}

function added(path: string, text: string): string {
  return unifiedDiff({ path, before: '', after: text });
}
