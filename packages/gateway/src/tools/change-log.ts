import type { BlobStore } from '../file-tools/create-file-tools.ts';
import type { FileChanges } from '../file-tools/worker/tool-shapes.ts';

/** What one call did, or was about to do, to files. */
export interface RecordedChange {
  readonly runId: string;
  readonly callId: string;
  /** The real path of the workspace. */
  readonly workspace: string;
  readonly changes: FileChanges;
  /** Begins the names of what is written beside the files; absent where nothing is. */
  readonly temporary?: string;
}

/** Where changes are written down before they are made, so that a run can be undone. */
export interface ChangeLog {
  /** Where the run's overwritten contents go. */
  blobsOf(runId: string): BlobStore;
  /** Resolves when it is kept for good; rejects, and nothing is changed. */
  record(change: RecordedChange): Promise<void>;
}
