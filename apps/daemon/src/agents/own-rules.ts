import { constants, statSync } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import {
  type AgentClient,
  type AgentEvent,
  type ClientRules,
  findOwnRule,
  type OwnRule,
  pathsOf,
  upwards,
} from '@palyra/agents';
import { visibleText } from '@palyra/primitives';

/** What the user's own rules in an agent's settings say of a command that the agent is to replace. */
export type OwnAnswer =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The agent asks its user, in these words. */
  | { readonly kind: 'ask'; readonly words: string };

type Before = Extract<AgentEvent, { readonly kind: 'before' }>;

/** Also where the agent runs its hooks: to some `cwd` is that of the command. */
type JudgedEvent = Pick<Before, 'act' | 'cwd'> & { readonly hookIn: string };

export interface OwnRules {
  /** Does not throw: rules that cannot be read may forbid it. */
  judge(client: AgentClient, event: JudgedEvent): Promise<OwnAnswer>;
}

export interface OwnRulesDeps {
  readonly userHome: string;
  /** Of this process. */
  readonly uid?: number | undefined;
  /** The workspace of the box that all who ask are in. */
  readonly within?: string | undefined;
}

/**
 * SECURITY: T-58 — an agent compares its user's rules with the command that our hook gives it, which none of them means. So
 * they are looked at here, before anybody is asked, as they are on disk at this moment.
 */
export function createOwnRules({ userHome, uid = process.geteuid?.(), within }: OwnRulesDeps): OwnRules {
  const known = new Map<string, { readonly stamp: string; readonly rules: readonly OwnRule[] }>();
  const absentOnly = absentTo({ userHome, uid });
  const rulesIn = async (path: string, client: string, { read }: ClientRules): Promise<readonly OwnRule[]> => {
    // SECURITY: T-39 — a pipe in its place would have us wait for whoever writes into it.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(absentOnly);
    if (file === undefined) return [];
    const found = await file.stat();
    if (!found.isFile() || found.size > LONGEST) throw new Error('No settings are as long.');
    const stamp = [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs, client].join();
    const before = known.get(path);
    if (before?.stamp === stamp) return before.rules;
    const rules = read(await beginningOf(file, found.size));
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(path, { stamp, rules });
    return rules;
  };
  return {
    async judge({ profile, hooks }, { act, cwd, hookIn }) {
      const { rules: kind, canAsk } = hooks ?? {};
      if (kind === undefined || act.kind !== 'shell') return { kind: 'none' };
      // SECURITY: T-58 — where it runs is the model's to say; the agent keeps to what is settled where it was started.
      const places = [act.cwd, cwd, ...(isAbsolute(hookIn) ? [hookIn] : [])];
      const directories = [...new Set((within === undefined ? places : inside(within, places)).flatMap(upwards))];
      const paths = pathsOf(kind.places, { directories, userHome });
      const all = await Promise.all(
        paths.map(async (place) => {
          try {
            const files = await filesAt(place, absentOnly);
            return (await Promise.all(files.map((path) => rulesIn(path, profile.name, kind)))).flat();
          } catch {
            return place;
          }
        }),
      );
      const unread = all.find((each) => typeof each === 'string');
      if (unread !== undefined) return unreadable(profile.title, unread);
      const rules = all.filter((each) => typeof each !== 'string').flat();
      const verdict = findOwnRule(rules, { command: act.command, directories, userHome });
      if (verdict.kind === 'none') return verdict;
      if (verdict.kind === 'deny') return denied(profile.title, verdict.rule);
      const words = asked({ title: profile.title, command: act.command, verdict });
      return canAsk === true ? { kind: 'ask', words } : cannotAsk(profile.title, words);
    },
  };
}

/** SECURITY: T-41 — whoever is in a box says what it likes, and would be told what is settled elsewhere on the host. */
function inside(root: string, places: readonly string[]): readonly string[] {
  return [...places.filter((place) => place.startsWith(`${root}/`)), root];
}

const LONGEST = 4 * 1024 * 1024;
const MOST_KNOWN = 256;
const MOST_FILES = 64;
const MOST_SHOWN = 600;

/** `DIRECTORY/*.ENDING`: each of them that there is. */
async function filesAt(place: string, absentOnly: (error: unknown) => undefined): Promise<readonly string[]> {
  if (!basename(place).startsWith('*')) return [place];
  const ending = basename(place).slice(1);
  const names = (await readdir(dirname(place)).catch(absentOnly)) ?? [];
  const found = names.filter((name) => name.endsWith(ending));
  // SECURITY: T-39 — the project may be anybody's, and so may be how many there are.
  if (found.length > MOST_FILES) throw new Error('No settings are as many.');
  return found.map((name) => join(dirname(place), name));
}

/** As long as it was said to be: it may have grown since. */
async function beginningOf(file: FileHandle, size: number): Promise<string> {
  const bytes = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await file.read(bytes, at, size - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.toString('utf8', 0, at);
}

/** As a service palyrad may not look into its owner's home, and can know of no rule there: the box and its policies hold. */
function absentTo({ userHome, uid }: OwnRulesDeps): (error: unknown) => undefined {
  const owner = statSync(userHome, { throwIfNoEntry: false })?.uid;
  const isService = uid !== 0 && owner !== undefined && owner !== uid;
  const forgiven = new Set(['ENOENT', 'ENOTDIR', ...(isService ? ['EACCES', 'EPERM'] : [])]);
  return (error) => {
    if (!forgiven.has(Object(error).code)) throw error;
    return undefined;
  };
}

function unreadable(title: string, path: string): OwnAnswer {
  const reason = `${visibleText(path)} cannot be read, so it is not known what the user of ${title} has forbidden.`;
  return { kind: 'refused', reason: `${reason} Mend it, or move it away.` };
}

function denied(title: string, rule: string): OwnAnswer {
  return { kind: 'refused', reason: `A rule of the user in ${title} forbids this: ${visibleText(rule)}` };
}

function asked({ title, command, verdict }: AskedAbout): string {
  const shown = visibleText(command.slice(0, MOST_SHOWN));
  const rest = command.length > MOST_SHOWN ? ` and ${command.length - MOST_SHOWN} characters more` : '';
  const why =
    verdict.kind === 'ask'
      ? `your rule in ${title} asks about it: ${visibleText(verdict.rule)}`
      : `you have rules in ${title}, and which command it starts is not known before`;
  return `Palyra runs this in the box: ${shown}${rest} (${why})`;
}

interface AskedAbout {
  readonly title: string;
  readonly command: string;
  readonly verdict: { readonly kind: 'doubt' } | { readonly kind: 'deny' | 'ask'; readonly rule: string };
}

function cannotAsk(title: string, words: string): OwnAnswer {
  return { kind: 'refused', reason: `${words}. ${title} lets no hook ask its user, so it did not run.` };
}
