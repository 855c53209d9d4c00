import { basename } from 'node:path';
import type { AgentHooks, AgentProfile, ClientWrap } from './client.ts';
import { CLIENT_NAMES, findClient } from './find-client.ts';
import { profile as generic } from './generic/profile.ts';

/** An agent as `palyra wrap` knows it. */
export interface WrappedAgent {
  readonly profile: AgentProfile;
  readonly hooks?: AgentHooks;
  readonly wrap: ClientWrap;
}

const GENERIC: WrappedAgent = { profile: generic, wrap: { settings: () => [] } };

/** VS Code is an editor, and no agent that a terminal starts. */
const WRAPPED = CLIENT_NAMES.filter((name) => name !== 'vscode');

/** As people write them: two have the name of their program besides. */
export const WRAP_PROFILES: readonly string[] = [...WRAPPED, 'generic'];

/** By the profile's name, or by that of its program. Undefined: there is none such. */
export function findWrapped(name: string): WrappedAgent | undefined {
  if (name === generic.name) return GENERIC;
  const found = WRAPPED.find((each) => each === name || findClient(each).profile.program === name);
  return found === undefined ? undefined : findClient(found);
}

/** `host:port` of all profiles: what some agent has without anybody being asked. */
export function wrappedHosts(): readonly string[] {
  return [...new Set(WRAPPED.flatMap((name) => findClient(name).profile.hosts))];
}

/** For a command that somebody types: by its program's name, else any program. */
export function wrappedBy(program: string): WrappedAgent {
  const name = basename(program).replace(/\.(?:exe|cmd|m?js)$/, '');
  return name === '' ? GENERIC : (findWrapped(name) ?? GENERIC);
}
