import type { SandboxCommand } from './command.ts';
import type { SandboxProfile } from './profile.ts';

export interface OwnVariables {
  /** Win over the caller's. */
  readonly ours: Readonly<Record<string, string>>;
  /** Count where the caller says nothing. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** `NAME=value`, sorted. What is ours wins, and of the caller's only what the profile names comes through. */
export function toolEnvironment(
  { environment = {}, terminal }: SandboxCommand,
  profile: Pick<SandboxProfile, 'environment'>,
  { ours, defaults }: OwnVariables,
): readonly string[] {
  // SECURITY: T-19 — an allowlist: tokens, agent sockets and proxies stay outside.
  const named = profile.environment.filter((name) => Object.hasOwn(environment, name));
  const theirs = Object.fromEntries(named.map((name) => [name, environment[name] ?? '']));
  const all = {
    LANG: 'C.UTF-8',
    ...defaults,
    ...(terminal === undefined ? {} : { TERM: terminal.name ?? 'xterm-256color' }),
    ...theirs,
    ...ours,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();
}
