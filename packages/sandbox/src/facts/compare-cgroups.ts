import { posix } from 'node:path';
import { isMember } from './cgroup-membership.ts';
import type { ExpectedFacts } from './expected-facts.ts';
import type { Finding } from './finding.ts';
import type { RawFacts } from './raw-facts.ts';
import type { ReadProcess } from './read-facts.ts';

type ExpectedCgroup = ExpectedFacts['cgroups'][number];

/** SECURITY: T-20 — a limit holds if it was set and if every process is where it was set. */
export function cgroupFindings(
  files: RawFacts['cgroupFiles'],
  processes: readonly ReadProcess[],
  expected: readonly ExpectedCgroup[],
): readonly Finding[] {
  return expected.flatMap((cgroup) => [
    ...processes.flatMap((process) => memberFindings(process, cgroup)),
    ...cgroup.settings.flatMap(({ file, value }) => settingFindings(files, `${cgroup.directory}/${file}`, value)),
  ]);
}

function memberFindings({ role, cgroups }: ReadProcess, { directory }: ExpectedCgroup): readonly Finding[] {
  if (isMember(directory, cgroups)) return [];
  const hierarchy = posix.basename(posix.dirname(directory));
  const who = role === 'tool' ? 'The tool' : "The sandbox's init";
  const what = `${who} is not in the cgroup that was made for it below "${hierarchy}".`;
  return [{ what, expected: posix.basename(directory), found: 'another cgroup' }];
}

function settingFindings(files: RawFacts['cgroupFiles'], path: string, planned: string): readonly Finding[] {
  const found = Object.hasOwn(files, path) ? files[path]?.replace(/\n$/, '') : undefined;
  if (found === planned) return [];
  const file = posix.basename(path);
  if (found !== undefined && isSame(file, planned.trim(), found)) return [];
  const what = `The cgroup setting ${file} does not hold the planned value.`;
  return [{ what, expected: planned, found: found ?? 'nothing: it was not read back' }];
}

const BYTES_FILE = /^memory\.(?:(?:swap\.|zswap\.)?(?:max|high|low|min)|(?:memsw\.|kmem\.|soft_)?limit_in_bytes)$/;

function isSame(file: string, planned: string, found: string): boolean {
  if (planned === found) return true;
  if (file === 'cpu.max') return found === `${planned} ${DEFAULT_PERIOD_US}`;
  if (!BYTES_FILE.test(file)) return false;
  if (planned === '-1') return found === V1_UNLIMITED;
  return isRoundedDown(planned, found);
}

const DEFAULT_PERIOD_US = '100000';

/** 2^63 - 1, rounded down to a page of 4096 bytes. */
const V1_UNLIMITED = '9223372036854771712';

/** The kernel counts pages, whose size differs between machines: 4, 16 or 64 KiB. */
const PAGE_SIZES = [4096n, 16_384n, 65_536n] as const;

function isRoundedDown(planned: string, found: string): boolean {
  if (!/^[0-9]+$/.test(planned) || !/^[0-9]+$/.test(found)) return false;
  const bytes = BigInt(planned);
  return PAGE_SIZES.some((size) => bytes - (bytes % size) === BigInt(found));
}
