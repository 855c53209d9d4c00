import { CREDENTIAL_PATHS } from '../../survey/credential-paths.ts';

/** Below the operator's home, besides what every system has. A command sees none of them, whatever its profile says. */
export const HIDDEN_IN_HOME: readonly string[] = [
  ...CREDENTIAL_PATHS,
  'Library/Keychains',
  'Library/LaunchAgents',
  'Library/Cookies',
  'Library/Mail',
  'Library/Messages',
  'Library/Preferences',
  'Library/Safari',
  'Library/Application Support/com.apple.TCC',
  'Library/Application Support/Firefox',
  'Library/Application Support/Google/Chrome',
];

/** Of the machine. */
export const HIDDEN_EVERYWHERE: readonly string[] = [
  '/Library/Keychains',
  '/Library/LaunchAgents',
  '/Library/LaunchDaemons',
  '/Network',
  '/private/var/db/SystemKey',
  '/private/var/root',
];

/**
 * The name that the kernel compares with: three links that every Mac has, and the second name that everything has below
 * /System/Volumes/Data. All other links are for the survey to follow.
 */
export function kernelPath(path: string): string {
  const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  const onData = isInside(plain, DATA) ? plain.slice(DATA.length) || '/' : plain;
  const isLinked = LINKED.some((link) => isInside(onData, link));
  return isLinked ? `/private${onData}` : onData;
}

const DATA = '/System/Volumes/Data';
const LINKED = ['/tmp', '/var', '/etc'];

/** The same, or below it. */
export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** From `root` down to what `path` lies in: those that must keep their names, or `path` has another one. */
export function directoriesDownTo(path: string, root: string): readonly string[] {
  if (path === root || !isInside(path, root)) return [];
  const below = path.slice(root.length + 1).split('/');
  return below.map((_, at) => [root, ...below.slice(0, at)].join('/'));
}
