import type { HostSurvey } from '../../survey/host-survey.ts';
import { AUTHORITIES, CALL_AUTHORITY } from '../../tool-environment.ts';
import { BOX_FILES } from './box-files.ts';

/** A file of the box whose bytes the wrapper reads. */
export interface CopiedFile {
  readonly fd: number;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: string;
  /** Mounted over a file that is there already, and not written. */
  readonly isOver: boolean;
}

/** Behind that of the seccomp program. */
const FIRST_FILE_FD = 11;
const NOTHING = new Uint8Array();

/** Each comes over a descriptor of its own. */
export function copiedFiles({ systemFiles, placed, trusted, home }: HostSurvey): readonly CopiedFile[] {
  const own = BOX_FILES.map(({ path, text }) => ({ path, bytes: Buffer.from(text) }));
  const trust =
    trusted === undefined
      ? []
      : [
          { path: CALL_AUTHORITY, bytes: trusted.certificate },
          { path: AUTHORITIES, bytes: trusted.bundle },
        ];
  const over = (trusted?.over ?? []).map((path) => ({ path, bytes: trusted?.bundle ?? NOTHING, isOver: true }));
  const copies = systemFiles.filter((each) => each.kind === 'copy');
  // SECURITY: T-04 — into the box's own root, which is read-only: a mount over a path of the workspace can be undone from outside.
  const bound = (placed?.files ?? []).map(({ at, bytes }) => ({ path: at, bytes, mode: '0555' }));
  const all = [...own, ...copies, ...(home?.settings ?? []), ...trust, ...over].map((each) => ({
    mode: '0444',
    ...each,
  }));
  return [...all, ...bound].map((each, at) => ({ fd: FIRST_FILE_FD + at, isOver: false, ...each }));
}

/** Behind those above. */
export function firstFreeFd(files: readonly CopiedFile[]): number {
  return FIRST_FILE_FD + files.length;
}
