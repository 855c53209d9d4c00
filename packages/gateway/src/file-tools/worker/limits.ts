/** What one request may cost. All of them are enforced in the worker; the sandbox holds it to its own besides. */
export interface FileLimits {
  /** Of text or base64 that `read` returns. */
  readonly readBytes: number;
  /** Of a file that is read whole, written or patched, and so of one that is kept. */
  readonly fileBytes: number;
  /** Of all old and new contents of one request together. */
  readonly changeBytes: number;
  readonly patchBytes: number;
  readonly patchFiles: number;
  readonly listEntries: number;
  readonly depth: number;
  /** Names that are looked at, whether or not they become results. */
  readonly visitedEntries: number;
  readonly matches: number;
  /** Larger files are not searched. */
  readonly searchFileBytes: number;
  readonly searchBytes: number;
  readonly searchMs: number;
  /** Longer lines are cut in results. */
  readonly lineCharacters: number;
  /** Of an answer as JSON. */
  readonly answerBytes: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_FILE_LIMITS: FileLimits = {
  readBytes: MIB,
  fileBytes: 8 * MIB,
  changeBytes: 24 * MIB,
  patchBytes: 2 * MIB,
  patchFiles: 200,
  listEntries: 10_000,
  depth: 32,
  visitedEntries: 200_000,
  matches: 2000,
  searchFileBytes: 8 * MIB,
  searchBytes: 512 * MIB,
  searchMs: 10_000,
  lineCharacters: 2000,
  answerBytes: 4 * MIB,
};
