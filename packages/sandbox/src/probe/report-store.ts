import type { TierReport } from './host-report.ts';

/** Where reports are kept from one probe to the next. Give it a place of its own that only palyrad writes. */
export interface ReportStore {
  read(key: string): TierReport | undefined;
  write(key: string, report: TierReport): void;
}

/** For as long as the process runs. */
export function createReportStore(): ReportStore {
  const known = new Map<string, TierReport>();
  return { read: (key) => known.get(key), write: (key, report) => void known.set(key, report) };
}

/** What a report depends on; with any other it says nothing. */
export interface ReportCircumstances {
  readonly tier: TierReport['tier'];
  readonly kernel: string;
  readonly uid: number;
  readonly bubblewrapVersion: string | undefined;
  readonly launcherSha256: string;
}

/** SECURITY: T-20 — only what is available is kept: a host that was mended is seen as mended at once. */
export async function remembered(
  store: ReportStore | undefined,
  { tier, kernel, uid, bubblewrapVersion, launcherSha256 }: ReportCircumstances,
  probe: () => Promise<TierReport>,
): Promise<TierReport> {
  const key = JSON.stringify([tier, kernel, uid, bubblewrapVersion ?? '', launcherSha256]);
  const known = store?.read(key);
  if (known !== undefined) return known;
  const report = await probe();
  if (report.state === 'available') store?.write(key, report);
  return report;
}
