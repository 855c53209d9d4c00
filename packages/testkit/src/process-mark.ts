import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { environmentOf, listProcesses, type ProcessEntry, softLimitOf } from './process-table.ts';

/** Recognises the processes this one has started, however far they have wandered. */
export interface ProcessMark {
  /** Live processes that carry the mark or descend from this process; not this process itself. */
  marked(): ProcessEntry[];
}

/** Not PALYRA_…: our own programs warn of such variables when they do not know them. */
const ENVIRONMENT_NAME = 'TEST_PROCESS_MARK';
const LIMIT_TITLE = 'Max msgqueue size';
/** Below Linux's default of 819200, and large enough for anything that does use POSIX message queues. */
const [LIMIT_MIN, LIMIT_MAX] = [500_000, 800_000];

let ownMark: ProcessMark | undefined;
const longLived = new Set<number>();

/** A server that a whole file of tests shares may be restarted in one of them; it and its children are nobody's leftovers. */
export function declareLongLived(pid: number): void {
  longLived.add(pid);
}

/**
 * Marks this process once. Three signs, because each can be lost: descent ends when a double fork is reparented, an
 * environment variable ends with a cleaned environment (as our sandbox does), a resource limit ends when the program sets
 * it anew. The limit is the strong one: children inherit it through fork, exec, setsid and a change of user.
 */
export function markThisProcess(): ProcessMark {
  ownMark ??= createMark();
  return ownMark;
}

function createMark(): ProcessMark {
  const limit = String(randomInt(LIMIT_MIN, LIMIT_MAX));
  const variable = `${process.pid}-${limit}`;
  process.env[ENVIRONMENT_NAME] = variable;
  if (process.platform === 'linux') setSoftLimit(limit);

  // A mark comes with birth, so whoever had none gets none. Reading two files of every process of the machine after each
  // test took longer than many a test.
  const strangers = new Set<string>();

  function carriesMark({ pid, startTime }: ProcessEntry): boolean {
    if (strangers.has(`${pid}@${startTime}`)) return false;
    const isMarked =
      softLimitOf(pid, LIMIT_TITLE) === limit ||
      (environmentOf(pid)?.includes(`${ENVIRONMENT_NAME}=${variable}`) ?? false);
    if (!isMarked) strangers.add(`${pid}@${startTime}`);
    return isMarked;
  }

  return {
    marked() {
      const others = listProcesses().filter(({ pid }) => pid !== process.pid);
      const descendants = descendantsOf(process.pid, others);
      const shared = new Set([...longLived].flatMap((pid) => [pid, ...descendantsOf(pid, others)]));
      return others.filter((entry) => !shared.has(entry.pid) && (descendants.has(entry.pid) || carriesMark(entry)));
    },
  };
}

/** Node has no setrlimit; prlimit(1) comes from the same package as setpriv(1). */
function setSoftLimit(limit: string): void {
  try {
    execFileSync('prlimit', [`--pid=${process.pid}`, `--msgqueue=${limit}:`], { stdio: 'pipe' });
  } catch (cause) {
    throw new Error('The reaper needs prlimit: apt-get install util-linux.', { cause });
  }
}

function descendantsOf(root: number, processes: readonly ProcessEntry[]): Set<number> {
  const found = new Set([root]);
  let before: number;
  do {
    before = found.size;
    for (const { pid, parentPid } of processes) if (found.has(parentPid)) found.add(pid);
  } while (found.size > before);
  found.delete(root);
  return found;
}
