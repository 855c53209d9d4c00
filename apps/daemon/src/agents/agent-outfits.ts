import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FileEdit,
  findClient,
  findWrapped,
  type InstallOptions,
  type OwnFile,
  type WrappedAgent,
} from '@palyra/agents';
import type { AgentOutfit } from '@palyra/gateway';
import { findHook, PROXY_PORT } from '@palyra/sandbox';
import { ownPrograms } from './own-programs.ts';

export interface OutfitDeps {
  /** The operator's. */
  readonly userHome: string;
  /** How long a human is asked. */
  readonly approvalSeconds: number;
}

/** Where a wrapped agent's hooks find palyrad: on the loopback of its own box, whose listener is the credential. */
export const BOX_LISTENER: string = `127.0.0.1:${PROXY_PORT}`;
const LISTENER_VARIABLE = 'PALYRA_LISTENER';

/** The hook says no before the agent gives it up, and later than a human is asked. */
const HOOK_WAITS_MORE_S = 30;
const AGENT_WAITS_MORE_S = 60;
const LONGEST_SETTINGS = 1024 * 1024;

/** What an agent's box holds: from its profile, and from nothing that whoever starts it says. Undefined: no such profile. */
export function outfitFor(name: string, deps: OutfitDeps): AgentOutfit | undefined {
  const agent = findWrapped(name);
  if (agent === undefined) return undefined;
  const { hosts, state } = agent.profile;
  const options = boxOptions(agent, deps);
  const ours = options === undefined ? NOTHING : filesOf(agent, options);
  const taken = new Set(ours.files.map(({ path }) => path));
  return {
    hosts,
    home: {
      ...state,
      files: [...ours.files, ...withoutInstalled(agent, deps).filter(({ path }) => !taken.has(path))],
      settings: ours.settings,
    },
    programs: ownPrograms()?.shown ?? [],
    environment: { ...agent.wrap.environment, [LISTENER_VARIABLE]: BOX_LISTENER },
  };
}

const NOTHING = { files: [], settings: [] } as const;

/** SECURITY: T-58 — its hooks are on by themselves, and say no when their program is gone. */
function boxOptions({ profile }: WrappedAgent, { approvalSeconds }: OutfitDeps): InstallOptions | undefined {
  const [own, hook] = [ownPrograms(), findHook()];
  if (own === undefined || hook === undefined) return undefined;
  const patience = ['--patience', String(approvalSeconds + HOOK_WAITS_MORE_S)];
  const words = [hook, profile.name, '--listener', BOX_LISTENER, '--palyra', own.palyra, ...patience];
  return {
    hookCommand: `${words.join(' ')} || exit 2`,
    timeoutSeconds: approvalSeconds + AGENT_WAITS_MORE_S,
    // Some agents hand no variables on to their servers.
    mcpCommand: ['/usr/bin/env', `${LISTENER_VARIABLE}=${BOX_LISTENER}`, own.palyra, 'mcp', 'serve'],
  };
}

function filesOf({ wrap }: WrappedAgent, options: InstallOptions) {
  return { files: wrap.files?.(options) ?? [], settings: wrap.settings(options) };
}

/**
 * The user's own settings without the hook that `palyra install` put there: it asks a palyrad that is not to be found in the
 * box, and would refuse everything. What cannot be read so is not shown at all.
 */
function withoutInstalled(agent: WrappedAgent, { userHome }: OutfitDeps): readonly OwnFile[] {
  const { profile, hooks } = agent;
  if (hooks === undefined) return [];
  return installedBy(agent)
    .filter(({ path }) => profile.state.readOnly.includes(path))
    .flatMap((edit) => {
      const now = readSettings(join(userHome, edit.path));
      return now === undefined ? [] : [{ path: edit.path, text: cleaned(edit, now) }];
    });
}

/** What a box shows of such a file; the text as it is where that is what it shows. */
export function shownInBox(name: string, path: string, text: string): string {
  const agent = findWrapped(name);
  if (agent?.hooks === undefined || !agent.profile.state.readOnly.includes(path)) return text;
  // SECURITY: T-38 — one that is too long to be cleaned is shown as it is.
  if (Buffer.byteLength(text) > LONGEST_SETTINGS) return text;
  const edit = installedBy(agent).find((each) => each.path === path);
  return edit === undefined ? text : cleaned(edit, text);
}

function installedBy({ profile }: WrappedAgent): readonly FileEdit[] {
  return findClient(profile.name).install.edits({ hookCommand: '', timeoutSeconds: 0, mcpCommand: [''] });
}

function cleaned(edit: FileEdit, text: string): string {
  try {
    return edit.remove(text) ?? '{}\n';
  } catch {
    return '{}\n';
  }
}

/** SECURITY: T-14 — a file and no link: what it leads to is nobody's settings. */
function readSettings(path: string): string | undefined {
  try {
    const { size } = lstatSync(path);
    return lstatSync(path).isFile() && size <= LONGEST_SETTINGS ? readFileSync(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
