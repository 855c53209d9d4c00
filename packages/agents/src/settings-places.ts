import { dirname, join } from 'node:path';

/** Where an agent's program looks for settings. The last part of a path may be `*.ENDING`. */
export interface SettingsPlaces {
  /** Below the user's home. */
  readonly ofUser: readonly string[];
  /** Below the directory that the agent works in, or one above it. */
  readonly ofProject: readonly string[];
  /** Absolute. */
  readonly ofSystem: readonly string[];
}

/** The directory and all above it: in which of them an agent was started is not known. */
export function upwards(directory: string): readonly string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...upwards(above)];
}

/** Absolute. */
export function pathsOf(
  { ofUser, ofProject, ofSystem }: SettingsPlaces,
  { directories, userHome }: { readonly directories: readonly string[]; readonly userHome: string },
): readonly string[] {
  const ofProjects = directories.flatMap((directory) => ofProject.map((path) => join(directory, path)));
  return [...new Set([...ofUser.map((path) => join(userHome, path)), ...ofProjects, ...ofSystem])];
}
