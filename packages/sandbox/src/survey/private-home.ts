import { join } from 'node:path';
import type { PrivateHome } from '../profile.ts';
import type { HomeSurvey } from './host-survey.ts';
import { isAtOrBelow, type SurveyFiles } from './survey-files.ts';

export interface HomeQuestion {
  readonly home: PrivateHome;
  /** The operator's, and Palyra's. */
  readonly operatorHome: string;
  readonly palyraHome: string;
  readonly files: Pick<SurveyFiles, 'realPath' | 'readBytes'>;
}

/**
 * Of the operator's home what was named, of what is there.
 * SECURITY: T-14, T-19 — each by itself, found where it is said to be: a link leads elsewhere and is left out, and what
 * lies in Palyra's own home, or holds it, is shown to nobody.
 */
export function surveyHome({ home, operatorHome, palyraHome, files }: HomeQuestion): HomeSurvey {
  const realHome = files.realPath(operatorHome) ?? operatorHome;
  const realPalyra = files.realPath(palyraHome) ?? palyraHome;
  const found = (path: string) => {
    const source = join(realHome, path);
    const isPalyras = isAtOrBelow(source, realPalyra) || isAtOrBelow(realPalyra, source);
    return files.realPath(source) === source && !isPalyras && !ours.has(path) ? source : undefined;
  };
  const ours = new Set(home.files.map(({ path }) => path));
  const shown = (paths: readonly string[], writable: boolean) =>
    paths.flatMap((path) => {
      const source = found(path);
      return source === undefined ? [] : [{ path, source, writable }];
    });
  return {
    // Ours in the place of theirs, and what lies in another one after it.
    shown: [...shown(home.writable, true), ...shown(home.readOnly, false)].toSorted(
      (one, other) => one.path.length - other.path.length,
    ),
    copied: (home.copied ?? []).flatMap((path) => {
      const source = found(path);
      const bytes = source === undefined ? undefined : files.readBytes(source);
      return bytes === undefined ? [] : [{ path, bytes }];
    }),
    files: home.files.map(({ path, text }) => ({ path, bytes: Buffer.from(text) })),
    settings: (home.settings ?? []).map(({ path, text }) => ({ path, bytes: Buffer.from(text) })),
  };
}
