import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Launcher } from '../../packages/sandbox/src/launcher/start-launcher.ts';
import { type LaunchedJob, launch, shell } from '../integration/launched-job.ts';
import { childrenOf, processesWith, textOf, uniqueMark, until } from './sandboxed.ts';

/** A sandbox that is being begun, and stays so. */
export interface HeldStager {
  readonly job: LaunchedJob;
  /** The process that puts the root together, and the one that waits for the options which that one writes. */
  readonly stager: number;
  readonly bubblewrap: number;
}

/** More than fit into a pipe, to a bubblewrap that takes none of them: so who writes them waits, where it can be looked at. */
export async function holdStager(launcher: Launcher, script: string): Promise<HeldStager> {
  const directory = mkdtempSync(join(tmpdir(), 'palyra-stager-'));
  const program = join(directory, 'bwrap');
  const mark = uniqueMark();
  try {
    writeFileSync(program, '#!/bin/sh\nread nothing <&3\n');
    for (const path of [directory, program]) chmodSync(path, 0o755);
    const options = Array.from({ length: 30 }, () => ['--hostname', 'h'.repeat(4000)]).flat();
    const wrapper = [program, '--unshare-user', ...options, '--ro-bind', '/usr', '/usr', '/proc/self/fd/5', mark];
    const job = launch(launcher, shell(script, { wrapper }), { word: 'wait' });
    const isWaiting = (pid: number, what: string) => textOf(`/proc/${pid}/wchan`).includes(what);
    // Both: a shell that does not yet read has not opened its script either, which goes away below, and would end at once.
    const found = () =>
      processesWith(mark)
        .filter((pid) => isWaiting(pid, 'unix_stream'))
        .flatMap((bubblewrap) =>
          childrenOf(bubblewrap)
            .filter((pid) => isWaiting(pid, 'pipe'))
            .map((stager) => ({ job, stager, bubblewrap })),
        );
    await until('the root is put together', () => found().length === 1);
    return found()[0] as HeldStager;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
