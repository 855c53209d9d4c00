import type { DataFile } from '../../launch-plan.ts';
import type { Limits } from '../../profile.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { BOX_USER } from './box-files.ts';
import { bind, file, fileOver, type HandOver, type PlannedMount, tmpfs } from './planned-mounts.ts';

/**
 * Each directory right below the home is a mount, and so is each file of ours.
 * SECURITY: T-15, T-44 — neither can be renamed away, written, or replaced from inside: what is in their place holds.
 */
export function homeMounts({ home }: HostSurvey, { limits, handOver, firstFd }: HomeMounting): readonly PlannedMount[] {
  if (home === undefined) return [];
  const below = [...home.shown, ...home.copied, ...home.files].flatMap(({ path }) =>
    path.includes('/') ? [path.split('/')[0]] : [],
  );
  const whole = new Set(home.shown.map(({ path }) => path));
  const directories = [...new Set(below)].filter((name) => name !== undefined && !whole.has(name));
  const at = (path: string) => `${BOX_USER.home}/${path}`;
  return [
    ...directories.map((name) => tmpfs(at(name ?? ''), '0700', limits)),
    ...home.shown.map(({ path, source, writable }) => bind(handOver(source, { writable }), at(path), { writable })),
    ...homeFiles(home, firstFd).map(({ fd, path, isOurs }) =>
      isOurs ? fileOver({ fd, path: at(path), mode: '0444' }) : file({ fd, path: at(path), mode: '0600' }),
    ),
  ];
}

interface HomeMounting {
  readonly limits: Limits;
  readonly handOver: HandOver;
  /** Descriptors of what is copied into it begin here. */
  readonly firstFd: number;
}

/** Their bytes, by the same descriptors. */
export function homeData({ home }: HostSurvey, firstFd: number): readonly DataFile[] {
  return home === undefined ? [] : homeFiles(home, firstFd).map(({ fd, bytes }) => ({ fd, bytes }));
}

function homeFiles({ files, copied }: NonNullable<HostSurvey['home']>, firstFd: number) {
  const theirs = copied.map((each) => ({ ...each, isOurs: false }));
  const ours = files.map((each) => ({ ...each, isOurs: true }));
  return [...theirs, ...ours].map((each, at) => ({ fd: firstFd + at, ...each }));
}
